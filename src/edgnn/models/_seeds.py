"""Random seeds, and the fraction of training items that is held out for early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from edgnn._rules import Rule, whole

_Array = np.ndarray[Any, Any]

_VALIDATION = 2**40  # no member has this number


def _is_random_state(value: Any) -> bool:
    if value is None or isinstance(value, np.random.RandomState):
        return True
    return whole(0, 2**64 - 1).holds(value)


#: What ``random_state`` may be.
RANDOM_STATE = Rule(_is_random_state, "a whole number from 0, a numpy RandomState, or None")


def root_seed(random_state: Any) -> int:
    """Return the random seed as a number; a ``RandomState``, or numpy's own, is drawn from."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        source = np.random if random_state is None else random_state
        return int(source.randint(2**31 - 1))
    return int(random_state)


def member_seed(seed: int, member: int) -> int:
    """Return the seed of one member of an ensemble."""
    return int(
        np.random.SeedSequence([seed, member]).generate_state(1, np.uint64)[0] >> np.uint64(1)
    )


def held_out(
    candidates: _Array, strata: _Array | None, share: float, seed: int
) -> tuple[_Array, _Array]:
    """Split positions into the part to train on and the part to validate on.

    Parameters
    ----------
    candidates : array of bool
        Which items may be held out; the others are trained on.
    strata : array of int, optional
        Class of each item: each class gives its share, to within one item, and keeps at least one
        item to train on.
    share : float
        Share of the candidates to hold out; at least one item, and never all.
    seed : int
        The random seed.

    Returns
    -------
    tuple of arrays
        Positions to train on and to validate on, rising.
    """
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, _VALIDATION])))
    order = random.permutation(np.flatnonzero(candidates))
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
        order = order[_not_first(strata[order])]
    limit = len(order) if strata is not None else len(order) - 1
    wanted = min(max(round(share * int(candidates.sum())), 1), limit)
    chosen = np.zeros(len(candidates), dtype=bool)
    if wanted > 0:
        steps = (np.arange(wanted) + random.random()) * (len(order) / wanted)
        chosen[order[np.minimum(steps.astype(np.int64), len(order) - 1)]] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def with_every_label(train: _Array, valid: _Array, carriers: csr_array) -> tuple[_Array, _Array]:
    """Move items from the validation to the training set until that has every label of both.

    Where nothing would be left to validate on, the parts stay as they are.

    Parameters
    ----------
    train, valid : array of int
        Positions of the two parts.
    carriers : sparse matrix
        Row i is not zero in the columns of the labels that item i has.
    """
    lacking = (_occurs(carriers, valid) & ~_occurs(carriers, train)).nonzero()[0]
    moved = np.zeros(len(valid), dtype=bool)
    held = csr_array(carriers[valid][:, lacking]).tocsc()
    for label in range(len(lacking)):
        items = held.indices[held.indptr[label] : held.indptr[label + 1]]
        if not moved[items].any():
            moved[items.min()] = True
    if moved.all():
        return train, valid
    return np.sort(np.concatenate([train, valid[moved]])), valid[~moved]


def _occurs(carriers: csr_array, items: _Array) -> _Array:
    return np.asarray(np.asarray(carriers[items].sum(axis=0)).ravel() > 0)


def _not_first(strata: _Array) -> _Array:
    """Mark all but the first item of every class; classes stand together."""
    again = np.zeros(len(strata), dtype=bool)
    again[1:] = strata[1:] == strata[:-1]
    return again
