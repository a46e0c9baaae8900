"""Served: a trained model with what it was trained on, ready to answer."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn.errors import EdgnnError, GraphError, RunError
from edgnn.explain import is_molecule
from edgnn.graphs import Graphs, Nodes, encode_value
from edgnn.io.datasets import origin_of, stored_texts
from edgnn.models import check_known, load_model
from edgnn.serve._answers import Answers, answers_of
from edgnn.serve._limits import Limits
from edgnn.serve._source import Catalog, catalog_of, load_source
from edgnn.training import METRICS, RunFolder
from edgnn.wl import Coloring

_MOST_READY = 1_000_000
_MOST_LABELS = 1_000


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
    model : Model
        Any model that is fitted.
    metrics : mapping
        How it was evaluated; empty where that is not known.
    catalog : Catalog, optional
        The loaded data.
    ready : Answers, optional
        For all of its nodes, computed at the start.
    """

    path: Path
    config: Mapping[str, Any]
    model: Any
    metrics: Mapping[str, Any] = field(default_factory=dict)
    catalog: Catalog | None = None
    ready: Answers | None = None
    _colorings: dict[int | None, Coloring] = field(default_factory=dict)
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
        model = load_model(run)
        parameters = model.get_params(deep=False)
        if "device" in parameters:
            model.set_params(device=device)
        if parameters.get("unknown") == "zero":
            model.set_params(unknown="silent")  # every answer counts unknown labels itself
        config = {
            **folder.config,
            "class_names": stored_texts(folder.config, "class_names"),
            "target_names": stored_texts(folder.config, "target_names"),
            "source": origin_of(folder.config) or {},
        }
        served = cls(folder.path, config, model, _metrics(folder))
        served._check_class_names()
        try:
            return served._with_source(source, options or {}, data_dir)
        except (EdgnnError, OSError) as error:
            if source is not None:
                raise
            warnings.warn(
                "nothing can be picked by name: the data of the training cannot be used "
                f"({error}); name it with --source",
                stacklevel=2,
            )
            return served

    def _with_source(
        self, source: Path_ | None, options: Mapping[str, Any], data_dir: Path_ | None
    ) -> Served:
        """Load the data, and predict once, as the first prediction takes longer than others."""
        data = load_source(self.config, self.level, source, options, data_dir)
        if data is None:
            return self
        title = str(source) if source is not None else str(self.config["source"].get("name", ""))
        catalog = catalog_of(data, self.level, _last_name(title))
        check_known(self.model, catalog.items)
        # a network computes all nodes in one pass; other models compare each with all they learned
        at_once = self.level == "node" and self.model.trains_by_epochs
        if at_once and len(catalog) <= _MOST_READY:
            return replace(self, catalog=catalog, ready=answers_of(self.model, catalog.items))
        answers_of(self.model, catalog.items[:1])
        return replace(self, catalog=catalog)

    def _check_class_names(self) -> None:
        """Raise where a class has no name although classes have names."""
        names = self.class_names
        nameless = set(self.model.encoding.classes.tolist()) - set(range(len(names)))
        if names and self.task == "classes" and nameless:
            raise RunError(
                f"class {nameless.pop()!r} has no name among the {len(names)} class_names in "
                "config.json; it is damaged"
            )

    # What it is

    @property
    def level(self) -> str:
        """Whether it is a model of graphs or of nodes."""
        return str(self.model.level)

    @property
    def task(self) -> str:
        """What it predicts: classes, labels or values."""
        return str(self.model.task)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, by number; empty where classes are themselves."""
        return list(self.config["class_names"])

    @property
    def target_names(self) -> list[str]:
        """Names of several labels or values."""
        return list(self.config["target_names"])

    @cached_property
    def classes(self) -> list[str]:
        """What probabilities (or values) belong to, in their order."""
        encoding = self.model.encoding
        if self.task == "classes":
            names = dict(enumerate(self.class_names))
            return [names.get(value, str(value)) for value in encoding.classes.tolist()]
        if len(self.target_names) == encoding.outputs:
            return self.target_names
        return [str(number) for number in range(encoding.outputs)]

    @property
    def node_label_kind(self) -> str:
        """What it takes for labels of nodes: labels, degrees or names."""
        if self.model.coder.identity:
            return "name"
        return "label" if self.model.coder.degree_labels is None else "degree"

    @cached_property
    def smiles(self) -> bool:
        """Whether the model reads molecules: graphs whose labels are elements and bonds."""
        coder = self.model.coder
        if self.level != "graph" or coder.node_features or coder.edge_features:
            return False
        if self.config["source"].get("format") in ("smiles", "sdf"):
            return True
        labels, bonds = list(coder.node_vocabulary), list(coder.edge_vocabulary)
        if self.node_label_kind != "label" or not labels or not bonds:
            return False
        return is_molecule(_with_all_labels(labels, bonds))

    # What it answers

    def check_level(self, level: str, what: str) -> None:
        """Raise where the model is of the other kind."""
        if level == "graph" and self.level == "node":
            raise GraphError(
                f"this is a model of nodes, which takes no {what}; "
                "give nodes by name, or graphs with their nodes"
            )
        if level == "node" and self.level == "graph":
            raise GraphError(f"this is a model of whole graphs, which takes no {what}; give graphs")
        if what == "smiles" and not self.smiles:
            raise GraphError(
                "this model was not trained on molecules; "
                "give graphs with the labels that GET /model lists"
            )

    def loaded(self) -> Catalog:
        """Return the loaded data; it is an error where there is none."""
        if self.catalog is None:
            raise GraphError(
                "no data is loaded to pick from; start the server with --source, "
                "or send the graph itself"
            )
        return self.catalog

    def _is_loaded(self, graphs: Graphs) -> bool:
        items = None if self.catalog is None else self.catalog.items
        return isinstance(items, Nodes) and items.graphs is graphs

    def texts(self, graphs: Graphs) -> Sequence[str]:
        """Return what people call the nodes of the loaded graph; nothing of any other."""
        return self.loaded().texts if self._is_loaded(graphs) else ()

    def answers(self, items: Graphs | Nodes, deadline: Any = None) -> Answers:
        """Return what the model says about items."""
        return answers_of(self.model, items, deadline)

    def coloring(self, graphs: Graphs, rounds: int | None) -> Coloring:
        """Return the colors of all nodes; those of the loaded graph are kept."""
        if not self._is_loaded(graphs):
            coloring: Coloring = self.model.refine(graphs, rounds)
            return coloring
        with self._lock:
            if rounds not in self._colorings:
                self._colorings[rounds] = self.model.refine(graphs, rounds)
            return self._colorings[rounds]

    def describe(self, limits: Limits) -> dict[str, Any]:
        """Return what the model is, ready for JSON."""
        coder = self.model.coder
        trained_on = self.config["source"].get("name")
        named = ("bytes", "items", "nodes", "edges", "files", "explained", "seconds")
        return {
            "run": self.path.name,
            "estimator": type(self.model).__name__,
            "level": self.level,
            "task": self.task,
            "classes": self.classes,
            "targets": self.target_names,
            "members": self.model.num_members,
            "layers": getattr(self.model, "layers", None),
            "conv": getattr(self.model, "conv", None),
            "trained_on": _last_name(str(trained_on)) if trained_on else None,
            "trained_items": _count(self.metrics.get("trained_on")),
            "judged": _evaluation(self.metrics) if self.metrics else None,
            "node_labels": _some_labels(coder.node_vocabulary),
            "edge_labels": _some_labels(coder.edge_vocabulary),
            "node_label_kind": self.node_label_kind,
            "node_features": coder.node_features,
            "edge_features": coder.edge_features,
            "smiles": self.smiles,
            "familiarity": self.model.has_familiarity,
            "source": None if self.catalog is None else self.catalog.title,
            "source_items": 0 if self.catalog is None else len(self.catalog),
            "limits": {name: getattr(limits, name) for name in named}
            | {"json": limits.of_body("application/json")},
        }


def _metrics(folder: RunFolder) -> dict[str, Any]:
    """Return how a run was evaluated; nothing where that is missing or damaged."""
    stored: Any = folder.read_json(METRICS) if folder.has(METRICS) else None
    usable = isinstance(stored, dict) and isinstance(stored.get("metrics"), dict)
    return stored if usable else {}


def _evaluation(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return which part a model was evaluated on, and the metrics that are numbers."""
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


def _with_all_labels(labels: list[Any], bonds: list[Any]) -> Graphs:
    """Return a graph with every label of nodes, and every label of edges in both directions."""
    count = max(len(labels), 2 * len(bonds))
    ends = []
    for number in range(len(bonds)):
        ends += [(2 * number, 2 * number + 1), (2 * number + 1, 2 * number)]
    return Graphs.from_edges(
        ends,
        node_labels=[labels[number % len(labels)] for number in range(count)],
        edge_labels=[bond for bond in bonds for _ in range(2)],
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int else None


def _last_name(name: str) -> str:
    """Return the name of a set, or the last part of a path: where files lie stays private."""
    return Path(name).name or name


def _some_labels(vocabulary: Iterable[Any]) -> list[Any]:
    return [encode_value(value) for value in islice(vocabulary, _MOST_LABELS)]
