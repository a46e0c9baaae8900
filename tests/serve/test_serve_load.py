import asyncio
import json

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


def wide_table(columns):
    names = ",".join(f"c{number}" for number in range(columns))
    return f"source,target,{names}\na,b{',1' * columns}\n".encode()


def long_list(rows):
    return b"smiles\n" + b"C(\n" * rows


def large_document(nodes):
    links = [{"source": node, "target": (node + 1) % nodes} for node in range(nodes)]
    entries = [{"id": node, "label": "C"} for node in range(nodes)]
    return json.dumps({"directed": True, "nodes": entries, "links": links}).encode()


@pytest.mark.slow
def test_four_large_uploads_keep_no_prediction_waiting(mutag_run):
    uploads = [
        ("wide.csv", wide_table(40_000)),
        ("wider.csv", wide_table(60_000)),
        ("list.csv", long_list(9_000)),
        ("large.json", large_document(40_000)),
    ]

    async def main(address):
        async with httpx.AsyncClient(base_url=address, timeout=250) as client:
            sent = [
                asyncio.create_task(client.post("/predict/file", files=[("files", upload)]))
                for upload in uploads
            ]
            answered = 0
            while not all(task.done() for task in sent):
                answer = await client.post("/predict", json={"smiles": ["CCO"]})
                assert answer.status_code == 200, answer.text
                answered += 1
            assert answered
            return [(await task).status_code for task in sent]

    with served(mutag_run, "--seconds", "200") as (_, address):
        statuses = run_async(main(address))
    assert set(statuses) <= {200, 422}
