import asyncio

import httpx
import pytest

from serve_runs import run_async, served


@pytest.mark.slow
def test_fifty_clients_at_once_are_all_served(mutag_run):
    """How long they wait is for ``python -m benchmarks serve`` to say."""

    async def client(address, number):
        async with httpx.AsyncClient(base_url=address, timeout=250) as own:
            for turn in range(4):
                smiles = "C" * (1 + (number + turn) % 9) + "O"
                answer = await own.post("/predict", json={"smiles": [smiles]})
                assert answer.status_code == 200, answer.text
                assert [row["id"] for row in answer.json()["predictions"]] == [smiles]

    async def main(address):
        await asyncio.gather(*(client(address, number) for number in range(50)))

    with served(mutag_run, "--seconds", "200") as (_, address):
        run_async(main(address))
        assert httpx.get(f"{address}/health", timeout=60).json() == {"status": "ok", "waiting": 0}
