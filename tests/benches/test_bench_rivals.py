import pytest

import edgnn
from benchmarks._rivals import plain_walks, rivals


def test_the_plain_walker_follows_edges():
    graphs = edgnn.Graphs.from_edges(
        [(0, 1), (1, 2), (1, 0), (3, 0)], edge_labels=["a", "b", "c", "a"]
    )
    walks = plain_walks(graphs, [0, 2, 3], depth=3, number=20)
    assert len(walks) == 60
    assert {tuple(walk) for walk in walks[:20]} == {(0, 0, 1, 1, 2), (0, 0, 1, 2, 0, 0, 1)}
    assert walks[20:40] == [[2]] * 20
    assert {walk[0] for walk in walks[40:]} == {3}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch_geometric.distributed` has been deprecated")
def test_every_rival_is_measured_beside_its_peer(data_dir):
    rows = list(rivals(data_dir=data_dir, quick=True))
    assert [row.peer for row in rows] == ["GraKeL"] * 2 + ["plain Python walker"] * 2 + [
        "PyG RGCNConv model",
        "PyG FastRGCNConv model",
    ]
    assert all(row.ours_s > 0 and row.peer_s > 0 for row in rows)
    assert all(row.extra["largest_difference"] < 1e-6 for row in rows[:2])
