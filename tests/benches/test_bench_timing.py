import time

import pytest
import torch

from benchmarks import copy_bandwidth
from benchmarks._timing import (
    Missing,
    Timed,
    arithmetic,
    exact_float32,
    extra_bytes,
    race,
    timed,
    tried,
)
from edgnn.errors import EdgnnError


def test_calls_run_in_turns_after_one_to_warm_up():
    seen = []
    first, second = race(
        [lambda: lambda: seen.append("a"), lambda: lambda: seen.append("b")], repeats=3
    )
    assert seen == ["a", "b"] * 4
    assert isinstance(first, Timed)
    assert isinstance(second, Timed)


def test_medians_leave_out_the_warm_up_and_single_slow_turns(monkeypatch):
    now, waits = [0.0], iter([2.0, 0.25, 2.0, 0.5])

    def wait():
        now[0] += next(waits)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    (result,) = race([lambda: wait], repeats=3)
    assert result.seconds == 0.5


def test_slow_calls_end_after_three_turns():
    calls = []
    race([lambda: lambda: (calls.append(1), time.sleep(0.01))], repeats=100, budget_s=0.02)
    assert len(calls) == 1 + 3


def lacks_memory():
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 264.00 GiB")


def lacks_memory_on_cpu():
    raise RuntimeError(
        "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 264 bytes"
    )


def lacks_a_package():
    import no_such_package.inside  # noqa: F401


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lacks_memory, "out of memory on cpu"),
        (lacks_memory_on_cpu, "out of memory on cpu"),
        (lacks_a_package, "no_such_package is not installed"),
        (lambda: lacks_memory, "out of memory on cpu"),
    ],
)
def test_what_cannot_run_says_why_and_the_others_go_on(build, reason):
    ours, peer = race([lambda: lambda: None, build], repeats=2)
    assert isinstance(ours, Timed)
    assert peer == Missing(reason)


def test_a_call_that_fails_late_is_left_out_from_then_on():
    calls = []

    def late():
        calls.append(1)
        if len(calls) == 4:
            lacks_memory()

    ours, peer = race([lambda: lambda: None, lambda: late], repeats=5)
    assert isinstance(ours, Timed)
    assert peer == Missing("out of memory on cpu")
    assert len(calls) == 4


def test_a_mistake_in_a_call_is_told_by_its_first_line_and_is_no_lack_of_memory():
    def wrong():
        raise RuntimeError("shapes do not match\nand much more")

    assert tried(wrong, "cpu") == Missing("RuntimeError: shapes do not match", failed=True)
    ours, peer = race([lambda: lambda: None, lambda: wrong], repeats=2)
    assert isinstance(ours, Timed)
    assert peer.failed
    assert not tried(lacks_memory, "cpu").failed
    assert not tried(lacks_a_package, "cpu").failed


def test_our_own_errors_are_told_as_they_are_and_errors_without_words_by_their_kind():
    def ours():
        raise EdgnnError("node 7 is missing: add it")

    def silent():
        raise AssertionError

    assert tried(ours, "cpu") == Missing("node 7 is missing: add it", failed=True)
    assert tried(silent, "cpu") == Missing("AssertionError", failed=True)


def test_an_interruption_is_no_failure_of_a_row():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tried(interrupted, "cpu")


def test_products_are_timed_without_tf32_and_the_setting_comes_back():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        seen = []
        race([lambda: lambda: seen.append(torch.get_float32_matmul_precision())], repeats=1)
        timed(lambda: seen.append(torch.get_float32_matmul_precision()))
        assert set(seen) == {"highest"}
        assert torch.get_float32_matmul_precision() == "high"
        assert arithmetic()["float32_matmul_precision"] == "highest"
        assert arithmetic()["allow_tf32"] is False
        with pytest.raises(ValueError, match="in between"), exact_float32():
            raise ValueError("in between")
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)


def test_copying_is_counted_both_ways(monkeypatch):
    monkeypatch.setattr("benchmarks._timing._clock", lambda function, device: 0.5)
    assert copy_bandwidth("cpu", 2**20) == 2 * 2**20 / 0.5


def test_memory_of_a_call_is_unknown_on_the_cpu():
    calls = []
    assert extra_bytes(lambda: calls.append(1), "cpu") is None


class Stream:
    now = 0.0


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self, stream):
        self.at = stream.now

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1e3 * (end.at - self.at)


@pytest.fixture
def stand_in(monkeypatch):
    """A device whose clock and memory are moved by hand."""
    stream, memory = Stream(), {"now": 100, "peak": 0}
    cuda = {
        "synchronize": lambda device: None,
        "empty_cache": lambda: None,
        "current_stream": lambda device: stream,
        "Event": Event,
        "memory_allocated": lambda device: memory["now"],
        "reset_peak_memory_stats": lambda device: memory.update(peak=memory["now"]),
        "max_memory_allocated": lambda device: memory["peak"],
    }
    for name, function in cuda.items():
        monkeypatch.setattr(f"torch.cuda.{name}", function)
    return stream, memory


def test_on_cuda_the_device_tells_the_time_and_memory_is_that_of_a_second_call_without_gradients(
    stand_in,
):
    stream, memory = stand_in

    class Call:
        times = 0

        def __call__(self):
            self.times += 1
            self.clear()
            memory["peak"] = max(memory["peak"], memory["now"] + (5_000 if self.times == 1 else 70))
            memory["now"] += 30
            stream.now += 0.25

        def clear(self):
            memory["now"] = 100

    (result,) = race([Call], repeats=3, device="cuda")
    assert result == Timed(0.25, 70)


@pytest.mark.gpu
def test_cuda_counts_time_and_memory_of_a_call():
    def build():
        return lambda: torch.ones(2**20, device="cuda").sum()

    (result,) = race([build], repeats=3, device="cuda")
    assert result.seconds > 0
    assert result.extra_bytes >= 4 * 2**20
    assert copy_bandwidth("cuda") > 1e10
