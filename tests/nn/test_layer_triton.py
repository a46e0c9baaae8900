import pytest
import torch

from edgnn.graphs import Graphs, Structure
from edgnn.nn import EdGNNConv, GNNConv

pytest.importorskip("triton")

CHECK = """
import torch
from edgnn.graphs import Graphs, Structure
from edgnn.nn.ops import _layer, _row_sum, _layer_triton
from edgnn.nn.ops._layer_triton import products, weight_gradients

generator = torch.Generator().manual_seed(0)
normal = lambda *shape: torch.randn(*shape, generator=generator)
for rows, sizes, width in ((150, (7, 7, 1), 5), (40, (70,), 64), (129, (16, 33, 64, 5), 80)):
    parts, weights = [normal(rows, size) for size in sizes], [normal(size, width) for size in sizes]
    bias, addend = normal(width), normal(rows, width)
    expected = sum(part @ weight for part, weight in zip(parts, weights))
    torch.testing.assert_close(products(parts, weights), expected, rtol=1e-4, atol=1e-4)
    turned = [weight.T.contiguous().T for weight in weights]
    torch.testing.assert_close(products(parts, turned, addend, bias), expected + addend + bias, rtol=1e-4, atol=1e-4)
    first, second = normal(rows, width), normal(rows, width)
    pairs = [(parts[0], first), (parts[0], second), *((part, first) for part in parts)]
    pairs += [(counts, first) for counts in torch.randint(0, 200, (2, rows, 9), generator=generator, dtype=torch.uint8)]
    gradients, sums = weight_gradients(pairs)
    torch.testing.assert_close(sums, first.sum(0), rtol=1e-4, atol=1e-4)
    for found, (part, gradient) in zip(gradients, pairs, strict=True):
        torch.testing.assert_close(found, part.float().T @ gradient, rtol=1e-4, atol=1e-3)
    counts, weight = pairs[-1][0], normal(9, width)
    torch.testing.assert_close(products([counts], [weight]), counts.float() @ weight, rtol=1e-5, atol=1e-4)
_row_sum._on_device = _layer._on_device = lambda device: True
from edgnn.nn import EdGNNConv
graphs = Graphs.from_edges(torch.randint(0, 30, (90, 2), generator=generator), num_nodes=33, edge_labels=list("abc") * 30)
for options in ({}, {"multiplicity": "per-edge"}, {"direction": "in"}):
    structure = Structure.of(graphs, **options)
    members = None if options else 1
    conv = EdGNNConv(6, 9, 3, bias=True, direction=structure.direction, multiplicity=None, members=members)
    x = normal(33, 6)[None if members else slice(None)].requires_grad_()
    _layer._LEAST_ROWS, _layer._NARROWEST = 1, 0
    assert _layer.fits_layer(x, structure, (6, 9))
    results = []
    for least in (1, 10**9):
        _layer._LEAST_ROWS = least
        result = conv(x, structure)
        inputs = [x, *conv.parameters()]
        first = torch.autograd.grad(result.square().sum(), inputs, retain_graph=True)
        slopes = torch.autograd.grad(result.square().sum(), inputs, create_graph=True)
        penalty = sum(slope.square().mean() for slope in slopes)
        results.append([result, *first, *slopes, *torch.autograd.grad(penalty, inputs)])
    for one, other in zip(*results):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4 * max(1, float(other.detach().abs().max())))
print("equal")
"""


def test_kernels_give_plain_products_in_the_interpreter(run_python):
    assert run_python(CHECK, TRITON_INTERPRET="1").strip() == "equal"


def random_graphs(nodes, edges, labels):
    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(0, nodes, (edges, 2), generator=generator)
    return Graphs.from_edges(
        ends,
        num_nodes=nodes,
        edge_labels=torch.randint(0, labels, (edges,), generator=generator).tolist(),
    )


@pytest.mark.gpu
@pytest.mark.parametrize("labels", [3, 700])
@pytest.mark.parametrize("kind", [GNNConv, EdGNNConv])
@pytest.mark.parametrize(
    ("in_dim", "out_dim"),
    [(64, 64), (16, 40), (100, 130), (64, 16), (16, 16), (24, 33), (256, 256)],
)
@pytest.mark.parametrize("direction", ["both", "in"])
def test_cuda_layers_give_what_the_cpu_gives(kind, labels, in_dim, out_dim, direction):
    graphs = random_graphs(10_000, 50_000, labels)
    # smooth, as second derivatives jump where rounding decides on which side of a kink a state lies
    conv = kind(in_dim, out_dim, labels, bias=True, direction=direction, activation="tanh")
    x = torch.randn(10_000, in_dim, generator=torch.Generator().manual_seed(1))
    found = []
    for device in ("cpu", "cuda"):
        structure = Structure.of(graphs.to(device), direction=direction)
        states = x.to(device).requires_grad_()
        result = conv.to(device)(states, structure)
        inputs = [states, *conv.parameters()]
        gradients = torch.autograd.grad(result.square().sum(), inputs, create_graph=True)
        penalty = sum(gradient.square().mean() for gradient in gradients)
        second = torch.autograd.grad(penalty, inputs)
        found.append([part.cpu() for part in (result, *gradients, *second)])
    for cpu, cuda in zip(*found, strict=True):
        torch.testing.assert_close(
            cuda, cpu, rtol=1e-4, atol=1e-4 * float(cpu.detach().abs().max())
        )


@pytest.mark.gpu
def test_cuda_products_have_the_error_of_float32():
    from edgnn.nn.ops._layer_triton import products, weight_gradients

    generator = torch.Generator("cuda").manual_seed(0)
    x, upstream = torch.randn(2, 50_000, 64, device="cuda", generator=generator)
    counts = torch.randint(0, 256, (50_000, 64), device="cuda", generator=generator).to(torch.uint8)
    W1, W3 = torch.randn(2, 64, 64, device="cuda", generator=generator)
    assert not torch.backends.cuda.matmul.allow_tf32

    def errors(ours, theirs, exact):
        return float((ours - exact).abs().max()), float((theirs - exact).abs().max())

    exact = x.double() @ W1.double() + counts.double() @ W3.double()
    ours, theirs = errors(products([x, counts], [W1, W3]), x @ W1 + counts.float() @ W3, exact)
    assert ours < 2 * theirs
    for part in (x, counts):
        (found,), _ = weight_gradients([(part, upstream)])
        ours, theirs = errors(found, part.float().T @ upstream, part.double().T @ upstream.double())
        assert ours < 2 * theirs


@pytest.mark.gpu
def test_cuda_layers_give_the_same_bits_every_time():
    structure = Structure.of(random_graphs(10_000, 50_000, 3).to("cuda"))
    conv, x = (
        EdGNNConv(64, 64, 3).cuda(),
        torch.randn(10_000, 64, device="cuda", requires_grad=True),
    )
    first, *others = (
        torch.autograd.grad(conv(x, structure).square().sum(), [x, *conv.parameters()])
        for _ in range(3)
    )
    assert all(
        torch.equal(one, other) for parts in others for one, other in zip(first, parts, strict=True)
    )


@pytest.mark.gpu
def test_cuda_layers_work_in_mixed_precision():
    structure = Structure.of(random_graphs(10_000, 50_000, 3).to("cuda"))
    conv, x = (
        EdGNNConv(64, 64, 3, bias=True).cuda(),
        torch.randn(10_000, 64, device="cuda", requires_grad=True),
    )
    exact = conv(x, structure)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        rough = conv(x, structure)
    assert rough.dtype == torch.bfloat16  # Triton's interpreter does not multiply these
    torch.testing.assert_close(rough.float(), exact, rtol=0.05, atol=0.3)
    rough.float().square().sum().backward()
    assert conv.W1.grad.dtype == x.grad.dtype == torch.float32
