"""Whether an exported program predicts what its estimator does, on random graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import ModelError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._items import Items, graphs_of, with_graphs
from edgnn.models._probabilities import probabilities
from edgnn.models._targets import shaped
from edgnn.models.networks._fleet import raw_outputs

if TYPE_CHECKING:
    from edgnn.models.networks._base import Estimator

#: Nodes per graph, and edges per node, of the collections that are tried.
_SIZES: tuple[tuple[list[int], float], ...] = (
    ([7, 5, 3], 2.0),
    ([30], 2.5),
    ([1], 0.0),
    ([1], 1.0),
    ([4, 6], 0.0),
    ([0, 3, 0, 2], 1.0),
    ([12, 9, 0, 25, 1, 17, 2, 40], 3.0),
    ([100, 60, 3] * 4, 1.5),
)
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


@dataclass(frozen=True)
class ProgramCheck:
    """What an exported program was checked on, and how far its answers were from the estimator's.

    ``difference`` is the largest, ``tolerance`` what it may be: 1e-5 in single and 1e-12 in double
    precision, times the largest output where that is more than one.
    """

    collections: int
    graphs: int
    items: int
    difference: float
    tolerance: float


def inputs_for(items: Items, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return encoded items as the tensors that a program takes, by name."""
    graphs = graphs_of(items)
    found = {
        "node_label": graphs.node_label,
        "edge_source": graphs.edge_source,
        "edge_target": graphs.edge_target,
        "edge_label": graphs.edge_label,
    }
    if isinstance(items, Nodes):
        found["nodes"] = items.index
    else:
        found["graph_offset"] = graphs.graph_offset
    for name in ("node_features", "edge_features"):
        features = getattr(graphs, name)
        if features is not None:
            found[name] = features.to(dtype)
    return {name: value.contiguous() for name, value in found.items()}


def random_items(estimator: Estimator, seed: int = 0) -> Iterator[Items]:
    """Yield random graphs, or nodes of them, with labels of the training set and others."""
    generator = torch.Generator().manual_seed(seed)
    for sizes, density in _SIZES:
        graphs = _random_graphs(estimator, sizes, density, generator)
        if estimator._level == "graph":
            yield graphs
        elif graphs.num_nodes:
            size = (1 + graphs.num_nodes // 2,)
            yield Nodes._of(graphs, torch.randint(graphs.num_nodes, size, generator=generator))


def check_program(
    estimator: Estimator, program: Callable[..., Tensor], device: torch.device
) -> ProgramCheck:
    """Compare a program with its estimator; raise where they are too far apart."""
    dtype = next(estimator._model.parameters()).dtype
    worst, tolerance, counts = 0.0, _TOLERANCE[dtype], [0, 0, 0]
    for items in random_items(estimator):
        outputs, expected = expected_of(estimator, items)
        inputs = {name: value.to(device) for name, value in inputs_for(items, dtype).items()}
        found = program(**inputs).cpu().numpy()
        apart = float(np.abs(found - expected).max()) if found.shape == expected.shape else np.inf
        allowed = tolerance * max(1.0, float(np.abs(outputs).max()))
        if not apart <= allowed:
            raise ModelError(
                f"the exported program differs by {apart:.1e} from the estimator for {len(items)} "
                f"random {estimator._level}s; at most {allowed:.1e} is rounding: "
                'train with precision="float64" for less of it, or tell us of this model'
            )
        worst = max(worst, apart)
        counts = [counts[0] + 1, counts[1] + len(graphs_of(items)), counts[2] + len(items)]
    return ProgramCheck(counts[0], counts[1], counts[2], worst, tolerance)


def expected_of(
    estimator: Estimator, items: Items
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the members' outputs for encoded items, and the predictions made of them."""
    if estimator._coder.degree_labels is not None:
        items = with_graphs(items, estimator._coder.encode(graphs_of(items)))
    outputs, task = raw_outputs(estimator._model, estimator._inputs(items), items), estimator.task
    if task == "values":
        return outputs, shaped(outputs.mean(axis=0), estimator.encoding)
    temperature = estimator.temperature_
    return outputs, probabilities(outputs, task, temperature).mean(axis=0)


def _random_graphs(
    estimator: Estimator, sizes: list[int], density: float, generator: torch.Generator
) -> Graphs:
    """Return graphs with self-loops, parallel edges, and one label more than the known ones."""
    coder, offset = estimator._coder, torch.tensor([0, *sizes]).cumsum(0)
    parts = [
        torch.randint(max(size, 1), (2, int(density * size)), generator=generator) + start
        for size, start in zip(sizes, offset.tolist(), strict=False)
    ]
    source, target = torch.cat(parts, dim=1)
    nodes, edges = sum(sizes), len(source)
    node_vocabulary = coder.node_vocabulary.with_unknown()
    edge_vocabulary = coder.edge_vocabulary.with_unknown()

    def features(rows: int, width: int) -> Tensor | None:
        return torch.randn(rows, width, generator=generator) if width else None

    return Graphs(
        node_label=torch.randint(len(node_vocabulary), (nodes,), generator=generator),
        edge_source=source,
        edge_target=target,
        edge_label=torch.randint(len(edge_vocabulary), (edges,), generator=generator),
        graph_offset=offset,
        node_vocabulary=node_vocabulary,
        edge_vocabulary=edge_vocabulary,
        node_features=features(nodes, coder.node_features),
        edge_features=features(edges, coder.edge_features),
    )
