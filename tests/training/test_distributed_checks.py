import itertools
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier, get_ident

import numpy as np
import pytest
import torch
from hypothesis import given

import rank_cases
import rank_checks
from benchmarks._shard_cost import ShardSize
from edgnn import Structure
from edgnn.errors import TrainingError
from edgnn.io import open_structure, write_structure
from edgnn.nn import BatchNorm, LargeInputs
from edgnn.training import Group, launched, train
from edgnn.training._shard import bounds, shard
from strategies import graphs


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    out = tmp_path_factory.mktemp("ranks") / "found.json"
    ended = rank_cases.run([rank_checks.__file__], 2, "main", out, FOLDER=str(out.parent))
    assert ended.returncode == 0, ended.stderr
    return json.loads(out.read_text())


@pytest.mark.slow
def test_rank_0_decides_for_all_and_its_errors_end_all(found):
    assert found["ends"] == [3, 3]
    assert found["failing_hook"] == [
        "ZeroDivisionError: on purpose",
        "TrainingError: rank 0 ended with an error of its own, which it tells",
    ]
    assert found["interrupted"] == ["[1, 2]", "[1, 2]"]


@pytest.mark.slow
def test_all_ranks_go_on_from_what_rank_0_has(found):
    assert found["resumed"] is True
    assert found["no_state"] is True


@pytest.mark.slow
def test_mixed_precision_keeps_ranks_together(found):
    assert found["bfloat16"] == [True, True]


@pytest.mark.slow
def test_parts_of_mapped_graphs_are_those_of_graphs_in_memory(found):
    same_losses, same_weights, difference = found["mapped"]
    assert same_losses
    assert same_weights
    assert difference < 1e-5


class Alone:
    """One of several ranks, of which the others ask for nothing."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size

    def numbers(self, own, sent):
        return own[:0], [0] * self.size


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="what is mapped is told by /proc")
def test_a_rank_reads_its_own_part_of_a_mapped_structure_only(tmp_path):
    nodes, edges = 200_000, 2_500_000
    graphs = rank_cases.random_graphs([nodes], edges)
    write_structure(graphs, tmp_path / "some.structure")
    inputs = LargeInputs.of(graphs, open_structure(tmp_path / "some.structure"))
    part, (first, last) = shard(inputs, Alone(1, 4))
    assert 0.2 * nodes < last - first < 0.3 * nodes
    assert part.structure.neighbors.nnz == int(inputs.structure.degree[first:last].sum())
    held, size = resident(tmp_path / "some.structure" / "neighbors_indices.npy")
    assert 0.2 * size < held < 0.25 * size + 2 * 2**21  # the system may map 2 MiB at a time


def resident(path):
    """Return how many bytes of a mapped file this process has before it, and how many there are."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        if line.endswith(str(path)):
            return next(
                1024 * int(detail.split()[1]) for detail in lines if detail.startswith("Rss:")
            ), path.stat().st_size
    raise AssertionError(f"{path} is not mapped")


@pytest.mark.slow
def test_what_cannot_be_spread_and_a_lost_rank_are_told(found):
    assert (
        found["too_many"]
        == "1 nodes cannot be spread over 2 ranks: launch fewer (torchrun --nproc-per-node)"
    )
    assert found["lost"].startswith("another rank ended, or did not answer in time")
    assert "--resume" in found["lost"]


@pytest.mark.slow
@pytest.mark.skipif(
    sys.gettrace() is not None, reason="what traces the program takes memory of its own"
)
def test_costs_are_those_of_the_formulas(found):
    for predicted, measured in found["costs"]:
        for name in ("states_sent", "states_received", "summed"):
            assert predicted[name] == measured[name]
        assert measured["constants"] == pytest.approx(predicted["constants"], rel=1e-3)
        if measured["states"] is not None:
            assert measured["states"] == pytest.approx(predicted["states"], rel=0.15)


@pytest.mark.slow
def test_ranks_that_were_joined_by_hand_train_too(tmp_path):
    ended = rank_cases.run([rank_checks.__file__], 2, "by_hand", tmp_path / "losses.json")
    assert ended.returncode == 0, ended.stderr
    alone = rank_cases.losses(train(*rank_cases.graph_case()))
    assert np.allclose(json.loads((tmp_path / "losses.json").read_text()), alone, rtol=1e-5, atol=0)


def test_one_process_is_no_group(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert Group.current() is None
    with launched() as group:
        assert group is None
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with launched() as group:
        assert group is None
    assert not torch.distributed.is_initialized()


def test_ranks_that_cannot_meet_are_told(monkeypatch):
    told = {
        "TORCHELASTIC_RUN_ID": "none",
        "WORLD_SIZE": "2",
        "RANK": "1",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "1",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(TrainingError, match="rank 1 of 2 could not join the others at localhost:1"),
        launched(timeout=0.5),
    ):
        pass


def test_what_torch_lacks_is_told(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(torch.distributed, "is_gloo_available", lambda: False)
    with pytest.raises(TrainingError, match="built without gloo"), launched():
        pass


def test_a_rank_has_a_device_of_its_own():
    group = Group(rank=70, size=80, local_rank=70)
    assert group.device("cpu") == torch.device("cpu")
    assert group.device("cuda:3") == torch.device("cuda", 3)
    with pytest.raises(TrainingError, match="rank 70 is number 70 on its machine, which has"):
        group.device("cuda")


def test_a_share_of_a_batch_is_never_without_columns():
    items = torch.arange(10).view(2, 5)
    shares = [Group(rank, 4).deal(items) for rank in range(4)]
    assert [share.tolist() for share in shares] == [
        [[0, 4], [5, 9]],
        [[1], [6]],
        [[2], [7]],
        [[3], [8]],
    ]
    assert Group(3, 4).deal(items[:, :2]).tolist() == [[-1], [-1]]


@given(graphs(max_nodes=40))
def test_bounds_give_every_rank_rows_and_about_the_same_work(sample):
    neighbors = Structure.of(sample).neighbors
    nodes, work = neighbors.shape[0], neighbors.indptr.diff() + 1
    for ranks in range(1, min(nodes, 6) + 1):
        limits = bounds(neighbors, ranks)
        assert (limits[0], limits[-1], len(limits)) == (0, nodes, ranks + 1)
        assert all(start < stop for start, stop in itertools.pairwise(limits))
        if nodes >= 4 * ranks and ranks > 1:
            heaviest = max(
                int(work[start:stop].sum()) for start, stop in itertools.pairwise(limits)
            )
            assert heaviest <= int(work.sum()) / ranks + 2 * int(work.max()) + ranks


class Meeting:
    """Two threads that add up their tensors in turn, as ranks do."""

    def __init__(self):
        self.barrier, self.parts = Barrier(2), {}

    def sum_(self, tensor):
        self.parts[get_ident()] = tensor.clone()
        self.barrier.wait(60)
        total = sum(self.parts.values())
        self.barrier.wait(60)
        return tensor.copy_(total)


def test_batch_norm_of_a_batch_in_two_parts_is_that_of_the_whole():
    torch.manual_seed(0)
    x, grad, meeting = (
        torch.randn(2, 7, 3, dtype=torch.float64),
        torch.randn(2, 7, 3, dtype=torch.float64),
        Meeting(),
    )
    mask = torch.tensor([[1, 1, 1, 1, 0, 1, 1], [1, 0, 1, 1, 1, 1, 0]], dtype=torch.float64)

    def normalized(rows, over_ranks=None):
        norm, states = BatchNorm(3, members=2).double(), x[:, rows].clone().requires_grad_()
        norm.over_ranks = over_ranks
        result = norm(states, mask[:, rows])
        (result * mask[:, rows, None]).backward(grad[:, rows])
        return result.detach(), states.grad, norm

    result, of_states, whole = normalized(slice(None))
    with ThreadPoolExecutor(2) as pool:
        parts = list(
            pool.map(lambda rows: normalized(rows, meeting.sum_), (slice(0, 4), slice(4, 7)))
        )
    assert torch.allclose(torch.cat([part[0] for part in parts], dim=1), result)
    assert torch.allclose(torch.cat([part[1] for part in parts], dim=1), of_states)
    assert torch.allclose(sum(part[2].weight.grad for part in parts), whole.weight.grad)
    for _, _, norm in parts:
        assert torch.allclose(norm.running_mean, whole.running_mean)
        assert torch.allclose(norm.running_var, whole.running_var)


def test_costs_grow_with_what_they_depend_on():
    small = ShardSize(rows=1000, halo=200, sent=300, entries=8000)
    assert small.states == 4 * 64 * (4 * 1000 + 200 + 1000)
    assert replace(small, sent=2000).states == 4 * 64 * (4 * 1000 + 200 + 2000)
    assert replace(small, dropping=True, layers=3, at_once=2).states == 2 * 4 * 64 * (
        9 * 1000 + 200 + 1000
    )
    assert small.states_sent == 4 * 64 * (2 * 300 + 200)
    assert replace(small, layers=1).states_sent == 0
    assert replace(small, validated=False, members=3).states_received == 3 * 4 * 64 * (200 + 300)
