import pytest
import torch

from benchmarks import Row, Skipped
from benchmarks._order import KINDS, order, shuffled_graph


def test_every_graph_is_timed_in_both_orders(data_dir):
    seen = list(order(data_dir=data_dir, quick=True))
    timed = [row for row in seen if isinstance(row, Row)]
    assert len(timed) + len([row for row in seen if isinstance(row, Skipped)]) == len(seen)
    assert len(timed) == 2 * (len(KINDS) + 2)
    assert all(
        row.ours == "reordered" and row.peer == "as numbered" and row.peer_s > 0 for row in timed
    )
    assert all(row.extra["reordering_s"] > 0 for row in timed)


def test_sets_that_are_not_here_are_said_to_be_missing(monkeypatch):
    monkeypatch.setattr("benchmarks._order.folder_of", lambda name, data_dir: None)
    assert [row.what for row in order(quick=True) if isinstance(row, Skipped)] == [
        "AIFB",
        "MUTAG-RDF",
    ]


@pytest.mark.parametrize("kind", list(KINDS))
def test_only_graphs_with_neighborhoods_can_be_put_close(kind):
    graphs = shuffled_graph(kind, 2_500)
    apart = [
        float((g.edge_source - g.edge_target).abs().double().mean())
        for g in (graphs, graphs.reordered().graphs)
    ]
    assert apart[0] > 700
    assert (apart[1] < 0.85 * apart[0]) == (kind != "uniform")


@pytest.mark.parametrize("kind", list(KINDS))
def test_made_up_graphs_are_the_same_every_time(kind):
    assert shuffled_graph(kind, 900).equals(shuffled_graph(kind, 900))
    assert int(torch.cat([(g := shuffled_graph(kind, 900)).edge_source, g.edge_target]).max()) < 900
