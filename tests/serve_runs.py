"""Trained models small enough to serve in a test, and clients that ask them without a network."""

import asyncio
import contextlib
import json
import os
import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor

import edgnn
from edgnn.models import GraphClassifier, NodeClassifier
from edgnn.serve import create_app
from edgnn.training import RunFolder
from warm_python import warm_python

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # starlette asks for another HTTP library
    from fastapi.testclient import TestClient

_SOURCE = {
    "task": None,
    "target": [],
    "target_file": None,
    "regression": None,
    "options": {},
    "data_dir": None,
    "format": None,
}


def error(answer, status=422):
    """Return what an answer says is wrong."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    return answer.json()["error"]


def upload(client, path, files, **fields):
    """Send files as a form does."""
    return client.post(path, files=[("files", file) for file in files], data=fields)


def client_of(run, **options):
    return TestClient(
        create_app(run, **options), base_url="http://localhost", raise_server_exceptions=False
    )


def run_async(main):
    """Run a coroutine to its end, also where a browser keeps a loop of its own in this thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, main).result()


async def until_canceled():
    """Wait, as a server does for a client that neither says anything nor leaves."""
    await asyncio.Event().wait()


def make_mutag_run(path):
    data = edgnn.load_dataset("MUTAG")
    GraphClassifier(max_epochs=8, members=3, hidden=16, random_state=0).fit(
        data.graphs, data.targets
    ).save(path)
    RunFolder.open(path).update_config(
        class_names=["not mutagenic", "mutagenic"], source=_SOURCE | {"name": "MUTAG"}
    )
    return path


def make_people(folder):
    """A graph of thirty nodes in tables; all but the first ten have groups."""
    folder.mkdir()
    rows = "".join(f"p{n},person,{'xy'[n % 2] if n > 9 else ''}\n" for n in range(30))
    (folder / "nodes.csv").write_text("node,label,group\n" + rows)
    edges = [f"p{n},p{(n + 1) % 30},{'knows' if n % 2 else 'likes'}" for n in range(30)]
    (folder / "edges.csv").write_text("source,target,label\n" + "\n".join(edges) + "\n")
    return folder


def make_node_run(path, people):
    data = edgnn.load_dataset(people, node_target="group")
    NodeClassifier(max_epochs=60, hidden=8, random_state=0).fit(data.nodes, data.targets).save(path)
    source = _SOURCE | {"name": str(people), "target": ["group"], "format": "tables"}
    RunFolder.open(path).update_config(class_names=list(data.class_names), source=source)
    return path


@contextlib.contextmanager
def served(run, *words, python=None):
    """Run ``edgnn serve`` as a process of its own; give the process and the address it prints."""
    start = [python or warm_python(), "-m", "edgnn", "serve"]
    command = [*start, str(run), "--port", "0", "--json", *words]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            yield process, json.loads(line)["address"]
        finally:
            if process.poll() is None:
                process.kill()
