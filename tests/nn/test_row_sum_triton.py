import pytest

pytest.importorskip("triton")

CHECK = """
from dataclasses import replace
import torch
from edgnn.graphs import Graphs, Structure
from edgnn.graphs import CSR
from edgnn.nn.ops import _row_sum_triton, row_sum
from edgnn.nn.ops._row_sum_triton import row_sum_on_device

generator = torch.Generator().manual_seed(0)
edges = torch.randint(0, 14, (60, 2), generator=generator)
plain = Structure.of(Graphs.from_edges(edges, num_nodes=17), multiplicity="per-edge").neighbors
weighted = CSR(plain.indptr, plain.indices, torch.rand(plain.nnz, generator=generator, dtype=torch.float64), plain.shape)
for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
    for shape in ((17, 1), (17, 64), (17, 200), (3, 17, 7)):
        x = torch.randn(shape, generator=generator, dtype=dtype)
        for matrix in (plain, weighted.to(dtype=dtype)):
            torch.testing.assert_close(row_sum_on_device(matrix, x), row_sum(matrix, x), rtol=tolerance, atol=tolerance)
_row_sum_triton.LONG, _row_sum_triton.PIECE = 3, 2  # so that almost all rows are long, and so are the sums of pieces
for matrix in (plain, weighted.to(dtype=torch.float32)):
    cut = replace(matrix)
    for shape in ((17, 64), (3, 17, 7)):
        x = torch.randn(shape, generator=generator)
        torch.testing.assert_close(row_sum_on_device(cut, x), row_sum(matrix, x), rtol=1e-5, atol=1e-5)
    assert cut.__dict__["_long"].sums.__dict__["_long"] is not None
_row_sum_triton.LONG, _row_sum_triton.PIECE = 256, 512
x = torch.full((17, 3), 1.0, dtype=torch.bfloat16)
x[7] = 1 / 256  # lost if sums were kept in bfloat16
exact = (plain.to_dense() @ x.float()).to(torch.bfloat16)
assert torch.equal(row_sum_on_device(plain, x), exact)
print("equal")
"""


def test_kernel_gives_the_sums_of_the_cpu_in_the_interpreter(run_python):
    assert run_python(CHECK, TRITON_INTERPRET="1").strip() == "equal"
