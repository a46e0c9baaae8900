"""Concatenation of Graphs: arrays behind one another, vocabularies merged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs._graphs import Graphs
from edgnn.graphs._vocabulary import Vocabulary


def concat(parts: Sequence[Graphs]) -> Graphs:
    """Join ``parts`` into one collection; see :meth:`Graphs.concat`."""
    if not parts:
        empty = torch.zeros(0, dtype=torch.int64)
        return Graphs(
            empty,
            empty,
            empty,
            empty,
            torch.zeros(1, dtype=torch.int64),
            Vocabulary(),
            Vocabulary(),
        )
    for position, part in enumerate(parts):
        if not isinstance(part, Graphs):
            raise GraphError(f"part {position} is a {type(part).__name__}, not Graphs")
    if len({part.device for part in parts}) > 1:
        raise GraphError(
            "graphs on different devices cannot be joined: move them to one with .to(device)"
        )
    node_label, node_vocabulary = _merged(
        [(part.node_label, part.node_vocabulary) for part in parts]
    )
    edge_label, edge_vocabulary = _merged(
        [(part.edge_label, part.edge_vocabulary) for part in parts]
    )
    shifts = list(accumulate((part.num_nodes for part in parts), initial=0))
    offsets = [part.graph_offset[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
    return Graphs._trusted(
        node_label=node_label,
        edge_source=torch.cat(
            [part.edge_source + shift for part, shift in zip(parts, shifts, strict=False)]
        ),
        edge_target=torch.cat(
            [part.edge_target + shift for part, shift in zip(parts, shifts, strict=False)]
        ),
        edge_label=edge_label,
        graph_offset=torch.cat([parts[0].graph_offset[:1], *offsets]),
        node_vocabulary=node_vocabulary,
        edge_vocabulary=edge_vocabulary,
        node_features=_features([part.node_features for part in parts], "node"),
        edge_features=_features([part.edge_features for part in parts], "edge"),
        node_names=_names([part.node_names for part in parts]),
        graph_names=_names([part.graph_names for part in parts]),
    )


def _merged(parts: list[tuple[Tensor, Vocabulary]]) -> tuple[Tensor, Vocabulary]:
    first = parts[0][1]
    numbers = {value: number for number, value in enumerate(first)}
    labels = []
    for ids, own in parts:
        if own == first:
            labels.append(ids)
        else:
            table = torch.tensor(
                [numbers.setdefault(value, len(numbers)) for value in own], dtype=torch.int64
            )
            labels.append(table.to(ids.device)[ids])
    return torch.cat(labels), first if len(numbers) == len(first) else Vocabulary(numbers)


def _features(parts: list[Tensor | None], what: str) -> Tensor | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if len(present) < len(parts):
        lacking = next(number for number, part in enumerate(parts) if part is None)
        raise GraphError(
            f"part {lacking} has no {what} features while others have: give all of them features, "
            "or none"
        )
    if len({part.shape[1] for part in present}) > 1:
        widths = sorted({part.shape[1] for part in present})
        raise GraphError(f"the parts have {what} features of different widths: {widths}")
    return torch.cat(present)


def _names(parts: list[Any]) -> Any:
    return None if any(part is None for part in parts) else np.concatenate(parts)
