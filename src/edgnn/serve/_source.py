"""The data that a model was trained on: how it was read, and its nodes or graphs found by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from edgnn._files import Path_
from edgnn._paths import exists
from edgnn._words import short_iri
from edgnn.errors import EdgnnError, GraphError
from edgnn.graphs import Graphs, Nodes
from edgnn.io.datasets import (
    Dataset,
    find,
    load_dataset,
    loadable_origin,
    origin_of,
    reading_options,
)
from edgnn.report.draw import node_texts

_MOST_EDGES = 500_000
_NODE_TARGETS = ("tables", "graphml", "node-link")


@dataclass(frozen=True, eq=False)
class Catalog:
    """Nodes of one graph, or graphs, that people pick by name.

    Parameters
    ----------
    title : str
        What the data is called.
    items : Graphs or Nodes
        All of them.
    names : sequence of str
        What they are called, in the same order.
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
            (name.lower(), short_iri(name).lower(), self.text(place).lower())
            for place, name in enumerate(self.names)
        ]

    def text(self, place: int) -> str:
        """Return what people call an item."""
        return (self.texts[place] if self.texts else "") or short_iri(self.names[place])

    def __len__(self) -> int:
        return len(self.names)

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return the places of some names."""
        for entry, name in enumerate(names):
            if name not in self._number:
                hint = self.search(name, 1)
                close = (
                    f"; did you mean {self.names[hint[0]]!r}?"
                    if hint
                    else f"; find names with GET /names?search=… ({len(self):,} in all)"
                )
                raise GraphError(f"entry {entry}, {name[:200]!r}, is not in {self.title}{close}")
        return [self._number[name] for name in names]

    def search(self, text: str, most: int) -> list[int]:
        """Return the places of what is called ``text`` or so: items with targets first, then those that begin with it."""
        wanted = text.strip().lower()
        preferred = dict.fromkeys(self.first)
        ranked: list[tuple[tuple[bool, bool, bool], int]] = []
        for place in (*preferred, *(place for place in range(len(self)) if place not in preferred)):
            whole, own, called = self._lowered[place]
            if wanted in whole or wanted in called:
                begins = own.startswith(wanted) or called.startswith(wanted)
                ranked.append(
                    (
                        (wanted not in (whole, own, called), place not in preferred, not begins),
                        place,
                    )
                )
        ranked.sort(key=lambda entry: entry[0])
        return [place for _, place in ranked[:most]]


def catalog_of(data: Dataset, level: str, title: str) -> Catalog:
    """Return the nodes, or the graphs, of a data set by name."""
    graphs = data.graphs
    if level == "graph":
        given = (
            None
            if graphs.graph_names is None
            else [str(name) for name in graphs.graph_names.tolist()]
        )
        names = (
            given
            if given is not None and len(set(given)) == len(given)
            else [str(n) for n in range(len(graphs))]
        )
        return Catalog(title, graphs, names)
    if graphs.node_names is None:
        names = [str(number) for number in range(graphs.num_nodes)]
    else:
        names = [str(name) for name in graphs.node_names.tolist()]
        if len(set(names)) < len(names):
            raise EdgnnError(
                f"several nodes of {title} have one name, so that they cannot be picked by name"
            )
    first = () if data.nodes is None else tuple(data.nodes.index.tolist())
    texts = node_texts(graphs) if graphs.num_edges <= _MOST_EDGES else ()
    return Catalog(title, graphs.nodes, names, first, texts)


def load_source(
    config: Mapping[str, Any],
    level: str,
    source: Path_ | None,
    options: Mapping[str, Any],
    data_dir: Path_ | None,
) -> Dataset | None:
    """Load what was asked for, or else what a run says it was trained on; ``None`` where it does not say.

    Parameters
    ----------
    config : mapping
        Of the run.
    level : {"graph", "node"}
        What its model is of.
    source : path or str, optional
        What was asked for.
    options : mapping
        Of the reader of ``source``.
    data_dir : path, optional
        Where named data sets are looked for first.
    """
    if source is not None:
        named = (
            find(str(source)) is not None
        )  # any other word may be mistyped, or a molecule: it does not leave this machine
        known = {} if named or not exists(source) else reading_options(config, source, options)
        return load_dataset(
            source, data_dir=data_dir, **({"download": named} | known | dict(options))
        )
    origin = loadable_origin(config)
    return None if origin is None else _stored(origin, level, data_dir)


def _stored(origin: Mapping[str, Any], level: str, data_dir: Path_ | None) -> Dataset:
    name, target = origin["name"], origin.get("target") or []
    options = dict(origin["options"])
    where = data_dir if data_dir is not None else origin.get("data_dir")
    if find(name) is None and not exists(name):
        raise EdgnnError(f"{name} is not there any more")
    if origin.get("target_file"):
        options |= {
            "target_file": origin["target_file"],
            "target_column": target,
            "level": origin.get("task"),
        }
    elif level == "node" and origin.get("format") in _NODE_TARGETS and len(target) == 1:
        options["node_target"] = target[0]
    return load_dataset(name, data_dir=where, download=False, **options)


def with_label_names(config: Mapping[str, Any], graphs: Graphs, files: Sequence[str]) -> Graphs:
    """Return the graphs of a TU set with the names of its labels, where it is the named set that the model was trained on."""
    entry = find(str((origin_of(config) or {}).get("name", "")))
    if (
        entry is None
        or entry.kind != "tu"
        or not any(name.startswith(entry.name) for name in files)
    ):
        return graphs
    return graphs.renamed(
        node_labels=dict(enumerate(entry.node_labels)),
        edge_labels=dict(enumerate(entry.edge_labels)),
    )


def picked(catalog: Catalog, positions: Sequence[int]) -> Graphs | Nodes:
    """Return some of the items."""
    return catalog.items[torch.tensor(list(positions), dtype=torch.int64)]
