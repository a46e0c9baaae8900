"""The plain form of every layer, which exported programs run, against the form that is trained."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.graphs import Structure, known_labels
from edgnn.nn import COUNTED_LABELS, Edges, LayerKind, OneHot
from edgnn.registry import LAYERS
from strategies import graphs

MEMBERS = 2


def layer_and_edges(conv, collection, width, direction="both", multiplicity="once", bias=False):
    """Return a layer for the graphs, its kind, and their edges as plain tensors."""
    kind, labels = LayerKind.of(conv), known_labels(collection.edge_vocabulary)
    features = collection.edge_features
    layer = kind.cls(
        width,
        5,
        labels,
        **kind.options,
        edge_features=features.shape[1] if features is not None and kind.reads_labels else 0,
        direction=direction,
        multiplicity=multiplicity,
        bias=bias,
        members=MEMBERS,
    ).double()
    edges = Edges(
        collection.edge_source,
        collection.edge_target,
        collection.edge_label,
        None if features is None else features.double(),
        collection.num_nodes,
        labels=labels,
        direction=direction,
        once=multiplicity == "once",
        dtype=torch.float64,
    )
    return layer, kind, edges


@pytest.mark.parametrize("conv", tuple(LAYERS))
@given(
    graphs(),
    st.sampled_from(["both", "in"]),
    st.sampled_from(["once", "per-edge"]),
    st.booleans(),
)
def test_plain_form_gives_what_the_layer_gives(conv, collection, direction, multiplicity, bias):
    layer, kind, edges = layer_and_edges(conv, collection, 3, direction, multiplicity, bias)
    options = {"direction": direction, "multiplicity": multiplicity, "dtype": torch.float64}
    structure = Structure.of(collection, relations=kind.relations, **options)
    x = torch.randn(MEMBERS, collection.num_nodes, 3, dtype=torch.float64)
    torch.testing.assert_close(layer.plain_forward(x, edges), layer(x, structure))


@pytest.mark.parametrize("conv", ["edgnn", "gnn", "joint", "rgcn"])
@given(graphs())
def test_one_hot_rows_give_what_their_matrix_gives(conv, collection):
    width = COUNTED_LABELS + 2
    layer, _, edges = layer_and_edges(conv, collection, width)
    x = OneHot(collection.node_label.clamp(max=width), width)
    dense = x.dense(torch.float64).expand(MEMBERS, -1, -1)
    torch.testing.assert_close(layer.plain_forward(x, edges), layer.plain_forward(dense, edges))
