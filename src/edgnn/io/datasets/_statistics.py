"""The columns of the paper's two statistics tables, computed from a data set."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from edgnn.graphs import Graphs
from edgnn.io.datasets._dataset import Dataset

_MOST_LABELS = 1_000
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TERM_STARTS = {'"': "literal", "_:": "blank node", "<<(": "triple term"}


@dataclass(frozen=True)
class Statistic:
    """One column: its name, our number, and the paper's where it has one."""

    key: str
    title: str
    value: int | float
    paper: int | float | None = None

    @property
    def differs(self) -> bool:
        """Whether the paper has another number, at the precision it prints."""
        if self.paper is None:
            return False
        decimals = len(str(self.paper).partition(".")[2]) if isinstance(self.paper, float) else 0
        return abs(round(self.value, decimals) - self.paper) > 1e-9


def statistics(data: Dataset) -> list[Statistic]:
    """Return what the paper's appendix tabulates of ``data``, and a little more.

    Of several graphs, nodes and edges are averages. A bond that is stored both ways counts once,
    as in the paper.
    """
    graphs = data.graphs
    values: dict[str, int | float] = {}
    if data.level == "graph":
        values["graphs"] = len(graphs)
    if data.class_names:
        values["classes"] = len(data.class_names)
    edges = graphs.num_edges
    if data.level == "graph" and stored_both_ways(graphs):
        edges = _undirected(graphs)
    if len(graphs) == 1:
        values["nodes"] = graphs.num_nodes
        values["edges"] = edges
    else:
        values["avg_nodes"] = graphs.num_nodes / max(1, len(graphs))
        values["avg_edges"] = edges / max(1, len(graphs))
    values["node_labels"] = len(torch.unique(graphs.node_label))
    values["edge_labels"] = len(torch.unique(graphs.edge_label))
    if data.nodes is not None:
        values["labeled"] = len(data.nodes)
    for name, items in {**(data.split or {}), **data.subsets}.items():
        values[name] = len(items)
    return [
        Statistic(key, key.replace("_", " ").capitalize(), value, data.paper.get(key))
        for key, value in values.items()
    ]


def summary(data: Dataset) -> dict[str, Any]:
    """Return everything ``edgnn datasets show`` prints, ready for JSON."""
    table = statistics(data)
    return {
        "name": data.name,
        "level": data.level,
        "task": data.task,
        "description": data.description,
        "statistics": {row.key: round(row.value, 4) for row in table},
        "paper": dict(data.paper),
        "differs_from_paper": [row.key for row in table if row.differs],
        "note": data.paper_note,
        "class_counts": class_counts(data),
        "node_labels": _ready(label_counts(data.graphs, "node")),
        "edge_labels": _ready(label_counts(data.graphs, "edge")),
        "terms": term_counts(data.graphs),
        "edges_stored_both_ways": stored_both_ways(data.graphs),
        "source": data.source,
        "sha256": dict(data.sha256),
        "citation": data.citation,
        "license": data.license,
    }


def class_counts(data: Dataset) -> dict[str, int]:
    """Return how many graphs or nodes each class has."""
    if data.targets is None or not data.class_names:
        return {}
    counts = np.bincount(data.targets, minlength=len(data.class_names))
    return dict(zip(data.class_names, counts.tolist(), strict=True))


def label_counts(graphs: Graphs, of: Literal["node", "edge"]) -> list[tuple[Any, int]]:
    """Return the labels of the nodes or edges with how often each occurs, most frequent first.

    Nothing where there are none.
    """
    labels, vocabulary = (getattr(graphs, f"{of}_{what}") for what in ("label", "vocabulary"))
    if vocabulary.constant:
        return []
    counts = torch.bincount(labels.cpu(), minlength=len(vocabulary))
    order = torch.argsort(counts, descending=True, stable=True)[: int((counts > 0).sum())]
    return [(vocabulary[number], int(counts[number])) for number in order.tolist()]


def term_counts(graphs: Graphs) -> dict[str, int]:
    """Return how many nodes are IRIs, literals and blank nodes, where all are RDF terms."""
    names = [] if graphs.node_names is None else graphs.node_names.tolist()
    counts = Counter(map(_term_kind, names))
    return {} if "" in counts else dict(counts.most_common())


def _term_kind(name: Any) -> str:
    """Return what kind of RDF term has this name; an empty text where none has."""
    if not isinstance(name, str):
        return ""
    for start, kind in _TERM_STARTS.items():
        if name.startswith(start):
            return kind
    return "IRI" if _IRI.match(name) else ""


def _ready(counts: list[tuple[Any, int]]) -> list[dict[str, Any]]:
    """Return the most frequent labels as JSON has them."""
    return [
        {
            "label": label if isinstance(label, str | int | float | None) else str(label),
            "count": count,
        }
        for label, count in counts[:_MOST_LABELS]
    ]


def stored_both_ways(graphs: Graphs) -> bool:
    """Whether every edge has a partner with the same label in the other direction."""
    forward = torch.stack([graphs.edge_source, graphs.edge_target, graphs.edge_label])
    backward = torch.stack([graphs.edge_target, graphs.edge_source, graphs.edge_label])
    return graphs.num_edges > 0 and torch.equal(_sorted_columns(forward), _sorted_columns(backward))


def _sorted_columns(rows: torch.Tensor) -> torch.Tensor:
    order = np.lexsort(rows.cpu().numpy()[::-1])
    return rows[:, torch.from_numpy(order)]


def _undirected(graphs: Graphs) -> int:
    loops = int((graphs.edge_source == graphs.edge_target).sum())
    return (graphs.num_edges - loops) // 2 + loops
