"""Reads one large molecule from standard input; run as a program, so that it alone can crash."""

import sys


def main(kind: str, keep_hydrogens: str, ceiling: str) -> int:
    """Write RDKit's molecule, rings and all, to standard output; return the exit code."""
    if int(ceiling) and sys.platform == "linux":
        import resource

        limits = [int(ceiling), *resource.getrlimit(resource.RLIMIT_DATA)]
        wanted = min(limit for limit in limits if limit != resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, limits[2]))
    from rdkit import Chem, rdBase

    rdBase.DisableLog("rdApp.*")
    text = sys.stdin.buffer.read().decode()
    if kind == "smiles":
        mol = Chem.MolFromSmiles(text)
    else:
        mol = Chem.MolFromMolBlock(text, removeHs=not int(keep_hydrogens))
    if mol is None:
        return 1
    sys.stdout.buffer.write(mol.ToBinary(Chem.PropertyPickleOptions.AllProps))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
