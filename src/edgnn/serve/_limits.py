"""What one request may ask for, and the errors that say so."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields

from edgnn.errors import EdgnnError
from edgnn.graphs import Graphs

RETRY_SECONDS = "5"
LONGEST_SMILES = 5_000
LONGEST_LINES = 2**24  # characters of a field of names


class TooLarge(EdgnnError):
    """A request beyond the limits of the server."""


class Busy(EdgnnError):
    """Too many requests wait already, or this one took too long."""


@dataclass(frozen=True)
class Limits:
    """What one request may ask for.

    Parameters
    ----------
    bytes : int
        Size of a request's body.
    json : int
        Size of a body of JSON, which is parsed at one go while all others wait; never more than
        ``bytes``.
    held : int
        Size of the bodies of all requests that are at work or wait for it.
    unpacked : int
        Bytes that an uploaded compressed file may unpack to.
    items : int
        Graphs, molecules or nodes to predict.
    nodes, edges : int
        Of all graphs of a request together.
    files : int
        Files of one upload.
    explained : int
        Nodes of a graph that is to be explained.
    seconds : float
        From the arrival of a request to its answer.
    waiting : int
        Requests that may be at work or wait for it; more are asked to come again.
    workers : int
        Threads that work.
    """

    bytes: int = 32 * 2**20
    json: int = 8 * 2**20
    held: int = 512 * 2**20
    unpacked: int = 256 * 2**20
    items: int = 10_000
    nodes: int = 200_000
    edges: int = 1_000_000
    files: int = 20
    explained: int = 1_000
    seconds: float = 60.0
    waiting: int = 1_000
    workers: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0 or not math.isfinite(value):
                raise EdgnnError(f"the limit {field.name}={value}: choose a number above 0")

    def of_body(self, kind: str) -> int:
        """Return how many bytes a body of this content type may have: files come as multipart, all else is JSON."""
        return (
            self.bytes
            if kind.strip().lower().startswith("multipart/")
            else min(self.json, self.bytes)
        )

    def check_items(self, count: int, what: str) -> None:
        """Raise where there are too many items."""
        if count > self.items:
            raise TooLarge(
                f"{count:,} {what} are more than the {self.items:,} of one request; send them in parts"
            )

    def check_graphs(self, graphs: Graphs) -> None:
        """Raise where graphs are too many or too large."""
        self.check_sizes(graphs.num_nodes, graphs.num_edges)

    def check_sizes(self, nodes: int, edges: int) -> None:
        """Raise where there are too many nodes or edges."""
        for count, most, what in ((nodes, self.nodes, "nodes"), (edges, self.edges, "edges")):
            if count > most:
                raise TooLarge(
                    f"the graphs have {count:,} {what}, more than the {most:,} of one request; send fewer at a time"
                )


class Deadline:
    """When a piece of work must be done; work looks at it between its steps."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._at - time.monotonic()

    def end(self) -> None:
        """Have the time be over now."""
        self._at = -math.inf

    def check(self) -> None:
        """Raise where the time is over: nobody waits for the answer any more."""
        if self.left <= 0:
            raise Busy("the time of the request is over")
