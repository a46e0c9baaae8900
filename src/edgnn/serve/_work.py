"""What requests ask for, done in a thread: read, predict, explain, color."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Nodes
from edgnn.serve._colors import color_rounds
from edgnn.serve._explaining import explained
from edgnn.serve._inputs import nodes_of, of_json, of_names, one_of
from edgnn.serve._limits import Deadline, Limits
from edgnn.serve._molecules import LeftOut, of_smiles
from edgnn.serve._source import picked
from edgnn.serve._uploads import Upload, check_learned, of_files

if TYPE_CHECKING:
    from edgnn.serve._answers import Answers
    from edgnn.serve._model import Served
    from edgnn.serve._requests import OneRequest, PredictRequest


@dataclass(frozen=True, eq=False)
class Item:
    """One item of a request: spelled out, or one of those uploaded; with ``skip``, of those that can be read."""

    request: OneRequest | None = None
    uploads: list[Upload] | None = None
    place: int = 0
    skip: bool = False


class Work:
    """The answers of one model to requests, within limits."""

    def __init__(self, served: Served, limits: Limits) -> None:
        self._served, self._limits = served, limits

    def predict(
        self, request: PredictRequest, deadline: Deadline, format: str
    ) -> dict[str, Any] | bytes:
        """Answer a request that spells its items out."""
        served, limits = self._served, self._limits
        names = (
            request.examples
            if request.nodes is None or request.graphs is not None
            else request.nodes
        )
        if names is not None:
            return self._named(
                names, "graph" if request.nodes is None else "node", deadline, format
            )
        if request.smiles is not None:
            graphs, skipped = of_smiles(
                served, request.smiles, limits, deadline, skip=request.bad == "skip"
            )
            return self._told(served.answers(graphs, deadline), format, skipped)
        assert request.graphs is not None
        graphs = of_json(request.graphs, limits)
        return self._told(served.answers(self._items(graphs, request.nodes), deadline), format)

    def predict_files(
        self,
        uploads: list[Upload],
        nodes: str | None,
        deadline: Deadline,
        format: str,
        *,
        skip: bool,
    ) -> dict[str, Any] | bytes:
        """Answer for all graphs, or the named nodes, of uploaded files."""
        graphs, skipped = of_files(self._served, uploads, self._limits, deadline, skip=skip)
        deadline.check()
        names = (
            None if nodes is None else [line.strip() for line in nodes.splitlines() if line.strip()]
        )
        items = self._items(graphs, names)
        check_learned(self._served, items)
        return self._told(self._served.answers(items, deadline), format, skipped)

    def explain(
        self, item: Item, target: str | None, deadline: Deadline, *, change: bool
    ) -> dict[str, Any]:
        """Say what a prediction rests on."""
        return explained(
            self._served, self._one(item, deadline), target, self._limits, deadline, change=change
        )

    def colors(self, item: Item, rounds: int | None, deadline: Deadline) -> dict[str, Any]:
        """Return the colors of a graph, or of a node, round by round."""
        one = self._one(item, deadline)
        deadline.check()
        return {"scheme": self._served.scheme, "rounds": color_rounds(self._served, one, rounds)}

    def _named(
        self, names: list[str], level: str, deadline: Deadline, format: str
    ) -> dict[str, Any] | bytes:
        served = self._served
        places = of_names(served, names, self._limits, level)
        catalog = served.catalog_or_fail()
        if served.ready is not None:
            found = served.ready.take(places)
        else:
            found = replace(served.answers(picked(catalog, places), deadline), ids={"id": names})
        told = self._told(found, format)
        if isinstance(told, dict):
            for place, row in zip(places, told["predictions"], strict=True):
                row["text"] = catalog.text(place)
        return told

    def _items(self, graphs: Graphs, names: list[str] | None) -> Graphs | Nodes:
        if self._served.level == "graph":
            if names:
                raise GraphError(
                    "this is a model of whole graphs, which takes no nodes; leave them out"
                )
            self._limits.check_items(len(graphs), "graphs")
            return graphs
        return nodes_of(graphs, names, self._limits)

    def _one(self, item: Item, deadline: Deadline) -> Graphs | Nodes:
        served, limits, request = self._served, self._limits, item.request
        if item.uploads is not None:
            graphs, _ = of_files(served, item.uploads, limits, deadline, skip=item.skip)
            items = graphs if served.level == "graph" else graphs.nodes
            check_learned(served, items)
            return one_of(items, item.place)
        assert request is not None
        if request.smiles is not None:
            return of_smiles(served, [request.smiles], limits, deadline, skip=False)[0]
        if request.graph is not None:
            graphs = of_json([request.graph], limits)
            if served.level == "node" and request.node is None:
                raise GraphError("this is a model of nodes: name the node of the graph with `node`")
            return self._items(graphs, None if request.node is None else [request.node])
        level = "graph" if request.node is None else "node"
        name = request.example if request.node is None else request.node
        assert name is not None
        return picked(served.catalog_or_fail(), of_names(served, [name], limits, level))

    def _told(
        self, answers: Answers, format: str, skipped: Sequence[LeftOut] = ()
    ) -> dict[str, Any] | bytes:
        served = self._served
        if format == "csv":
            return answers.csv(served.estimator, served.class_names, served.target_names, skipped)
        return {
            "task": served.estimator._encoding.task,
            "classes": served.classes,
            "predictions": answers.rows(served.class_names),
            "skipped": [
                {"index": entry.index, "input": entry.input, "error": entry.error}
                for entry in skipped
            ],
        }
