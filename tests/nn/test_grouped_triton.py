import pytest

pytest.importorskip("triton")

CHECK = """
import torch
from edgnn.graphs import Graphs, Structure
from edgnn.nn import Inputs
from edgnn.nn.ops import _grouped, _grouped_triton, relational_product
from edgnn.training import Blocks

generator = torch.Generator().manual_seed(0)
drawn = lambda *shape, dtype=torch.float32: torch.randn(shape, generator=generator, dtype=dtype)


def both_ways(relations, x, weight, mean=False, tolerance=1e-5):
    grad, results = None, []
    for on_device in (False, True):
        _grouped._on_device = lambda x: on_device
        states, weights = x.clone().requires_grad_(), weight.clone().requires_grad_()
        result = relational_product(states, weights, relations, mean=mean)
        grad = drawn(*result.shape, dtype=result.dtype) if grad is None else grad
        first = torch.autograd.grad(result, (states, weights), grad, retain_graph=True)
        slopes = torch.autograd.grad(result, (states, weights), grad, create_graph=True)
        second = torch.autograd.grad(sum(slope.float().mean() for slope in slopes), (states, weights))
        results.append((result.detach(), *first, *(slope.detach() for slope in slopes), *second))
    for plain, kernels in zip(*results):
        torch.testing.assert_close(kernels, plain, rtol=tolerance, atol=tolerance * float(plain.abs().max()))


edges = torch.randint(0, 40, (100, 2), generator=generator)
labels = torch.randint(0, 2, (100,), generator=generator).tolist()
collection = Graphs.from_edges(edges, num_nodes=45, edge_labels=labels)
tiling = _grouped_triton
tiling._ROWS, tiling._SPAN, tiling._OUTER_ROWS, tiling._COLUMNS = 16, 32, 16, 32
_grouped._PIECE_ROWS = 1
for direction, longest in (("both", 32), ("in", 32), ("both", 0)):
    tiling._LONGEST = longest
    relations = Structure.of(collection, direction=direction, relations="targets").relations
    groups = relations.num_relations
    both_ways(relations, drawn(45, 7), drawn(groups, 7, 40), mean=True)
    both_ways(relations, drawn(2, 45, 40), drawn(2, groups, 40, 5))
    _grouped._PIECE_BYTES["cpu"] = 2048
    assert len(relations.in_pieces(32)) > 1
    both_ways(relations, drawn(45, 16), drawn(groups, 16, 16))
    _grouped._PIECE_BYTES["cpu"] = 2**24
    both_ways(relations, drawn(45, 16).half(), drawn(groups, 16, 16).half(), tolerance=1e-2)
graphs = Graphs.from_edges([(0, 1), (1, 2), (3, 4), (4, 4), (5, 6), (6, 5)], edge_labels="abaaba", sizes=[3, 2, 2])
for direction in ("both", "in"):
    whole = Inputs.of(graphs, direction=direction, relations="targets")
    relations = Blocks(whole).take(torch.tensor([[0, 2], [1, -1]])).structure.relations
    assert relations.gather.blocks == 2
    both_ways(relations, drawn(2, 5, 3), drawn(2, relations.num_relations, 3, 4), mean=direction == "in")
print("equal")
"""


def test_kernels_give_the_products_of_the_cpu_in_the_interpreter(run_python):
    assert run_python(CHECK, TRITON_INTERPRET="1").strip() == "equal"
