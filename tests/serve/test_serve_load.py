import asyncio
import time

import httpx
import numpy as np
import pytest

from serve_runs import run_async, served


@pytest.mark.slow
def test_fifty_clients_at_once_are_all_served(mutag_run):
    async def client(address, number, times):
        async with httpx.AsyncClient(base_url=address, timeout=250) as own:
            for turn in range(4):
                started = time.perf_counter()
                answer = await own.post("/predict", json={"smiles": ["C" * (1 + (number + turn) % 9) + "O"]})
                times.append(time.perf_counter() - started)
                assert answer.status_code == 200, answer.text

    async def main(address):
        times = []
        await asyncio.gather(*(client(address, number, times) for number in range(50)))
        return times

    with served(mutag_run, "--seconds", "200") as (_, address):
        times = run_async(main(address))
        assert httpx.get(f"{address}/health", timeout=60).json() == {"status": "ok", "waiting": 0}
    assert len(times) == 200
    assert np.percentile(times, 95) < 100
