"""The places of graphs in members' blocks, on CUDA: one pass that waits for nobody."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from edgnn.nn.ops._row_sum import launching

_AT_ONCE = 128


@triton.jit
def _kernel(
    index,
    sizes,
    first,
    node,
    shift,
    owner,
    real,
    starts,
    taken,
    chosen,
    members,
    nodes,
    graphs,
    batch,
    places,
    at_once: tl.constexpr,
):
    member = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * at_once + tl.arange(0, at_once)
    found = tl.zeros((at_once,), dtype=tl.int64) + nodes
    run = tl.zeros((at_once,), dtype=tl.int64) + batch
    begin = tl.zeros((), dtype=tl.int64)
    slot = member * (batch + 1)
    for number in range(batch):
        graph = tl.load(index + member * batch + number)
        there = graph >= 0
        size = tl.load(sizes + graph, mask=there, other=0)
        here = (place >= begin) & (place < begin + size)
        found = tl.where(here, tl.load(first + graph, mask=there, other=0) + place - begin, found)
        run = tl.where(here, number, run)
        if tl.program_id(0) == 0:
            tl.store(starts + slot + number, (member * places + begin).to(tl.int32))
            tl.store(taken + slot + number, size)
            tl.store(chosen + slot + number, tl.where(there, graph, graphs))
        begin += size
    if tl.program_id(0) == 0:
        tl.store(starts + slot + batch, (member * places + begin).to(tl.int32))
        tl.store(
            starts + slot + batch + 1, ((member + 1) * places).to(tl.int32)
        )  # the next member's first, or the end
        tl.store(taken + slot + batch, 0)
        tl.store(chosen + slot + batch, graphs)
    position, inside = member * places + place, place < places
    tl.store(node + position, found, mask=inside)
    tl.store(shift + position, position - found, mask=inside)
    tl.store(owner + position, (slot + run).to(tl.int32), mask=inside)
    tl.store(real + position, (run < batch).to(real.dtype.element_ty), mask=inside)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where graphs are in blocks of equal size; padding is one graph more, behind the others.

    Attributes
    ----------
    node, shift : Tensor
        The node at every place, one past the last for padding, and what to add to it for its place
        among all blocks.
    owner, real : Tensor
        The graph that has every place, and one where that is no padding.
    starts, sizes, graph : Tensor
        Where every graph begins, how many nodes it has (padding has none), and its number, one past
        the last where there is none.

    Shapes
    ------
    node (M·n,), shift (M·n,), owner (M·n,), real (M·n,), starts (M·(B+1)+1,), sizes (M·(B+1),),
    graph (M·(B+1),)
    """

    node: Tensor
    shift: Tensor
    owner: Tensor
    real: Tensor
    starts: Tensor
    sizes: Tensor
    graph: Tensor


def layout(
    index: Tensor, sizes: Tensor, first: Tensor, nodes: int, places: int, dtype: torch.dtype
) -> Layout:
    """Lay out graphs in blocks.

    Parameters
    ----------
    index : Tensor
        Graph numbers of every member, below zero for none; they must fit into ``places``.
    sizes, first : Tensor
        Node count and first node of every graph.
    nodes, places : int
        Number of all nodes, and of places in a block.
    dtype : dtype
        Of ``real``.

    Shapes
    ------
    index (M, B), sizes (G,), first (G,)
    """
    (members, batch), device = index.shape, index.device
    node, shift = (
        torch.empty(members * places, dtype=torch.int64, device=device) for _ in range(2)
    )
    owner = torch.empty(members * places, dtype=torch.int32, device=device)
    real = torch.empty(members * places, dtype=dtype, device=device)
    starts = torch.empty(members * (batch + 1) + 1, dtype=torch.int32, device=device)
    taken, chosen = (
        torch.empty(members * (batch + 1), dtype=torch.int64, device=device) for _ in range(2)
    )
    with launching(node):
        _kernel[(triton.cdiv(places, _AT_ONCE), members)](
            index.contiguous(),
            sizes,
            first,
            node,
            shift,
            owner,
            real,
            starts,
            taken,
            chosen,
            members,
            nodes,
            len(sizes),
            batch,
            places,
            at_once=_AT_ONCE,
        )
    return Layout(node, shift, owner, real, starts, taken, chosen)
