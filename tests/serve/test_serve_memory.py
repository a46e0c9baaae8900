"""Memory that large requests took goes back to the system."""

import json
import re
import sys
import time
from pathlib import Path

import httpx
import pytest

from serve_runs import served

MEBIBYTE = 2**20


def held(process):
    """Return the bytes that a process holds beside its files."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return 1024 * int(re.search(r"RssAnon:\s*(\d+)", status)[1])


def large_digraph(nodes):
    """Return the node-link document of a digraph with as many edges as nodes."""
    links = [
        {"source": node, "target": (7 * node + 1) % nodes, "label": "single"}
        for node in range(nodes)
    ]
    entries = [{"id": node, "label": "C"} for node in range(nodes)]
    document = {"directed": True, "multigraph": True, "nodes": entries, "links": links}
    return json.dumps(document).encode()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_returns_after_large_requests(mutag_run):
    with (
        served(mutag_run, "--seconds", "200", python=sys.executable) as (process, address),
        httpx.Client(base_url=address, timeout=250) as client,
    ):
        small = {"smiles": ["CCO"]}
        for path in ("/predict", "/explain"):
            client.post(path, json=small if path == "/predict" else {"smiles": "CCO"})
        before = held(process)
        upload = [("files", ("large.json", large_digraph(120_000)))]
        assert client.post("/predict/file", files=upload).status_code == 200
        large = {"smiles": "C1" + "C" * 600 + "C1"}
        assert client.post("/explain", json=large).status_code == 200
        for _ in range(100):  # the release follows the answer
            if held(process) < before + 128 * MEBIBYTE:
                break
            time.sleep(0.2)
            client.post("/predict", json=small)
        assert held(process) < before + 128 * MEBIBYTE
