"""SMILES of many kinds: charged, aromatic, radical, isotopic, salts, metals, chiral, in rings."""

_PLAIN = """
C CC CCO CC=O C#N C#C N O S P [H][H] [HH] [He] FC(F)(F)F ClCCl BrC=C IC#C
CC(=O)O CC(=O)[O-] CC(=O)N CNC(=O)C CN(C)C=O NC(=O)N NC(=N)N CS(=O)(=O)N CS(=O)(=O)O
CS(=O)C CSC CSSC CS OP(=O)(O)O COP(=O)(OC)OC CP(C)C C[P+](C)(C)C CNO CN=O C[N+](=O)[O-]
C[N+](C)(C)C C[NH3+] [NH4+] [OH-] [H+] [Na+].[Cl-] [K+].CC(=O)[O-] CCN.Cl CCN.OS(=O)(=O)O
c1ccccc1 Cc1ccccc1 c1ccncc1 c1cc[nH]c1 c1ccoc1 c1ccsc1 c1c[nH]cn1 c1nc[nH]n1 c1nnn[nH]1 c1cnoc1
c1ccc2[nH]ccc2c1 c1ccc2ncccc2c1 c1ccc2c(c1)[nH]c1ccccc12 Cn1c(=O)c2c(ncn2C)n(C)c1=O O=c1cc[nH]cc1
O=c1ccc2ccccc2o1 c1ccc[n+](C)c1 [O-][n+]1ccccc1 c1cc[o+]cc1 c1ccc2ccccc2c1 c1ccc(-c2ccccc2)cc1
C1CC1 C1CCC1 C1CCCC1 C1CCCCC1 C1CCCCCCC1 C1CCCCCCCCCCC1 C1CC2CCC1C2 C1CC2(C1)CCC2 C12C3C4C1C5C2C3C45
C1=CCCC1 C1=CC=CC1 C1=CC=CC=CC=C1 c1ccc-2c(c1)Cc1ccccc1-2 O=C1CCCN1 O=C1CCCO1 C1COCCN1 C1CNCCN1
C1CO1 C1CN1 C1CS1 N1C=CC=C1 O=C1C=CC(=O)C=C1 Oc1ccccc1 [O-]c1ccccc1 Nc1ccccc1 CN(C)c1ccccc1
[CH3] [CH2] C[CH]C [OH] C[O] [O][O] C[N]C [CH]1C=CC=C1 [c]1ccccc1 CC(C)(C)[O] [N]=O [S]
[13CH4] [2H]C [2H]O[2H] [13CH3][15NH2] [14C]C(=O)O [18F]c1ccccc1 [3H]CC C[11C](=O)O [2H]c1ccccc1
F[B-](F)(F)F OB(O)c1ccccc1 C[Si](C)(C)C C[Si](C)(C)O [SiH4] CC[Se]C [SeH2] C[As](C)C [AsH3] C[Ge](C)C
[Fe] [Fe+2] [Cu+2] [Zn+2].[O-]C=O [Pt](Cl)(Cl)(N)N C[Hg]C C[Mg]Br [Li]CCCC CC[Zn]CC C[Sn](C)(C)C
[NH3][Pt]([NH3])(Cl)Cl [NH3]->[Cu+2] Cl[Pd]Cl [Al+3].[Cl-].[Cl-].[Cl-] O=[Os](=O)(=O)=O [O-][Mn](=O)(=O)=O
CC(C)=C C/C=C/C C/C=C\\C F/C=C/F F/C=C\\F CC=CC C/C=C/C=C/C N/N=N/C C/C=N/O CN=NC C/C(F)=C(/Cl)Br
C[C@H](N)C(=O)O C[C@@H](N)C(=O)O C[C@H](O)[C@@H](O)C N[C@@H](Cc1ccccc1)C(=O)O C[S@](=O)CC C[C@](F)(Cl)Br
OC[C@H]1OC(O)[C@H](O)[C@@H](O)[C@@H]1O C[C@H]1CC[C@@H](C)CC1 C1C[C@H]2CC[C@@H]1C2 CC[C@H](C)O O[C@H]1CCCC[C@@H]1O
CC(=O)Oc1ccccc1C(=O)O CC(C)Cc1ccc(cc1)C(C)C(=O)O CC(=O)Nc1ccc(O)cc1 CN1CCC[C@H]1c1cccnc1 OC(=O)c1ccccc1O
CN1C2CCC1CC(C2)OC(=O)C(CO)c1ccccc1 COc1cc2c(cc1OC)CCN=C2 O=C(O)CN1CCN(CC(=O)O)CC1 Clc1ccc(cc1)C(c1ccccc1)N1CCNCC1
c1ccc(cc1)P(c1ccccc1)c1ccccc1 c1ccc(cc1)[P+](c1ccccc1)(c1ccccc1)c1ccccc1 CCOP(=S)(OCC)Oc1ccccc1 C=P(C)(C)C
C=C=C C=C=O N=C=O CN=C=S C[N+]#[C-] N#[N+][O-] [N-]=[N+]=NC CN=[N+]=[N-] [C-]#[O+] O=C=O S=C=S O=S=O O=O N#N
ClS(Cl)(=O)=O FS(F)(F)(F)(F)F FP(F)(F)(F)F F[P-](F)(F)(F)(F)F OCl(=O)(=O)=O O=I(=O)O F[Xe]F ClI(Cl)Cl
* *CC [1*]C CC* c1cc(*)ccc1 C[Ti+] [U] [235U] O=[U+2]=O [Au+] [Ag+].[O-][N+](=O)[O-]
"""

_HEADS = ("C", "CC(C)", "O", "N", "CN", "[NH3+]", "OC(=O)", "[O-]C(=O)", "FC(F)(F)", "CS(=O)(=O)N")
_CORES = ("c1ccc({})cc1", "c1cc({})c[nH]1", "c1nc({})sc1", "C1CCN({})CC1", "C1CC({})OC1")
_TAILS = ("Br", "C#N")

#: All of them, each once.
VARIED: list[str] = [
    *dict.fromkeys(_PLAIN.split()),
    *(head + core.format(tail) for core in _CORES for head in _HEADS for tail in _TAILS),
]
