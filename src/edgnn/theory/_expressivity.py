"""What can this model tell apart? Its outputs against the classes of every refinement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.theory._partitions import group_rows, splits
from edgnn.wl import Scheme, graph_classes, refine

Level = Literal["graph", "node"]
Adapter = Callable[[Graphs], tuple[Any, ...]]

_NEARBY = 10.0


@dataclass(frozen=True)
class SchemeComparison:
    """A model's outputs against the classes of one refinement.

    Parameters
    ----------
    scheme : str
        The refinement.
    classes : int
        Number of its classes.
    merged, merged_examples
        Number of outputs that several classes share, and pairs of items that show it.
    split, split_examples
        Number of classes with several outputs, and pairs of items that show it. No model that the
        refinement bounds has any.
    """

    scheme: Scheme
    classes: int
    merged: int
    merged_examples: tuple[tuple[int, int], ...]
    split: int
    split_examples: tuple[tuple[int, int], ...]

    @property
    def bounds(self) -> bool:
        """Whether the model tells nothing apart that the refinement does not."""
        return self.split == 0

    @property
    def reached(self) -> bool:
        """Whether the model tells everything apart that the refinement does."""
        return self.merged == 0

    def __str__(self) -> str:
        verdict = {
            (True, True): "exactly as powerful",
            (True, False): "weaker",
            (False, True): "stronger",
            (False, False): "neither weaker nor stronger",
        }[self.bounds, self.reached]
        merged = f"{self.merged:,} outputs shared by several{_such_as(self.merged_examples)}"
        split = f"{self.split:,} with several outputs{_such_as(self.split_examples)}"
        return f"{self.scheme:<9}{self.classes:,} classes: {merged}; {split}: {verdict}"


@dataclass(frozen=True)
class ExpressivityReport:
    """What :func:`expressivity` measured, on the given graphs and with the given weights.

    Parameters
    ----------
    level : str
        Whether graphs or nodes were told apart.
    items : int
        How many of them there were.
    outputs : int
        How many different outputs the model gave.
    outputs_nearby : pair of int
        The same with a tenth of the tolerance and with ten times it; where these differ the answer
        depends on the tolerance.
    tolerance : float
        Up to which relative difference outputs count as equal.
    rounds : int, optional
        Rounds of refinement compared with; ``None``: until stable.
    schemes : tuple of SchemeComparison
        One entry per refinement.
    """

    level: Level
    items: int
    outputs: int
    outputs_nearby: tuple[int, int]
    tolerance: float
    rounds: int | None
    schemes: tuple[SchemeComparison, ...]

    @property
    def bounded_by(self) -> Scheme | None:
        """The tightest bound: of the refinements that bound the model, that of fewest classes."""
        bounding = [entry for entry in self.schemes if entry.bounds]
        return min(bounding, key=lambda entry: entry.classes).scheme if bounding else None

    @property
    def reaches(self) -> Scheme | None:
        """The most powerful refinement that the model reaches: the one with the most classes."""
        reached = [entry for entry in self.schemes if entry.reached]
        return max(reached, key=lambda entry: entry.classes).scheme if reached else None

    def __str__(self) -> str:
        depth = "stable" if self.rounds is None else f"{self.rounds}-round"
        items = f"{self.items:,} {self.level}s"
        lines = [f"{self.outputs:,} different outputs for {items}, against {depth} classes"]
        lines += [f"  {entry}" for entry in self.schemes]
        bound = repr(self.bounded_by) if self.bounded_by else "none of them"
        reached = repr(self.reaches) if self.reaches else "none of them"
        lines.append(f"  on these graphs the model is bounded by {bound} and reaches {reached}")
        if set(self.outputs_nearby) != {self.outputs}:
            finer, coarser = self.outputs_nearby
            lines.append(
                f"  depends on the tolerance: {finer:,} outputs at {self.tolerance / _NEARBY:.0e}, "
                f"{coarser:,} at {self.tolerance * _NEARBY:.0e}"
            )
        return "\n".join(lines)


def expressivity(
    model: Callable[..., Any],
    graphs: Graphs,
    level: Level = "graph",
    *,
    rounds: int | None = None,
    tolerance: float = 1e-5,
    adapter: Adapter | None = None,
    schemes: tuple[Scheme, ...] = get_args(Scheme),
) -> ExpressivityReport:
    """Measure which classes of each refinement a model merges and which it splits.

    Parameters
    ----------
    model : callable or torch.nn.Module
        Gives one row per graph, or per node. A module is run once, in evaluation mode and without
        gradients.
    graphs : Graphs
        The graphs to tell apart.
    level : {"graph", "node"}
        Whether the model's rows belong to graphs or to nodes.
    rounds : int, optional
        Rounds of refinement; a model of t layers can use t. Default: until stable.
    tolerance : float
        Outputs count as equal when no component differs by more than this, relative to the
        component's largest value.
    adapter : callable, optional
        Makes the model's arguments of the graphs, a tuple; by default the model takes the graphs.
    schemes : tuple of str
        The refinements to compare with.

    Returns
    -------
    ExpressivityReport

    Examples
    --------
    >>> from edgnn import Graphs, theory
    >>> both = Graphs.concat(theory.pairs.directed_triangles())
    >>> print(theory.expressivity(lambda graphs: graphs.sizes.float(), both))
    1 different outputs for 2 graphs, against stable classes
      node     1 classes: 0 outputs shared by several; 0 with several outputs: exactly as powerful
      separate 1 classes: 0 outputs shared by several; 0 with several outputs: exactly as powerful
      joint    2 classes: 1 outputs shared by several (such as 0 and 1); 0 with several outputs:
      weaker
      on these graphs the model is bounded by 'node' and reaches 'node'
    """
    if level not in get_args(Level):
        raise GraphError(f"level={level!r}: choose 'graph' or 'node'")
    items = len(graphs) if level == "graph" else graphs.num_nodes
    rows = _checked(_outputs(model, graphs, adapter), items, level)
    groups = group_rows(rows, tolerance)
    entries = []
    for scheme in schemes:
        coloring = refine(graphs.to("cpu"), rounds, scheme)
        kinds = graph_classes(coloring) if level == "graph" else coloring.colors
        split, merged = splits(kinds, groups), splits(groups, kinds)
        comparison = SchemeComparison(
            scheme=scheme,
            classes=len(torch.unique(kinds)),
            merged=merged.count,
            merged_examples=merged.examples,
            split=split.count,
            split_examples=split.examples,
        )
        entries.append(comparison)
    outputs = len(torch.unique(groups))
    finer = len(torch.unique(group_rows(rows, tolerance / _NEARBY)))
    coarser = len(torch.unique(group_rows(rows, tolerance * _NEARBY)))
    nearby = finer, coarser
    return ExpressivityReport(level, items, outputs, nearby, tolerance, rounds, tuple(entries))


def _such_as(examples: tuple[tuple[int, int], ...]) -> str:
    shown = ", ".join(f"{first} and {second}" for first, second in examples[:2])
    return f" (such as {shown})" if shown else ""


def _outputs(model: Callable[..., Any], graphs: Graphs, adapter: Adapter | None) -> Any:
    arguments = (graphs,) if adapter is None else adapter(graphs)
    with torch.no_grad(), _evaluating(model):
        return model(*arguments)


@contextmanager
def _evaluating(model: Callable[..., Any]) -> Iterator[None]:
    """Switch a module to evaluation, and every module inside it back afterwards."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    modes = [module.training for module in modules]
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


def _checked(outputs: Any, items: int, level: Level) -> Tensor:
    rows = torch.as_tensor(outputs).detach().cpu()
    rows = rows[:, None] if rows.dim() == 1 else rows
    if rows.dim() != 2 or len(rows) != items:
        other = "node" if level == "graph" else "graph"
        raise GraphError(
            f"the model gave an array of shape {tuple(rows.shape)} for {items} {level}s: one row "
            f"per {level} is needed (level={other!r}, or an adapter, may be what is missing)"
        )
    if not bool(torch.isfinite(rows).all()):
        bad = int((~torch.isfinite(rows)).any(1).nonzero()[0])
        raise GraphError(f"the model's output for {level} {bad} is not finite")
    return rows
