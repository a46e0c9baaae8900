"""Random walks over directed labeled graphs, all of them at once on the packed arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn._arrays import running, segment_sum
from edgnn._hashing import mix
from edgnn._rules import check, whole
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Nodes

_Array = np.ndarray[Any, Any]

_NONE = -1
_BLOCK = 2**14  # walks at a time: few enough for the cache, enough to make numpy's calls cheap
_LOW = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
# multiplier of a 64-bit congruential generator, of which the upper half is used
_STEP = np.uint64(0xD1342543DE82EF95)
_MOST_TOKENS = 2**30
# what a hash is for, so that equal numbers of different kinds are not taken for one another
_PREDICATE, _ROUND = 1, 2

_RULES = {"depth": whole(0), "number": whole(1), "seed": whole(0)}


@dataclass(frozen=True, eq=False)
class Ways:
    """The edges that a walk may take, by the node they leave; with ``inverse`` each edge both ways.

    The predicate of an edge taken against its direction is numbered behind all others: label +
    number of labels.

    Shapes
    ------
    indptr (N+1,), label (W,), target (W,)
    """

    indptr: _Array
    label: _Array
    target: _Array

    @classmethod
    def of(cls, graphs: Graphs, inverse: bool = False) -> Ways:
        """Sort the edges of graphs by where they leave."""
        source, target, label = (
            array.cpu().numpy()
            for array in (graphs.edge_source, graphs.edge_target, graphs.edge_label)
        )
        if inverse:
            source, target = np.concatenate([source, target]), np.concatenate([target, source])
            label = np.concatenate([label, label + len(graphs.edge_vocabulary)])
        keys = (source << 32) | np.arange(len(source))
        keys.sort()  # sorting values is several times faster than sorting positions
        order = keys & (2**32 - 1)
        return cls(
            running(np.bincount(source, minlength=graphs.num_nodes)), label[order], target[order]
        )

    def without_parallels(self) -> Ways:
        """Return the ways with parallel ones of one label taken as one."""
        source = np.repeat(np.arange(len(self.indptr) - 1), self.degree)
        order = np.lexsort((self.target, self.label, source))
        source, label, target = source[order], self.label[order], self.target[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (
            (source[1:] != source[:-1]) | (label[1:] != label[:-1]) | (target[1:] != target[:-1])
        )
        counts = np.bincount(source[new], minlength=len(self.indptr) - 1)
        return Ways(running(counts), label[new], target[new])

    @property
    def degree(self) -> _Array:
        """How many ways leave each node."""
        return np.diff(self.indptr)


def random_walks(
    graphs: Graphs,
    starts: Any,
    *,
    depth: int,
    number: int,
    inverse: bool = False,
    distinct: bool = False,
    seed: int = 0,
) -> _Array:
    """Walk from nodes along random edges, each edge that leaves a node being equally likely.

    A walk reads node, predicate, node, …, as numbers of nodes and edge labels; it is filled up with
    −1 behind a node that no edge leaves. The walks from a node follow from the seed and its number
    alone, whichever other nodes are asked for.

    Parameters
    ----------
    graphs : Graphs
        Where to walk.
    starts : sequence of int, or Nodes
        Where the walks begin.
    depth : int
        Most edges of a walk.
    number : int
        Walks from each start.
    inverse : bool
        Walk edges against their direction as well; their predicate is then label + number of
        labels.
    distinct : bool
        No walk twice: from a start that has at most ``number`` walks all of them, each once, else
        those that were drawn, without repetitions. The rows that are left over are −1 throughout.
    seed : int
        The random seed.

    Returns
    -------
    array of int32

    Shapes
    ------
    starts (n,) → (n, number, 2·depth + 1)
    """
    check({"depth": depth, "number": number, "seed": seed}, _RULES, GraphError)
    nodes, ways = _starts(graphs, starts), Ways.of(graphs, inverse)
    _refuse_too_many(len(nodes) * number, depth)
    if not distinct:
        return _drawn(ways, nodes, depth, number, int(seed))
    walks: _Array = np.full((len(nodes), number, 2 * depth + 1), _NONE, dtype=np.int32)
    single = ways.without_parallels()
    few = _counts(single, depth)[nodes] <= number
    if not few.all():
        drawn = _drawn(ways, nodes[~few], depth, number, int(seed)).copy()
        drawn[_repeated(drawn)] = _NONE
        walks[~few] = drawn
    every, owner = _every(single, nodes[few], depth)
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    walks[np.flatnonzero(few)[owner], place] = every
    return walks


def all_walks(
    graphs: Graphs, starts: Any, *, depth: int, inverse: bool = False
) -> tuple[_Array, _Array]:
    """Return every walk of ``depth`` edges, and shorter ones that end where no edge leaves.

    The arguments are those of :func:`random_walks`. The second array says which start, as a
    position in ``starts``, a walk belongs to.

    Shapes
    ------
    starts (n,) → (W, 2·depth + 1), (W,)
    """
    check({"depth": depth}, _RULES, GraphError)
    nodes, ways = _starts(graphs, starts), Ways.of(graphs, inverse).without_parallels()
    _refuse_too_many(float(_counts(ways, depth)[nodes].sum()), depth)
    return _every(ways, nodes, depth)


def _drawn(ways: Ways, nodes: _Array, depth: int, number: int, seed: int) -> _Array:
    """Draw walks; predicate and node, of 32 bits each, are read as one number of 64."""
    gate, step, pair = _tables(ways)
    here = gate[nodes]
    starts = _pairs(np.full(len(nodes), _NONE), nodes)
    walks: _Array = np.empty((len(nodes), number, depth + 1), dtype=np.int64)
    live = np.flatnonzero((here >> _HALF) < len(ways.target))
    ended = np.setdiff1d(np.arange(len(nodes)), live, assume_unique=True)
    alone = np.full((number, depth + 1), _NONE, dtype=np.int64)
    for place in ended.tolist():
        alone[:, 0] = starts[place]
        walks[place] = alone
    key, turn, together = mix(nodes[live], seed), mix(np.arange(number)), max(1, _BLOCK // number)
    for begin in range(0, len(live), together):
        places = live[begin : begin + together]
        state = mix((key[begin : begin + together, None] + turn).ravel()).view(np.uint64)
        block = np.empty((len(state), depth + 1), dtype=np.int64)
        block[:, 0] = np.repeat(starts[places], number)
        _follow(block, state, np.repeat(here[places], number), step, pair)
        walks[places] = block.reshape(len(places), number, depth + 1)
    return walks.view(np.int32)[:, :, 1:]


def _follow(block: _Array, state: _Array, gate: _Array, step: _Array, pair: _Array) -> None:
    """Walk on from the first column of ``block``, all rows at once, one edge per column."""
    state |= np.uint64(1)
    for column in range(1, block.shape[1]):
        state *= _STEP
        choice = state >> _HALF
        choice *= gate & _LOW
        choice >>= _HALF
        gate >>= _HALF
        choice += gate
        edge = choice.view(np.int64)
        block[:, column] = pair.take(edge, mode="clip")
        step.take(edge, mode="clip", out=gate)


def _tables(ways: Ways) -> tuple[_Array, _Array, _Array]:
    """Return what a walker needs at each node, behind each edge, and the tokens each edge adds.

    A gate holds where the edges of a node begin (upper half) and how many there are (lower half). A
    node without any leads to one last edge that leads to itself and adds nothing.
    """
    end, degree = len(ways.target), ways.degree
    first = np.where(degree > 0, ways.indptr[:-1], end)
    gate = ((first << 32) | np.maximum(degree, 1)).view(np.uint64)
    step = np.append(gate[ways.target], np.uint64((end << 32) | 1))
    return gate, step, np.append(_pairs(ways.label, ways.target), _NONE)


def _pairs(first: _Array, second: _Array) -> _Array:
    pairs: _Array = np.column_stack([first, second]).astype(np.int32).view(np.int64)[:, 0]
    return pairs


def _counts(ways: Ways, depth: int) -> _Array:
    """Return how many walks start at each node, as floats, which may be huge."""
    degree = ways.degree
    owner = np.repeat(np.arange(len(degree)), degree)
    counts: _Array = np.ones(len(degree))
    with np.errstate(over="ignore"):
        for _ in range(depth):
            counts = np.where(
                degree > 0, np.bincount(owner, counts[ways.target], minlength=len(degree)), 1.0
            )
    return counts


def _every(ways: Ways, nodes: _Array, depth: int) -> tuple[_Array, _Array]:
    """Extend all walks by every edge that leaves their last node, hop by hop."""
    walks: _Array = np.full((len(nodes), 2 * depth + 1), _NONE, dtype=np.int32)
    walks[:, 0] = nodes
    owner, degree = np.arange(len(nodes)), ways.degree
    for hop in range(depth):
        last = walks[:, 2 * hop]
        times = np.where(last >= 0, degree[last], 0)
        copies = np.maximum(times, 1)
        origin = np.repeat(np.arange(len(walks)), copies)
        walks, owner = walks[origin], owner[origin]
        going = np.repeat(times > 0, copies)
        turn = np.arange(len(origin)) - np.repeat(np.cumsum(copies) - copies, copies)
        edge = (ways.indptr[np.repeat(last, copies)] + turn)[going]
        walks[going, 2 * hop + 1], walks[going, 2 * hop + 2] = ways.label[edge], ways.target[edge]
    return walks, owner


def _repeated(walks: _Array) -> _Array:
    """Mark the walks that an earlier one of the same start repeats."""
    starts, number, length = walks.shape
    owner = np.repeat(np.arange(starts), number)
    return _repeated_rows(np.column_stack([owner, walks.reshape(-1, length)])).reshape(
        starts, number
    )


def _repeated_rows(rows: _Array) -> _Array:
    """Mark the rows that are equal to an earlier one."""
    key: _Array = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T.astype(np.int64):
        key = mix(key + column)
    repeated = np.ones(len(rows), dtype=bool)
    repeated[np.unique(key, return_index=True)[1]] = False
    return repeated


def _starts(graphs: Graphs, starts: Any) -> _Array:
    chosen = starts.index if isinstance(starts, Nodes) else starts
    nodes = np.asarray(chosen.cpu() if hasattr(chosen, "cpu") else chosen)
    if nodes.ndim != 1 or (len(nodes) and nodes.dtype.kind not in "iu"):
        raise GraphError(
            "starts must be a list of node numbers, "
            f"got an array of {nodes.dtype} of shape {nodes.shape}"
        )
    wrong = nodes[(nodes < 0) | (nodes >= graphs.num_nodes)]
    if len(wrong):
        raise GraphError(
            f"starts name node {wrong[0]}, but there are {graphs.num_nodes}, numbered from 0"
        )
    return nodes.astype(np.int64)


def _refuse_too_many(walks: float, depth: int) -> None:
    if walks * (2 * depth + 1) > _MOST_TOKENS:
        raise GraphError(
            f"{walks:,.0f} walks of up to {2 * depth + 1} nodes and predicates are too many to "
            "hold at once; ask for fewer walks or starts, or a smaller depth"
        )


def relabeled(ways: Ways, labels: _Array, rounds: int) -> _Array:
    """Return the label of every node after each round, numbered by first appearance.

    A round gives a node a new label made of its own and those of (predicate, node) over the ways
    that leave it. A node whose surroundings were not relabeled in the round before keeps its label,
    so labels settle from the dead ends on.

    Parameters
    ----------
    ways : Ways
        The edges to look along.
    labels : array
        Whole numbers, the labels at the start; 0, 1, …, N−1 for nodes that are all different, which
        then stay their numbers.
    rounds : int
        How many.

    Shapes
    ------
    labels (N,) → (rounds + 1, N)
    """
    now: _Array = mix(labels.astype(np.int64))
    after, changed = [now], np.ones(len(labels), dtype=bool)
    predicate = mix(ways.label.astype(np.int64), _PREDICATE)
    for _ in range(rounds):
        looks = segment_sum(changed[ways.target].astype(np.int64), ways.indptr) > 0
        around = segment_sum(mix(now[ways.target] ^ predicate), ways.indptr)
        new = np.where(looks, mix(now + mix(around), _ROUND), now)
        changed, now = new != now, new
        after.append(new)
    return _numbered(np.concatenate(after)).reshape(rounds + 1, len(labels))


def _numbered(values: _Array) -> _Array:
    """Number distinct values by first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers: _Array = rank[inverse]
    return numbers
