"""The sparse product by itself: against the speed of copying, against the vendor's library, over degrees, widths and types."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from benchmarks._formulations import Size, short
from benchmarks._harness import Row, Skipped, Traffic, beside
from benchmarks._timing import Missing, Timed, race
from edgnn.graphs import CSR, Graphs, Structure
from edgnn.nn.ops import neighbor_sum

Degrees = Literal["uniform", "power law", "one hub"]
DEGREES: tuple[Degrees, ...] = ("uniform", "power law", "one hub")
_HUB = 0.1
_STEEPNESS = 3


def degree_digraph(nodes: int, edges: int, degrees: Degrees, device: str = "cpu") -> Graphs:
    """Return a random digraph without labels; nodes of high degree stand anywhere.

    Parameters
    ----------
    nodes, edges : int
        Size.
    degrees : {"uniform", "power law", "one hub"}
        Ends drawn uniformly; with a density falling as a power, so that of a million nodes the
        first has about a hundredth of all ends; or uniformly, but a tenth of all edges pointing to
        one node.
    device : str
        Where.
    """
    generator = torch.Generator(device).manual_seed(0)
    if degrees == "power law":
        drawn = torch.rand(edges, 2, generator=generator, device=device, dtype=torch.float64)
        ends = (drawn**_STEEPNESS * nodes).long().clamp_(max=nodes - 1)
        ends = torch.randperm(nodes, generator=generator, device=device)[ends]
    else:
        ends = torch.randint(nodes, (edges, 2), generator=generator, device=device)
    if degrees == "one hub":
        ends[torch.randperm(edges, generator=generator, device=device)[: int(_HUB * edges)], 1] = (
            nodes // 2
        )
    return Graphs.from_edges(ends, num_nodes=nodes)


def gathered_bytes(matrix: CSR, width: int, element: int) -> int:
    """Return the bytes that a product must move: a row of states per entry, the index arrays, and the result."""
    return (matrix.nnz + matrix.shape[0]) * width * element + matrix.nbytes


def product_rows(
    nodes: int,
    edges: int,
    widths: Sequence[int],
    degrees: Degrees,
    device: str,
    repeats: int,
    copy: float,
    goal: str = "",
) -> Iterator[Row | Skipped]:
    """Time forward products of some widths, each beside the library's on the same matrix; ``goal`` is that of width 64."""
    structure = Structure.of(degree_digraph(nodes, edges, degrees, device), multiplicity="per-edge")
    library = _library_name(device)
    for width in widths:
        x = _states(nodes, width, device)
        ours, peer = race([_ours(structure, x), _library(structure.neighbors, x)], repeats, device)
        size = f"{short(nodes)} nodes, {short(edges)} edges, width {width}, {degrees}"
        fields = {
            "traffic": traffic(structure.neighbors, x, ours, copy),
            "points": {f"width of a product ({degrees}, {short(nodes)} nodes)": width},
            "extra": {
                "entries": structure.neighbors.nnz,
                "longest_row": int(structure.neighbors.indptr.diff().max()),
            },
        }
        yield from beside(
            size, ("neighbor_sum", ours), (library, peer), goal if width == 64 else "", **fields
        )


def narrow_product(
    size: Size, device: str, repeats: int, copy: float, goal: str
) -> list[Row | Skipped]:
    """Time the product of bfloat16 states beside that of float32 ones."""
    structure = Structure.of(
        degree_digraph(size.nodes, size.edges, "uniform", device), multiplicity="per-edge"
    )
    wide = _states(size.nodes, size.width, device)
    ours, peer = race([_ours(structure, wide.bfloat16()), _ours(structure, wide)], repeats, device)
    what = f"{short(size.nodes)} nodes, {short(size.edges)} edges, width {size.width}, uniform"
    told = traffic(structure.neighbors, wide.bfloat16(), ours, copy)
    return beside(
        what, ("neighbor_sum, bfloat16", ours), ("the same in float32", peer), goal, traffic=told
    )


def traffic(matrix: CSR, x: Tensor, ours: Timed | Missing, copy: float) -> Traffic | None:
    """Return how fast a product moved its bytes."""
    if isinstance(ours, Missing):
        return None
    moved = gathered_bytes(matrix, x.shape[1], x.element_size())
    return Traffic(moved, moved / ours.seconds, copy)


def _states(nodes: int, width: int, device: str) -> Tensor:
    return torch.randn(
        nodes, width, generator=torch.Generator(device).manual_seed(1), device=device
    )


def _ours(structure: Structure, x: Tensor) -> Callable[[], Callable[[], Any]]:
    return lambda: lambda: neighbor_sum(x, structure)


def _library(matrix: CSR, x: Tensor) -> Callable[[], Callable[[], Any]]:
    def build() -> Callable[[], Any]:
        ones = torch.ones(matrix.nnz, dtype=x.dtype, device=x.device)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            sparse = torch.sparse_csr_tensor(
                matrix.indptr, matrix.indices, ones, matrix.shape, check_invariants=False
            )
        return lambda: sparse @ x

    return build


def _library_name(device: str) -> str:
    return "cuSPARSE" if device.startswith("cuda") else "torch.sparse (CSR)"
