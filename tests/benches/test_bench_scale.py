import mmap
import signal
import sys
import time
from functools import partial

import numpy as np
import pytest
import torch

from benchmarks import Row, Skipped, _scale, _scale_files
from benchmarks._extra_memory import most_held
from benchmarks._formulations import Size
from benchmarks._harness import as_far_as_it_goes, printed_by
from benchmarks._product import gathered_bytes
from benchmarks._scale import CPU, CUDA, QUICK, plot, scale
from benchmarks._scale_epochs import epoch_row
from benchmarks._scale_files import _WAYS, _count_to_files, file_rows, measured
from benchmarks._scale_ranks import ranks_row
from benchmarks._scale_sampled import PlainHops, sampled_rows
from benchmarks._wl import random_digraph
from edgnn import Structure
from edgnn.errors import EdgnnError
from edgnn.io import write_arrays
from edgnn.nn.ops import Sampler, neighbor_sum

SMALL = Size(60, 600, 4, 8)


def test_epochs_are_timed_with_the_bytes_that_their_products_gather():
    row = epoch_row(SMALL, 1.0, 3, "cpu", copy=1e9)
    matrix = Structure.of(random_digraph(60, 600, labels=4)).neighbors
    assert row.traffic.bytes == 2 * gathered_bytes(matrix, 8, 4)
    assert row.traffic.bytes_per_s == pytest.approx(row.traffic.bytes / row.ours_s)
    assert (row.points, row.memory) == ({"edges (10 per node, width 8)": 600}, None)
    assert row.what.endswith("all nodes labeled")


def test_epochs_of_a_few_labeled_nodes_are_no_point_of_the_curve():
    row = epoch_row(SMALL, 0.1, 2, "cpu", copy=1e9, goal="memory ≤ 139 GiB")
    assert row.what.endswith("10 % of all nodes labeled")
    assert (row.points, row.met) == ({}, None)


def test_the_plain_sampler_gives_layers_what_ours_does():
    structure = Structure.of(random_digraph(60, 600, labels=4))
    states, rows = torch.randn(60, 8), torch.tensor([5, 3, 40])
    for fanout in (100, 4):
        ours, plain = (kind(structure).hop(rows, fanout, key=1) for kind in (Sampler, PlainHops))
        assert torch.equal(plain.nodes[:3], rows)
        assert torch.equal(plain.C_in, ours.C_in)
        assert torch.equal(plain.neighbors.indptr, ours.neighbors.indptr)
        whole = [neighbor_sum(states[hop.nodes], hop) for hop in (ours, plain)]
        assert torch.allclose(*whole, atol=1e-5) == (fanout == 100)
    total = [plain.neighbors.values[start:stop].sum() for start, stop in ((0, 4), (4, 8), (8, 12))]
    torch.testing.assert_close(torch.stack(total), structure.degree[rows].float())


def test_sampling_and_sampled_training_are_told_in_seeds_per_second():
    drawn, trained = sampled_rows(QUICK.sampling, "cpu")
    assert (drawn.ours, drawn.peer) == ("neighbors drawn", "plain Python sampler")
    assert (trained.ours, trained.peer) == (
        "sampled training",
        "the same with a plain Python sampler",
    )
    for row in (drawn, trained):
        assert row.unit == "seeds/s"
        assert row.ratio == pytest.approx(row.ours_s / row.peer_s)
        assert "batches of 64, fan-out 3 × 3" in row.what
    assert drawn.ours_s > trained.ours_s


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_scale_files, "return_memory_at_once", lambda: None)
    write_arrays(random_digraph(500, 5_000, labels=4), tmp_path / "graphs")
    return str(tmp_path)


def test_all_ways_to_infer_compute_the_same_outputs(folder):
    size = Size(500, 5_000, 4, 8)
    _count_to_files(folder, 2**20, size)()
    results = []
    for way in ("layers-of-files", "layers", "whole"):
        torch.manual_seed(0)
        results.append(_WAYS[way](folder, 2**20, size)())
    assert results[0].shape == (500, 8)
    torch.testing.assert_close(results[0], results[2], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(results[1], results[2], rtol=1e-4, atol=1e-4)


def test_reading_into_memory_reads_every_array_of_graph_and_structure(folder):
    size = Size(500, 5_000, 4, 8)
    _count_to_files(folder, 2**20, size)()
    structure = Structure.of(random_digraph(500, 5_000, labels=4))
    read = _WAYS["load"](folder, 2**20, size)()
    least = (
        structure.neighbors.nbytes
        + structure.C_in.nbytes
        + structure.C_out.nbytes
        + 8 * (500 + 3 * 5_000)
    )
    assert sum(part.nbytes for part in read) == least


def test_rows_of_files_have_a_peer_in_time_and_memory(monkeypatch):
    monkeypatch.setattr(_scale_files, "return_memory_at_once", lambda: None)
    ways = []

    def in_this_process(code, way, folder, memory, *numbers):
        ways.append(way)
        return measured(way, folder, int(memory), Size(*map(int, numbers)))

    monkeypatch.setattr(_scale_files, "measure_alone", in_this_process)
    rows = list(file_rows(Size(500, 5_000, 4, 8), 2**20))
    assert [(row.ours, row.peer) for row in rows] == [
        ("write_structure, memory 1 MiB", "Structure.of"),
        ("mapped", "read into memory"),
        ("layer by layer, mapped graph, memory 1 MiB", "whole graph at once"),
        ("layer by layer", "whole graph at once"),
    ]
    assert all(row.ours_s > 0 and row.memory.peer is not None for row in rows)
    assert sorted(ways) == sorted(_WAYS)


def test_a_way_that_fails_leaves_the_other_rows(monkeypatch):
    def fails(code, way, *words):
        if way == "layers-of-files":
            raise EdgnnError("a process of its own failed: wrong")
        return {"seconds": 1.0, "bytes": 2**20}

    monkeypatch.setattr(_scale_files, "measure_alone", fails)
    rows = list(file_rows(SMALL, 2**20))
    assert [isinstance(row, Row) for row in rows] == [True, True, False, True]
    assert rows[2].failed


def test_memory_of_its_own_is_counted_and_mapped_files_are_not(tmp_path):
    def hold(make):
        array = make()
        time.sleep(0.03)
        return array

    def fresh():  # not from memory that was freed before
        pages = mmap.mmap(-1, 2**27, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        np.frombuffer(pages, dtype=np.uint8)[:] = 1
        return pages

    held, result = most_held(partial(hold, fresh))
    assert len(result) == 2**27
    assert held > 96 * 2**20  # less than all: systems may count late
    np.ones(2**24).tofile(tmp_path / "file")
    held, total = most_held(partial(hold, lambda: np.memmap(tmp_path / "file", mode="r").sum()))
    assert total > 0
    assert held < 32 * 2**20


def test_what_a_process_of_its_own_ends_with_is_told():
    run = [sys.executable, "-c"]
    assert printed_by([*run, "print('words'); print('{\"bytes\": 3}')"]) == {"bytes": 3}
    with pytest.raises(EdgnnError, match="ValueError: no such size"):
        printed_by([*run, "raise ValueError('no such size')"])
    with pytest.raises(MemoryError):
        printed_by([*run, f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"])


def test_rows_before_an_error_are_kept_and_what_follows_is_told():
    def rows():
        yield Row("first", 1.0)
        raise RuntimeError("shapes do not match")

    assert list(as_far_as_it_goes("the rest", rows(), "cpu")) == [
        Row("first", 1.0),
        Skipped("the rest", "RuntimeError: shapes do not match", failed=True),
    ]


@pytest.mark.slow
def test_two_processes_train_as_one_does_and_exchange_what_the_formula_says():
    row = ranks_row(QUICK.ranks, epochs=3)
    assert row.extra["bytes_exchanged"] == row.extra["bytes_predicted"] > 0
    assert row.extra["largest_loss_difference"] < 1e-5
    assert (row.peer, row.ours) == ("one process", "2 processes (gloo), exact")


def test_bench_scale_goes_through_all_parts_and_an_error_in_one_leaves_the_others(monkeypatch):
    def wrong(plan, device):
        raise RuntimeError("shapes do not match")
        yield

    monkeypatch.setattr(_scale, "sampled_rows", wrong)
    monkeypatch.setattr(_scale, "file_rows", lambda size, memory: iter([Row("files", 1.0)]))
    monkeypatch.setattr(_scale, "ranks_row", lambda size, epochs: Row("ranks", 1.0))
    rows = list(scale(quick=True))
    assert [row.what for row in rows[3:]] == ["the rest of: sampled batches", "files", "ranks"]
    assert [getattr(row, "failed", False) for row in rows] == [False] * 3 + [True] + [False] * 2
    svg = plot(rows)
    assert svg.count('class="chart"') == 1
    assert svg.count("<polyline") == 1
    assert plot(rows[3:]) == ""


def test_the_runs_that_are_published_have_the_sizes_that_were_asked_for():
    assert CUDA.edges == (1_000_000, 10_000_000, 100_000_000)
    assert (CUDA.labeled, CUDA.goal) == ((1.0, 0.1), "memory ≤ 139 GiB")
    for plan in (CPU, CUDA):
        assert (
            str(plan.sampling)
            == "1M nodes, 10M edges, 64 relations, batches of 1,024, fan-out 10 × 10"
        )
    assert (CPU.files.edges, CPU.ranks.edges) == (10_000_000, 1_000_000)
