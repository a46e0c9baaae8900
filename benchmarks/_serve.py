"""How long do people wait for a prediction? One client and fifty at once, on loopback, beside an answer that needs no model."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks._harness import Row, Skipped, or_skipped
from edgnn.errors import EdgnnError
from edgnn.io.datasets import load_dataset
from edgnn.models import GraphClassifier

_SERVER = "from edgnn.cli import run; run()"
_CLIENTS = 50
_MOLECULES = (
    "c1ccccc1[N+](=O)[O-]",
    "Cc1ccccc1N",
    "CCO",
    "Clc1ccc(cc1)[N+](=O)[O-]",
    "Oc1ccccc1",
    "CC(=O)Nc1ccccc1",
    "c1ccc2ccccc2c1",
)
_LONGEST_WAIT = 120


@dataclass(frozen=True)
class Load:
    """What clients saw: seconds of every request, and of all together."""

    seconds: list[float]
    wall: float

    def percentile(self, share: int) -> float:
        """Return how long it took at most for so many of hundred requests."""
        return float(np.percentile(self.seconds, share))

    @property
    def per_second(self) -> float:
        """Requests answered per second."""
        return len(self.seconds) / self.wall


def serve(
    data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu"
) -> Iterator[Row | Skipped]:
    """Measure waiting times of a served model, yielding each row as it is done.

    ``quick`` asks a few times only: for tests, not for figures.
    """
    if device != "cpu":
        yield Skipped("edgnn serve", "it is measured on the CPU only")
        return
    turns = 2 if quick else 40
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        data = load_dataset("MUTAG", data_dir=data_dir)
        GraphClassifier(max_epochs=2 if quick else 40, members=5, random_state=0).fit(
            data.graphs, data.targets
        ).save(run)
        with serving(run) as address:
            for clients, molecules, goal in (
                (1, 1, "≤ 0.1 s"),
                (_CLIENTS, 1, "≤ 1 s"),
                (_CLIENTS, 100, "≤ 10 s"),
            ):
                times = turns if molecules == 1 else max(1, turns // 10)
                people = "one client" if clients == 1 else f"{clients} clients at once"
                what = f"p95 of POST /predict, {people}, {molecules} molecule{'s' * (molecules > 1)} each"
                yield or_skipped(
                    what, partial(_row, what, address, clients, molecules, times, goal), device
                )


def _row(what: str, address: str, clients: int, molecules: int, turns: int, goal: str) -> Row:
    body = {"smiles": [_MOLECULES[place % len(_MOLECULES)] for place in range(molecules)]}
    ask(address, "/predict", clients, 1, body)
    own = ask(address, "/predict", clients, turns, body)
    bare = ask(address, "/health", clients, turns)
    extra = {
        "p50_s": round(own.percentile(50), 4),
        "requests": len(own.seconds),
        "requests_per_s": round(own.per_second, 1),
        "health_requests_per_s": round(bare.per_second, 1),
    }
    return Row(what, own.percentile(95), "GET /health", bare.percentile(95), goal, extra)


@contextmanager
def serving(run: Path) -> Iterator[str]:
    """Run ``edgnn serve`` as a process of its own; give its address."""
    command = [sys.executable, "-c", _SERVER, "serve", str(run), "--port", "0", "--json"]
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise EdgnnError(f"the server did not start: {process.stderr.read().strip()}")
            yield json.loads(line)["address"]
        finally:
            process.terminate()


def ask(address: str, path: str, clients: int, turns: int, body: Any = None) -> Load:
    """Have some clients ask at the same time, each one request after the other; any answer but 200 is an error."""
    seconds: list[float] = []

    async def everyone() -> None:
        await asyncio.gather(
            *(_client(address, path, turns, body, seconds) for _ in range(clients))
        )

    start = time.perf_counter()
    asyncio.run(everyone())
    return Load(seconds, time.perf_counter() - start)


async def _client(address: str, path: str, turns: int, body: Any, seconds: list[float]) -> None:
    place = urlsplit(address)
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        for _ in range(turns):
            start = time.perf_counter()
            writer.write(head.encode() + content)
            await asyncio.wait_for(_answer(reader, path), _LONGEST_WAIT)
            seconds.append(time.perf_counter() - start)
    finally:
        writer.close()
        await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader, path: str) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().splitlines()
    length = next(
        int(line.partition(":")[2]) for line in head if line.startswith("content-length:")
    )
    content = await reader.readexactly(length)
    if " 200 " not in head[0]:
        raise EdgnnError(f"{path} answered {head[0]}: {content[:200]!r}")
    return content
