"""Pairs (relation, node) in other orders: reversed, in pieces of bounded size, in tiles."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgnn.graphs._csr import CSR

if TYPE_CHECKING:
    from edgnn.graphs._relations import Relations


def owners(relations: Relations) -> Tensor:
    """Return the node that each pair by target belongs to; zero for a row that is padding."""
    spread = relations.spread
    owner = torch.zeros(spread.shape[1], dtype=torch.int32, device=spread.indptr.device)
    owner[spread.indices.long()] = spread.row_of_entry.to(torch.int32)
    return owner


def averaged(relations: Relations, dtype: torch.dtype) -> Relations:
    """Return relations by target whose pairs average states in the place of adding them up."""
    gather = relations.gather
    share = gather.indptr.diff().to(dtype).reciprocal()
    return replace(
        relations,
        gather=replace(gather, values=share[gather.row_of_entry]),
        gather_t=None,
        mirrored=False,
    )


def turned(relations: Relations) -> Relations:
    """Return relations by target with all edges reversed.

    Pairs of a relation and who sends over it then list who receives.

    The transposed entries stand sender by sender, relation by relation already, so pairs are runs
    of them.
    """
    gather, blocks, groups = relations.gather, relations.gather.blocks, relations.num_relations
    entries = gather.T if relations.gather_t is None else relations.gather_t
    senders, device = entries.shape[0], entries.indices.device
    pair = entries.indices.long()
    relation = relations.relation_of_pair[pair % max(relations.offset[-1], 1)]
    sender = entries.row_of_entry
    first = torch.ones(len(pair), dtype=torch.bool, device=device)
    first[1:] = (relation[1:] != relation[:-1]) | (sender[1:] != sender[:-1])
    start = first.nonzero()[:, 0]
    length = torch.diff(start, append=start.new_tensor([len(pair)]))
    relation, sender = relation[start], sender[start]
    place, offset = _places(relation, sender // max(senders // blocks, 1), groups, blocks)
    rows = blocks * offset[-1]
    starts, lengths = (
        torch.zeros(rows, dtype=torch.int64, device=device).index_copy_(0, place, p)
        for p in (start, length)
    )
    receivers = replace(
        entries, indices=relations.owner[pair], shape=(senders, relations.spread.shape[0])
    )
    indptr = torch.searchsorted(sender, torch.arange(senders + 1, device=device)).to(torch.int32)
    return replace(
        relations,
        gather=_rows(receivers, starts, lengths),
        spread=CSR(indptr, place.to(torch.int32), None, (senders, rows), blocks),
        offset=offset,
        gather_t=None,
        spread_t=None,
    )


def _places(
    relation: Tensor, member: Tensor, groups: int, blocks: int
) -> tuple[Tensor, tuple[int, ...]]:
    """Return the row of each pair, and where relations begin within a member's rows.

    Rows stand member by member, relation by relation.
    """
    group = relation * blocks + member
    arranged, order = torch.sort(group, stable=True)
    begin = torch.searchsorted(arranged, torch.arange(groups * blocks + 1, device=group.device))
    largest = begin.diff().view(groups, blocks).amax(1) if groups else begin.new_zeros(0)
    offset = torch.cat([largest.new_zeros(1), largest.cumsum(0)])
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - begin[arranged]
    return member * offset[-1] + offset[relation] + rank, tuple(offset.tolist())


def in_pieces(relations: Relations, pairs: int) -> tuple[tuple[int, Relations], ...]:
    """Cut relations by target into runs of nodes with about so many pairs each.

    Members' blocks stay in one piece.

    Returns the first node of each piece and its relations, whose spread has a row for each node of
    the piece.
    """
    gather, spread, groups = relations.gather, relations.spread, relations.num_relations
    if gather.blocks > 1 or gather.shape[0] <= pairs:
        return ((0, relations),)
    device = spread.indptr.device
    goals = torch.arange(pairs, gather.shape[0], pairs, device=device, dtype=spread.indptr.dtype)
    inner = torch.unique(torch.searchsorted(spread.indptr, goals))
    inner = inner[spread.indptr[inner] < gather.shape[0]]
    piece = torch.searchsorted(inner, relations.owner.long(), right=True)
    key, order = torch.sort(piece * groups + relations.relation_of_pair, stable=True)
    begin = torch.searchsorted(
        key, torch.arange((len(inner) + 1) * groups + 1, device=device)
    ).tolist()
    start, length = gather.indptr[:-1][order].long(), gather.indptr.diff()[order].long()
    arranged = _rows(gather, start, length)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=device)
    placed = replace(spread, indices=place[spread.indices.long()].to(spread.indices.dtype))
    nodes = [0, *inner.tolist(), spread.shape[0]]
    pieces = []
    for number, (low, high) in enumerate(pairwise(nodes)):
        offset = begin[number * groups : (number + 1) * groups + 1]
        own = replace(
            relations,
            gather=_slice(arranged, offset[0], offset[-1], 0, gather.shape[1]),
            spread=_slice(placed, low, high, offset[0], offset[-1] - offset[0]),
            offset=tuple(stop - offset[0] for stop in offset),
            gather_t=None,
            spread_t=None,
        )
        pieces.append((low, own))
    return tuple(pieces)


def tiles(relations: Relations, rows: int) -> tuple[Tensor, CSR]:
    """Cut the pairs of each relation, and of each member's block, into tiles of at most so many.

    Returns the group, the first and the end of the pairs of each tile; and the matrix that adds up
    the tiles of each group. A group is member · R + relation.
    """
    blocks, device = relations.gather.blocks, relations.gather.indptr.device
    bounds = torch.tensor(relations.offset)
    start = (torch.arange(blocks)[:, None] * bounds[-1] + bounds[:-1]).flatten()
    stop = (torch.arange(blocks)[:, None] * bounds[-1] + bounds[1:]).flatten()
    counts = (stop - start + rows - 1) // rows
    begin = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    group = torch.repeat_interleave(torch.arange(len(counts)), counts)
    first = start[group] + (torch.arange(len(group)) - begin[group]) * rows
    table = torch.stack([group, first, torch.minimum(first + rows, stop[group])], dim=1)
    numbers = torch.arange(len(group), dtype=torch.int32, device=device)
    return table.to(torch.int32).to(device), CSR(
        begin.to(torch.int32).to(device), numbers, None, (len(counts), len(group))
    )


def _rows(matrix: CSR, start: Tensor, length: Tensor) -> CSR:
    """Return runs of a matrix's entries as rows, which hold each entry once."""
    indptr = torch.zeros(len(length) + 1, dtype=torch.int64, device=length.device)
    torch.cumsum(length, 0, out=indptr[1:])
    entry = torch.repeat_interleave(start - indptr[:-1], length, output_size=matrix.nnz)
    entry += torch.arange(matrix.nnz, device=length.device)
    values = None if matrix.values is None else matrix.values[entry]
    shape = len(length), matrix.shape[1]
    return replace(
        matrix,
        indptr=indptr.to(matrix.indptr.dtype),
        indices=matrix.indices[entry],
        values=values,
        shape=shape,
    )


def _slice(matrix: CSR, low: int, high: int, shift: int, columns: int) -> CSR:
    """Return some rows of a matrix, the columns moved back by ``shift``."""
    indptr = matrix.indptr[low : high + 1]
    first, last = int(indptr[0]), int(indptr[-1])
    indices = matrix.indices[first:last]
    values = None if matrix.values is None else matrix.values[first:last]
    moved = indices - shift if shift else indices
    return replace(
        matrix, indptr=indptr - first, indices=moved, values=values, shape=(high - low, columns)
    )
