from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks import Row, Skipped
from benchmarks._serve import Load, serve


def test_percentiles_are_those_of_the_requests():
    load = Load([float(n) for n in range(101)], 2.0)
    assert (load.percentile(50), load.percentile(95), load.per_second) == (50.0, 95.0, 50.5)


def test_on_other_devices_nothing_is_measured():
    assert [type(row) for row in serve(device="cuda")] == [Skipped]


@pytest.mark.slow
def test_all_clients_are_answered():
    with ThreadPoolExecutor(1) as pool:  # where no browser keeps a loop of its own
        rows = pool.submit(lambda: list(serve(quick=True))).result()
    assert [isinstance(row, Row) for row in rows] == [True] * 3, rows
    assert [row.extra["requests"] for row in rows] == [2, 100, 50]
    assert all(row.ours_s >= row.extra["p50_s"] > 0 and row.peer_s > 0 for row in rows)
