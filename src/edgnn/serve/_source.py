"""The data that a model was trained on: how it was read, and its nodes or graphs by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from typing import Any

import torch

from edgnn._files import Path_
from edgnn._paths import exists
from edgnn._words import short_iri
from edgnn.errors import EdgnnError, GraphError
from edgnn.explain import node_texts
from edgnn.graphs import Graphs, Nodes
from edgnn.io.datasets import (
    Dataset,
    find,
    load_dataset,
    load_items,
    loadable_origin,
    origin_of,
    reading_options,
)

_MOST_EDGES = 500_000


@dataclass(frozen=True, eq=False)
class Catalog:
    """Nodes of one graph, or graphs, that people pick by name.

    Parameters
    ----------
    title : str
        Name of the data.
    items : Graphs or Nodes
        All of them.
    names : sequence of str
        Their names, in the same order.
    first : tuple of int
        Those to offer before all others: the nodes that have a target.
    texts : sequence of str
        What people call them: a title that the graph itself gives, the last part of an IRI; as the
        names by default.
    """

    title: str
    items: Graphs | Nodes
    names: Sequence[str]
    first: tuple[int, ...] = ()
    texts: Sequence[str] = ()

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _lowered(self) -> list[tuple[str, str, str]]:
        return [
            (name.lower(), short_iri(name).lower(), self.text(number).lower())
            for number, name in enumerate(self.names)
        ]

    @cached_property
    def _offered(self) -> list[int]:
        """All items in the order in which they are offered."""
        return list(dict.fromkeys((*self.first, *range(len(self)))))

    def text(self, number: int) -> str:
        """Return what people call an item."""
        text = self.texts[number] if self.texts else ""
        return text or short_iri(self.names[number])

    def __len__(self) -> int:
        return len(self.names)

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return the positions of items by their names."""
        for entry, name in enumerate(names):
            if name not in self._number:
                raise GraphError(
                    f"entry {entry}, {name[:200]!r}, is not in {self.title}; {self._hint(name)}"
                )
        return [self._number[name] for name in names]

    def _hint(self, name: str) -> str:
        similar = self.search(name, 1)
        if similar:
            return f"did you mean {self.names[similar[0]]!r}?"
        return f"find names with GET /names?search=… ({len(self):,} in all)"

    def search(self, text: str, most: int) -> list[int]:
        """Return the positions of items with such a name.

        Exact matches come first, then items with targets, then names that begin with the text.
        """
        wanted = text.strip().lower()
        preferred = frozenset(self.first)

        def rank(number: int) -> tuple[bool, bool, bool]:
            names = self._lowered[number]
            begins = any(name.startswith(wanted) for name in names[1:])
            return wanted not in names, number not in preferred, not begins

        matches = [
            number
            for number in self._offered
            if any(wanted in name for name in self._lowered[number])
        ]
        return nsmallest(most, matches, key=rank)

    def pick(self, positions: Sequence[int]) -> Graphs | Nodes:
        """Return some of the items."""
        return self.items[torch.tensor(list(positions), dtype=torch.int64)]


def catalog_of(data: Dataset, level: str, title: str) -> Catalog:
    """Return the nodes, or the graphs, of a data set by name."""
    graphs = data.graphs
    if level == "graph":
        names = _names(graphs.graph_names, len(graphs))
        if len(set(names)) < len(names):
            names = _names(None, len(graphs))
        return Catalog(title, graphs, names)
    names = _names(graphs.node_names, graphs.num_nodes)
    if len(set(names)) < len(names):
        raise EdgnnError(
            f"several nodes of {title} have one name, so that they cannot be picked by name"
        )
    first = () if data.nodes is None else tuple(data.nodes.index.tolist())
    texts = node_texts(graphs) if graphs.num_edges <= _MOST_EDGES else ()
    return Catalog(title, graphs.nodes, names, first, texts)


def _names(given: Any, count: int) -> list[str]:
    """Return the given names as texts, or else numbers."""
    values = range(count) if given is None else given.tolist()
    return [str(value) for value in values]


def load_source(
    config: Mapping[str, Any],
    level: str,
    source: Path_ | None,
    options: Mapping[str, Any],
    data_dir: Path_ | None,
) -> Dataset | None:
    """Load the data asked for, or else what a run was trained on; ``None`` where it does not say.

    Parameters
    ----------
    config : mapping
        Of the run.
    level : {"graph", "node"}
        Of its model.
    source : path or str, optional
        The data asked for.
    options : mapping
        Of the reader of ``source``.
    data_dir : path, optional
        Where named data sets are looked for first.
    """
    if source is None:
        origin = loadable_origin(config)
        return None if origin is None else _load_origin(origin, level, data_dir)
    # Any other word may be mistyped, or a molecule: it does not leave this machine.
    is_registered = find(str(source)) is not None
    if not is_registered and exists(source):
        return load_items(source, **{**reading_options(config, source, options), **options})
    return load_dataset(source, data_dir=data_dir, download=is_registered, **options)


def _load_origin(origin: Mapping[str, Any], level: str, data_dir: Path_ | None) -> Dataset:
    name = origin["name"]
    target = origin.get("target") or []
    if find(name) is None and not exists(name):
        raise EdgnnError(f"{name} is not there any more")
    options = dict(origin["options"])
    if origin.get("target_file"):
        options |= {
            "target_file": origin["target_file"],
            "target_column": target,
            "level": origin.get("task"),
            "unknown_names": "skip" if origin.get("skip_unknown") else "error",
        }
    elif level == "node" and target:
        options |= {"target_column": target, "level": "node"}
    where = origin.get("data_dir") if data_dir is None else data_dir
    return load_dataset(name, data_dir=where, download=False, **options)


def with_label_names(config: Mapping[str, Any], graphs: Graphs, files: Sequence[str]) -> Graphs:
    """Return the graphs of a TU set with the label names of the named set of the training."""
    origin = origin_of(config) or {}
    entry = find(str(origin.get("name", "")))
    if entry is None or entry.kind != "tu":
        return graphs
    if not any(name.startswith(entry.name) for name in files):
        return graphs
    return graphs.renamed(
        node_labels=dict(enumerate(entry.node_labels)),
        edge_labels=dict(enumerate(entry.edge_labels)),
    )
