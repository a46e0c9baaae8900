"""What requests ask for, done in a thread: read, predict, explain, color."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn.errors import GraphError
from edgnn.explain import (
    CounterExample,
    Explained,
    Subject,
    copies_allowed,
    counter_example,
    explain,
)
from edgnn.graphs import Graphs, Nodes
from edgnn.io import Deadline, Piece
from edgnn.models import graphs_of
from edgnn.report import draw_counter_example, draw_explanation
from edgnn.serve._answers import Answers, named
from edgnn.serve._colors import color_rounds
from edgnn.serve._inputs import (
    Upload,
    check_learned,
    nodes_of,
    one_of,
    positions_of,
    read_graphs,
    read_uploads,
)
from edgnn.serve._limits import Limits, TooLarge
from edgnn.serve._molecules import read_smiles_list

if TYPE_CHECKING:
    from edgnn.serve._model import Served
    from edgnn.serve._requests import ItemRequest, PredictRequest

_REASONS = 12
#: Changed copies of a graph that explanations and counter-examples try: fewer of a large graph, as
#: others wait.
_REMOVALS, _CHANGES = 1_250, 5_000
#: How long each of them may take, so that others who wait for an explanation have their turn.
_SECONDS = 8.0


@dataclass(frozen=True, eq=False)
class UploadedItem:
    """One item of uploaded files; with ``skip``, counted among those that can be read."""

    uploads: list[Upload]
    number: int
    skip: bool


class Work:
    """The answers of one model to requests, within limits."""

    def __init__(self, served: Served, limits: Limits) -> None:
        self._served = served
        self._limits = limits

    # Predictions

    def predict(
        self, request: PredictRequest, deadline: Deadline, format: str
    ) -> dict[str, Any] | bytes:
        """Answer a request that names its items, or spells them out."""
        if request.examples is not None:
            return self._predict_named(request.examples, "graph", deadline, format)
        if request.nodes is not None and request.graphs is None:
            return self._predict_named(request.nodes, "node", deadline, format)
        if request.smiles is not None:
            skip = request.bad == "skip"
            piece = read_smiles_list(
                self._served, request.smiles, self._limits, deadline, skip=skip
            )
            return self._written(self._served.answers(piece.items, deadline), format, piece)
        assert request.graphs is not None
        items = self._items(read_graphs(request.graphs, self._limits), request.nodes)
        return self._written(self._served.answers(items, deadline), format, Piece(items))

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
        piece = read_uploads(self._served, uploads, self._limits, deadline, skip=skip)
        deadline.check()
        lines = [] if nodes is None else [line.strip() for line in nodes.splitlines()]
        items = self._items(graphs_of(piece.items), [line for line in lines if line])
        check_learned(self._served, items)
        answered = replace(piece, items=items)
        return self._written(self._served.answers(items, deadline), format, answered)

    def _predict_named(
        self, names: list[str], level: str, deadline: Deadline, format: str
    ) -> dict[str, Any] | bytes:
        served = self._served
        positions = positions_of(served, names, self._limits, level)
        catalog = served.loaded()
        items = catalog.pick(positions)
        if served.ready is not None:
            answers = served.ready.take(positions)
        else:
            answers = served.answers(items, deadline)
            answers = replace(answers, ids={"id": names})
        written = self._written(answers, format, Piece(items, names=answers.ids["id"]))
        if isinstance(written, dict):
            for number, row in zip(positions, written["predictions"], strict=True):
                row["text"] = catalog.text(number)
        return written

    def _written(self, answers: Answers, format: str, piece: Piece) -> dict[str, Any] | bytes:
        served = self._served
        if format == "csv":
            return answers.csv(served.model, served.class_names, served.target_names, piece)
        return {
            "task": served.task,
            "classes": served.classes,
            "predictions": answers.rows(served.class_names, served.classes),
            "skipped": [
                {"index": entry.position, "input": entry.text, "error": entry.reason}
                for entry in piece.unread
            ],
        }

    # One item

    def colors(
        self, item: ItemRequest | UploadedItem, rounds: int | None, deadline: Deadline
    ) -> dict[str, Any]:
        """Return the colors of a graph, or of a node, round by round."""
        one = self._one(item, deadline)
        deadline.check()
        return color_rounds(self._served, one, rounds)

    def explain(
        self,
        item: ItemRequest | UploadedItem,
        target: str | None,
        deadline: Deadline,
        *,
        change: bool,
    ) -> dict[str, Any]:
        """Return the explanation of a prediction; with ``change`` also a counter-example."""
        return self.explain_item(self._one(item, deadline), target, deadline, change=change)

    def explain_item(
        self, item: Graphs | Nodes, target: str | None, deadline: Deadline, *, change: bool
    ) -> dict[str, Any]:
        """Return the explanation of the prediction for one graph or node, ready for JSON."""
        served = self._served
        most = self._limits.explained
        if isinstance(item, Graphs) and item.num_nodes > most:
            raise TooLarge(
                f"the graph has {item.num_nodes:,} nodes; "
                f"explanations are made for graphs of up to {most:,}"
            )
        wanted = None if target is None else self._target(target)
        subject = Subject.of(served.model, item)
        explanation = explain(
            served.model,
            item,
            target=wanted,
            most=copies_allowed(subject, _REMOVALS),
            seconds=_SECONDS,
            check=deadline.check,
        )
        deadline.check()
        explained = Explained(explanation, class_names=served.class_names or served.target_names)
        flipped = None
        if change:
            flipped = counter_example(
                served.model,
                item,
                target=explanation.target if served.task == "labels" else None,
                most=copies_allowed(subject, _CHANGES),
                seconds=_SECONDS,
                check=deadline.check,
            )
            deadline.check()
        return {
            "prediction": self._named_prediction(explanation.prediction),
            "target": served.classes[explanation.target_index],
            "value": explanation.value,
            "measure": explanation.measure,
            "left_out": explained.left_out,
            "reasons": [
                {
                    "kind": reason.kind,
                    "words": explained.reason_text(reason),
                    "contribution": reason.contribution,
                }
                for reason in explanation.reasons(_REASONS)
            ],
            "picture": draw_explanation(explained),
            "counter_example": None if flipped is None else self._changed(explained, flipped),
            "searched": change,
        }

    def _changed(self, explained: Explained, flipped: CounterExample) -> dict[str, Any]:
        return {
            "words": [change.words for change in flipped.changes],
            "prediction": self._named_prediction(flipped.prediction),
            "probabilities": None if flipped.probability is None else flipped.probability.tolist(),
            "smallest": bool(flipped.smallest),
            "pictures": list(draw_counter_example(explained, flipped)),
        }

    def _named_prediction(self, prediction: Any) -> Any:
        return named(np.asarray(prediction).tolist(), self._served.class_names)

    def _target(self, name: str) -> Any:
        """Return the class, or the number of the label or value, that a request names."""
        served = self._served
        if name not in served.classes:
            choices = ", ".join(served.classes[:20])
            raise GraphError(f"target {name[:100]!r} is none of {choices}")
        number = served.classes.index(name)
        return served.model.encoding.classes[number] if served.task == "classes" else number

    def _one(self, item: ItemRequest | UploadedItem, deadline: Deadline) -> Graphs | Nodes:
        if isinstance(item, UploadedItem):
            return self._uploaded(item, deadline)
        if item.smiles is not None:
            return read_smiles_list(
                self._served, [item.smiles], self._limits, deadline, skip=False
            ).items
        if item.graph is not None:
            graphs = read_graphs([item.graph], self._limits)
            if self._served.level == "node" and item.node is None:
                raise GraphError("this is a model of nodes: name the node of the graph with `node`")
            return self._items(graphs, None if item.node is None else [item.node])
        if item.node is not None:
            return self._named(item.node, "node")
        assert item.example is not None
        return self._named(item.example, "graph")

    def _uploaded(self, item: UploadedItem, deadline: Deadline) -> Graphs | Nodes:
        piece = read_uploads(self._served, item.uploads, self._limits, deadline, skip=item.skip)
        graphs = graphs_of(piece.items)
        items = graphs if self._served.level == "graph" else graphs.nodes
        check_learned(self._served, items)
        return one_of(items, item.number)

    def _named(self, name: str, level: str) -> Graphs | Nodes:
        positions = positions_of(self._served, [name], self._limits, level)
        return self._served.loaded().pick(positions)

    def _items(self, graphs: Graphs, names: list[str] | None) -> Graphs | Nodes:
        if self._served.level == "node":
            return nodes_of(graphs, names, self._limits)
        if names:
            raise GraphError(
                "this is a model of whole graphs, which takes no nodes; leave them out"
            )
        self._limits.check_items(len(graphs), "graphs")
        return graphs
