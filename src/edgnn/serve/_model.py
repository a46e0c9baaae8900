"""Served: a trained model with what it was trained on, ready to answer."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn.errors import EdgnnError, GraphError, RunError
from edgnn.graphs import Graphs, Nodes, encode_value
from edgnn.io.datasets import origin_of, stored_texts
from edgnn.models import Coder, Estimator, Seen, check_known, load_estimator
from edgnn.nn import LayerKind
from edgnn.report.draw import is_molecule
from edgnn.serve._answers import Answers, answers_of
from edgnn.serve._limits import Limits
from edgnn.serve._source import Catalog, catalog_of, load_source
from edgnn.training import METRICS, RunFolder
from edgnn.wl import Coloring, Scheme, refine

_MOST_READY = 1_000_000
_MOST_LABELS = 1_000


class _Silent(Seen):
    """What was seen in training, without a warning of what was not: every answer says so itself."""

    def check(self, coder: Coder, raw: Graphs, encoded: Graphs, unknown: str) -> None:
        """Raise where labels never seen are refused."""
        if unknown == "error":
            super().check(coder, raw, encoded, unknown)


@dataclass(frozen=True, eq=False)
class Served:
    """A model, and the data whose nodes or graphs can be picked by name.

    Made by :meth:`load`. Everything in it is only read, so that threads share it.

    Parameters
    ----------
    path : Path
        The run folder.
    config : mapping
        Its configuration.
    estimator : Estimator
        The model.
    metrics : mapping, optional
        What it was judged by.
    catalog : Catalog, optional
        The loaded data.
    ready : Answers, optional
        For all of its nodes, computed at the start.
    """

    path: Path
    config: Mapping[str, Any]
    estimator: Estimator
    metrics: Mapping[str, Any] | None
    catalog: Catalog | None = None
    ready: Answers | None = None
    _colorings: dict[int, Coloring] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def load(
        cls,
        run: Path_,
        *,
        source: Path_ | None = None,
        device: str = "cpu",
        data_dir: Path_ | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Served:
        """Load a run folder and its data, and compute what can be computed before anyone asks.

        Parameters
        ----------
        run : path
            A run folder.
        source : path or str, optional
            Data to pick from; default: what the model was trained on, if it is still there.
        device : str
            Where to compute.
        data_dir : path, optional
            Where named data sets are looked for first.
        options : mapping, optional
            Of the reader of ``source``.
        """
        folder = RunFolder.open(run)
        estimator = load_estimator(run, device=device)
        estimator._checked_parameters()
        estimator._model.eval()  # stays so: threads share it
        estimator._seen = _Silent(estimator._seen.nodes, estimator._seen.edges)
        config = _checked(folder.config, estimator)
        metrics: Any = folder.read_json(METRICS) if folder.has(METRICS) else None
        metrics = (
            metrics
            if isinstance(metrics, dict) and isinstance(metrics.get("metrics"), dict)
            else None
        )
        served = cls(folder.path, config, estimator, metrics)
        try:
            return served._with_source(source, options or {}, data_dir)
        except (EdgnnError, OSError) as error:
            if source is not None:
                raise
            warnings.warn(
                f"nothing can be picked by name: the data of the training cannot be used ({error}); name it with --source",
                stacklevel=2,
            )
            return served

    def _with_source(
        self, source: Path_ | None, options: Mapping[str, Any], data_dir: Path_ | None
    ) -> Served:
        """Load the data, and predict once, so that nobody waits for what only the first time takes."""
        data = load_source(self.config, self.level, source, options, data_dir)
        if data is None:
            return self
        title = str(source) if source is not None else str(self.config["source"].get("name", ""))
        catalog = catalog_of(data, self.level, _short(title))
        check_known(self.estimator, catalog.items)
        if self.level == "node" and len(catalog) <= _MOST_READY:
            return replace(self, catalog=catalog, ready=answers_of(self.estimator, catalog.items))
        answers_of(self.estimator, catalog.items[:1])
        return replace(self, catalog=catalog)

    @property
    def level(self) -> str:
        """Whether it is a model of graphs or of nodes."""
        return self.estimator._level

    @property
    def class_names(self) -> list[str]:
        """What class numbers mean; empty where classes are themselves."""
        return list(self.config["class_names"])

    @property
    def target_names(self) -> list[str]:
        """Names of several labels or values."""
        return list(self.config["target_names"])

    @property
    def classes(self) -> list[str]:
        """What probabilities (or values) belong to, in their order."""
        encoding = self.estimator._encoding
        if encoding.task == "classes":
            values = encoding.classes.tolist()
            return (
                [self.class_names[value] for value in values]
                if self.class_names
                else [str(value) for value in values]
            )
        names = self.target_names
        return (
            names
            if len(names) == encoding.outputs
            else [str(place) for place in range(encoding.outputs)]
        )

    @property
    def scheme(self) -> Scheme:
        """The refinement that sees what the model sees."""
        return LayerKind.of(self.estimator._model.config["conv"]).scheme

    @property
    def layers(self) -> int:
        """How many layers the model has, and so how many rounds matter."""
        return int(self.estimator._model.config["layers"])

    @cached_property
    def smiles(self) -> bool:
        """Whether the model reads molecules: graphs whose labels are elements and bonds."""
        coder, origin = self.estimator._coder, self.config["source"]
        if self.level != "graph" or coder.node_features or coder.edge_features:
            return False
        if origin.get("format") in ("smiles", "sdf"):
            return True
        labels = list(coder.node_vocabulary)
        bonds = list(coder.edge_vocabulary)
        if coder.degree_labels is not None or not labels or not bonds:
            return False
        ends = [
            (a, b)
            for place in range(len(bonds))
            for a, b in ((2 * place, 2 * place + 1), (2 * place + 1, 2 * place))
        ]
        count = max(len(labels), 2 * len(bonds))
        probe = Graphs.from_edges(
            ends,
            node_labels=[labels[place % len(labels)] for place in range(count)],
            edge_labels=[bond for bond in bonds for _ in range(2)],
        )
        return is_molecule(probe)

    def check_level(self, level: str, what: str) -> None:
        """Raise where the model is of the other kind."""
        if level == "graph" and self.level == "node":
            raise GraphError(
                f"this is a model of nodes, which takes no {what}; give nodes by name, or graphs with their nodes"
            )
        if level == "node" and self.level == "graph":
            raise GraphError(f"this is a model of whole graphs, which takes no {what}; give graphs")
        if what == "smiles" and not self.smiles:
            raise GraphError(
                "this model was not trained on molecules; give graphs with the labels that GET /model lists"
            )

    def catalog_or_fail(self) -> Catalog:
        """Return the loaded data, or say that there is none."""
        if self.catalog is None:
            raise GraphError(
                "no data is loaded to pick from; start the server with --source, or send the graph itself"
            )
        return self.catalog

    def texts(self, graphs: Graphs) -> Sequence[str]:
        """Return what people call the nodes of the loaded graph; nothing of any other."""
        catalog = self.catalog
        kept = (
            catalog is not None
            and isinstance(catalog.items, Nodes)
            and catalog.items.graphs is graphs
        )
        return catalog.texts if catalog is not None and kept else ()

    def answers(self, items: Graphs | Nodes, deadline: Any = None) -> Answers:
        """Return what the model says about items."""
        return answers_of(self.estimator, items, deadline)

    def coloring(self, graphs: Graphs, rounds: int) -> Coloring:
        """Return the colors of all nodes; those of the loaded graph are kept."""
        kept = (
            self.catalog is not None
            and isinstance(self.catalog.items, Nodes)
            and graphs is self.catalog.items.graphs
        )
        if not kept:
            return self._refined(graphs, rounds)
        with self._lock:
            if rounds not in self._colorings:
                self._colorings[rounds] = self._refined(graphs, rounds)
            return self._colorings[rounds]

    def _refined(self, graphs: Graphs, rounds: int) -> Coloring:
        coder = self.estimator._coder
        seen = graphs if coder.identity else coder.relabeled(graphs)
        direction = self.estimator._model.config["direction"]
        return refine(
            seen,
            rounds,
            self.scheme,
            multiplicity=coder.multiplicity,
            direction=direction,
            features="ignore",
        )

    def describe(self, limits: Limits) -> dict[str, Any]:
        """Return what the model is, ready for JSON."""
        coder, encoding, config = (
            self.estimator._coder,
            self.estimator._encoding,
            self.estimator._model.config,
        )
        origin, metrics = self.config["source"], self.metrics
        return {
            "run": self.path.name,
            "estimator": type(self.estimator).__name__,
            "level": self.level,
            "task": encoding.task,
            "classes": self.classes,
            "members": len(self.estimator.best_epoch_),
            "layers": self.layers,
            "conv": config["conv"],
            "trained_on": _short(str(origin["name"])) if origin.get("name") else None,
            "trained_items": None if metrics is None else _count(metrics.get("trained_on")),
            "judged": None if metrics is None else _judged(metrics),
            "node_labels": [
                encode_value(value) for value in list(coder.node_vocabulary)[:_MOST_LABELS]
            ],
            "edge_labels": [
                encode_value(value) for value in list(coder.edge_vocabulary)[:_MOST_LABELS]
            ],
            "node_label_kind": "name"
            if coder.identity
            else "label"
            if coder.degree_labels is None
            else "degree",
            "node_features": coder.node_features,
            "edge_features": coder.edge_features,
            "smiles": self.smiles,
            "familiarity": self.estimator._colors is not None,
            "source": None if self.catalog is None else self.catalog.title,
            "source_items": 0 if self.catalog is None else len(self.catalog),
            "limits": {
                name: getattr(limits, name)
                for name in ("bytes", "items", "nodes", "edges", "files", "explained", "seconds")
            }
            | {"json": limits.of_body("application/json")},
        }


def _checked(config: Mapping[str, Any], estimator: Estimator) -> dict[str, Any]:
    """Return a configuration whose names are texts, one for each class, and whose source is one."""
    names = stored_texts(config, "class_names")
    if names and estimator._encoding.task == "classes":
        for value in estimator._encoding.classes.tolist():
            if not isinstance(value, int) or not 0 <= value < len(names):
                raise RunError(
                    f"class {value!r} has no name among the {len(names)} class_names in config.json; it is damaged"
                )
    source = origin_of(config) or {}
    return {
        **config,
        "class_names": names,
        "target_names": stored_texts(config, "target_names"),
        "source": source,
    }


def _judged(metrics: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {
        name: value
        for name, value in metrics["metrics"].items()
        if isinstance(value, int | float) and value == value
    }
    return {
        "part": str(metrics.get("part")),
        "items": _count(metrics.get("items")),
        "metrics": numbers,
    }


def _count(value: Any) -> int | None:
    return value if type(value) is int else None


def _short(name: str) -> str:
    """Return the name of a set, or the last part of a path: where files lie is nobody's business."""
    return Path(name).name or name
