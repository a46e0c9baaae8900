import pytest
import torch
from hypothesis import given

import edgnn
from edgnn import wl
from edgnn.errors import GraphError
from strategies import graphs as random_graphs
from wl_reference import reference, same_partition


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("multiplicity", ["once", "per-edge"])
@pytest.mark.parametrize("scheme", ["node", "separate", "joint"])
@given(random_graphs())
def test_signatures_divide_nodes_as_refinement_does(scheme, multiplicity, direction, graphs):
    found = wl.signatures(graphs, 3, scheme, multiplicity=multiplicity, direction=direction)
    for hashes, colors in zip(
        found, reference(graphs, 3, scheme, multiplicity, direction), strict=True
    ):
        assert hashes.dtype == torch.int64
        assert same_partition(hashes.tolist(), colors)


def test_by_default_they_are_those_of_the_paper():
    graphs = edgnn.Graphs.from_edges(
        [(0, 1), (1, 2), (0, 1)], node_labels=list("aab"), edge_labels=list("xyx")
    )
    written_out = wl.signatures(graphs, 2, "separate", multiplicity="once", direction="both")
    assert all(map(torch.equal, wl.signatures(graphs, 2), written_out))


def test_signatures_of_a_graph_do_not_depend_on_its_company():
    graphs = edgnn.load_dataset("MUTAG").graphs
    alone = wl.signatures(graphs[7], 3)
    start, end = graphs.graph_offset[7:9].tolist()
    for one, all_ in zip(alone, wl.signatures(graphs, 3), strict=True):
        assert torch.equal(one, all_[start:end])


def test_a_wrong_direction_is_refused():
    with pytest.raises(GraphError, match="direction='out': choose 'both' or 'in'"):
        wl.signatures(edgnn.Graphs.from_edges([(0, 1)]), 1, direction="out")
