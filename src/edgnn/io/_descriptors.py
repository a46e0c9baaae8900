"""Numbers of whole molecules: RDKit's fast 2D descriptors, and counts of circular fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from edgnn._optional import optional
from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.io._common import Array
from edgnn.io._rdkit import chem
from edgnn.io._to_mols import rebuilt

#: Molecules that a worker gets at once, and how many make workers worth their start.
_AT_ONCE = 250
_MANY = 2_000

_LARGEST = 1e6
_REASON = "descriptors of molecules"

_PROPERTY_NAMES = """
exactmw amw lipinskiHBA lipinskiHBD NumRotatableBonds NumHBD NumHBA NumHeavyAtoms NumAtoms
NumHeteroatoms NumAmideBonds FractionCSP3 NumRings NumAromaticRings NumAliphaticRings
NumSaturatedRings NumHeterocycles NumAromaticHeterocycles NumSaturatedHeterocycles
NumAliphaticHeterocycles NumSpiroAtoms NumBridgeheadAtoms labuteASA tpsa CrippenClogP
CrippenMR chi0v chi1v chi2v chi3v chi4v chi0n chi1n chi2n chi3n chi4n hallKierAlpha kappa1
kappa2 kappa3 Phi
"""
_FRAGMENT_NAMES = """
Al_COO Al_OH Al_OH_noTert ArN Ar_COO Ar_N Ar_NH Ar_OH COO COO2 C_O C_O_noCOO C_S HOCCN Imine
NH0 NH1 NH2 N_O Ndealkylation1 Ndealkylation2 Nhpyrrole SH aldehyde alkyl_carbamate
alkyl_halide allylic_oxid amide amidine aniline aryl_methyl azide azo barbitur benzene
benzodiazepine bicyclic diazo dihydropyridine epoxide ester ether furan guanido halogen
hdrzine hdrzone imidazole imide isocyan isothiocyan ketone ketone_Topliss lactam lactone
methoxy morpholine nitrile nitro nitro_arom nitro_arom_nonortho nitroso oxazole oxime
para_hydroxylation phenol phenol_noOrthoHbond phos_acid phos_ester piperdine piperzine
priamide prisulfonamd pyridine quatN sulfide sulfonamd sulfone term_acetylene tetrazole
thiazole thiocyan thiophene unbrch_alkane urea
"""
_PROPERTIES = _PROPERTY_NAMES.split()
_FRAGMENTS = _FRAGMENT_NAMES.split()

#: The names of all descriptors, in their order.
DESCRIPTORS: tuple[str, ...] = (
    *_PROPERTIES,
    *(f"SlogP_VSA{number}" for number in range(1, 13)),
    *(f"SMR_VSA{number}" for number in range(1, 11)),
    *(f"PEOE_VSA{number}" for number in range(1, 15)),
    *("MaxPartialCharge", "MinPartialCharge"),
    *(f"MQN{number}" for number in range(1, 43)),
    *("MaxEStateIndex", "MinEStateIndex"),
    *(f"EState_VSA{number}" for number in range(1, 12)),
    *(f"VSA_EState{number}" for number in range(1, 11)),
    *("BertzCT", "BalabanJ"),
    *(f"fr_{name}" for name in _FRAGMENTS),
)

_Group = tuple[Callable[[Any], Sequence[float]], int]


def rdkit_descriptors(
    graphs: Graphs, *, n_jobs: int | None = None
) -> tuple[Array, tuple[str, ...]]:
    """Return 2D descriptors of molecules that need neither their file nor their SMILES.

    A fixed list of those that RDKit computes fast: sizes and counts of rings and atoms, log P,
    molar refractivity, surface areas by kind of atom, partial charges, connectivity and shape
    indices, electrotopological states, molecular quantum numbers, and counts of 85 functional
    groups. Hydrogens that are nodes are taken back into their neighbors first.

    Parameters
    ----------
    graphs : Graphs
        As :func:`to_mols` takes them.
    n_jobs : int, optional
        How many processes compute them where there are more than 2,000 molecules, -1 for one per
        core.

    Returns
    -------
    values : array of float64
        One row per molecule. What RDKit cannot compute (partial charges of metals) is 0, and all
        numbers are within ±1,000,000.
    names : tuple of str
        What the columns are called, mostly as in RDKit.

    Shapes
    ------
    values (G, D), names (D,)

    Examples
    --------
    >>> from edgnn.io import from_smiles, rdkit_descriptors
    >>> values, names = rdkit_descriptors(from_smiles(["CCO", "c1ccccc1O"]))
    >>> values[:, names.index("NumAromaticRings")].tolist()
    [0.0, 1.0]
    """
    parts = _in_parts(_descriptors_of, graphs, (), n_jobs)
    empty = np.zeros((0, len(DESCRIPTORS)))
    return np.concatenate([empty, *parts]), DESCRIPTORS


def ecfp_counts(
    graphs: Graphs, radius: int = 2, size: int = 2048, *, n_jobs: int | None = None
) -> csr_array:
    """Return how often each circular neighborhood occurs in a molecule (ECFP, folded).

    Parameters
    ----------
    graphs : Graphs
        As :func:`to_mols` takes them.
    radius : int
        Bonds from the center; 2 is ECFP4.
    size : int
        Number of columns that neighborhoods are folded into.
    n_jobs : int, optional
        As of :func:`rdkit_descriptors`.

    Shapes
    ------
    → (G, size), of float32

    Examples
    --------
    >>> from edgnn.io import ecfp_counts, from_smiles
    >>> ecfp_counts(from_smiles(["CCO", "c1ccccc1O"])).sum(axis=1).tolist()
    [6.0, 20.0]
    """
    if radius < 0 or size < 1:
        raise GraphError(f"radius={radius}, size={size}: a radius is 0 or more, a size 1 or more")
    parts = _in_parts(_counts_of, graphs, (radius, size), n_jobs)
    empty = csr_array((0, size), dtype=np.float32)
    return csr_array(vstack([empty, *parts], format="csr"))


def _in_parts(
    function: Callable[..., Any], graphs: Graphs, options: tuple[Any, ...], n_jobs: int | None
) -> list[Any]:
    """Return what a function makes of consecutive graphs, in several processes if that helps."""
    if n_jobs in (None, 1) or len(graphs) <= _MANY:
        return [function(graphs, *options)]
    from joblib import Parallel, delayed

    starts = range(0, len(graphs), _AT_ONCE)
    pieces = (graphs[start : start + _AT_ONCE] for start in starts)
    return list(Parallel(n_jobs)(delayed(function)(piece, *options) for piece in pieces))


def _molecules(graphs: Graphs) -> Iterator[Any]:
    """Yield molecules whose hydrogens are no atoms, whatever the graphs have."""
    blocks = optional("rdkit.rdBase", _REASON).BlockLogs
    for mol in rebuilt(graphs):
        yield (
            mol if mol.GetNumHeavyAtoms() == mol.GetNumAtoms() else _without_hydrogens(mol, blocks)
        )


def _without_hydrogens(mol: Any, blocks: Any) -> Any:
    try:
        with blocks():
            return chem().RemoveHs(mol)
    except ValueError:  # RDKit does not sanitize every molecule that it can read
        return mol


def _counts_of(graphs: Graphs, radius: int, size: int) -> csr_array:
    generators = optional("rdkit.Chem.rdFingerprintGenerator", "circular fingerprints")
    generator = generators.GetMorganGenerator(radius=radius, fpSize=size)
    rows = [generator.GetCountFingerprint(mol).GetNonzeroElements() for mol in _molecules(graphs)]
    columns = [column for row in rows for column in sorted(row)]
    counts = [row[column] for row in rows for column in sorted(row)]
    indptr = np.cumsum([0, *map(len, rows)])
    return csr_array((np.array(counts, np.float32), columns, indptr), shape=(len(rows), size))


def _descriptors_of(graphs: Graphs) -> Array:
    values = np.zeros((len(graphs), len(DESCRIPTORS)))
    blocks = optional("rdkit.rdBase", _REASON).BlockLogs
    with np.errstate(all="ignore"), blocks():
        for row, mol in zip(values, _molecules(graphs), strict=True):
            start = 0
            for compute, width in _groups():
                row[start : start + width] = _computed(compute, mol, width)
                start += width
    finite = np.where(np.isfinite(values), values, 0)
    return np.clip(finite, -_LARGEST, _LARGEST)


def _computed(compute: Callable[[Any], Sequence[float]], mol: Any, width: int) -> Any:
    try:
        return list(compute(mol))
    except (ArithmeticError, LookupError, RuntimeError, ValueError):
        return list(repeat(0.0, width))


@cache
def _groups() -> tuple[_Group, ...]:
    """Return what computes the descriptors, some at a time, with the number of each."""
    fast = optional("rdkit.Chem.rdMolDescriptors", _REASON)
    graph_descriptors = optional("rdkit.Chem.GraphDescriptors", _REASON)
    fragments = optional("rdkit.Chem.Fragments", _REASON)
    properties = fast.Properties(_PROPERTIES)
    groups: list[_Group] = [
        (properties.ComputeProperties, len(_PROPERTIES)),
        (fast.SlogP_VSA_, 12),
        (fast.SMR_VSA_, 10),
        (fast.PEOE_VSA_, 14),
        (_extreme_charges, 2),
        (fast.MQNs_, 42),
        (_states, 23),
        (lambda mol: [graph_descriptors.BertzCT(mol)], 1),
        (lambda mol: [graph_descriptors.BalabanJ(mol)], 1),
    ]
    counters = [getattr(fragments, f"fr_{name}") for name in _FRAGMENTS]
    groups.append((lambda mol: [count(mol) for count in counters], len(counters)))
    return tuple(groups)


def _extreme_charges(mol: Any) -> Sequence[float]:
    charges = optional("rdkit.Chem.rdPartialCharges", _REASON)
    charges.ComputeGasteigerCharges(mol)
    return _extremes([atom.GetDoubleProp("_GasteigerCharge") for atom in mol.GetAtoms()])


def _states(mol: Any) -> Sequence[float]:
    """Return extreme electrotopological states, areas by state, and states by area.

    RDKit's own functions for the last two take longer than all others together.
    """
    states = optional("rdkit.Chem.EState.EState", _REASON).EStateIndices(mol)
    limits = optional("rdkit.Chem.EState.EState_VSA", _REASON)
    areas = optional("rdkit.Chem.rdMolDescriptors", _REASON)._CalcLabuteASAContribs(mol)[0]
    by_state = np.searchsorted(limits.estateBins, states, side="right")
    by_area = np.searchsorted(limits.vsaBins, areas, side="right")
    return (
        *_extremes(states),
        *np.bincount(by_state, areas, minlength=11),
        *np.bincount(by_area, states, minlength=10),
    )


def _extremes(values: Any) -> Sequence[float]:
    return (max(values), min(values)) if len(values) else (0.0, 0.0)
