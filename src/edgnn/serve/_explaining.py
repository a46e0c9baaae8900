"""Explanations as the page shows them: reasons in words, a picture, a change that would turn the prediction over."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from edgnn.errors import GraphError
from edgnn.explain import CounterExample, Subject, copies_allowed, counter_example, explain
from edgnn.graphs import Graphs, Nodes
from edgnn.report import Explained, draw_counter_example, draw_explanation
from edgnn.serve._limits import Deadline, Limits, TooLarge

if TYPE_CHECKING:
    from edgnn.serve._model import Served

_REASONS = 12
_TAKEN_OUT, _CHANGED = 1_250, 5_000  # copies of a graph: fewer of a large one, as others wait


def explained(
    served: Served,
    item: Graphs | Nodes,
    target: str | None,
    limits: Limits,
    deadline: Deadline,
    *,
    change: bool,
) -> dict[str, Any]:
    """Return what a prediction rests on, ready for JSON.

    Parameters
    ----------
    served : Served
        The model.
    item : Graphs or Nodes
        One graph, or one node.
    target : str, optional
        The class to explain; default: the predicted one.
    limits : Limits
        How large a graph may be.
    deadline : Deadline
        Looked at between the steps.
    change : bool
        Whether to look for a counter-example.
    """
    if isinstance(item, Graphs) and item.num_nodes > limits.explained:
        raise TooLarge(
            f"the graph has {item.num_nodes:,} nodes; explanations are made for graphs of up to {limits.explained:,}"
        )
    wanted = None if target is None else _target(served, target)
    subject = Subject.of(served.estimator, item)
    allowed = copies_allowed(subject, _TAKEN_OUT)
    found = explain(served.estimator, item, target=wanted, most=allowed, check=deadline.check)
    deadline.check()
    told = Explained(found, class_names=served.class_names or served.target_names)
    flipped = None
    if change:
        label = found.target if served.estimator._encoding.task == "labels" else None
        allowed = copies_allowed(subject, _CHANGED)
        flipped = counter_example(
            served.estimator, item, target=label, most=allowed, check=deadline.check
        )
        deadline.check()
    return {
        "prediction": _named(served, found.prediction),
        "target": served.classes[found.target_index],
        "value": _number(found.value),
        "reasons": [
            {
                "kind": reason.kind,
                "words": told.reason_text(reason),
                "contribution": _number(reason.contribution),
            }
            for reason in found.reasons(_REASONS)
        ],
        "picture": draw_explanation(told),
        "counter_example": None if flipped is None else _change(served, told, flipped),
        "searched": change,
    }


def _change(served: Served, told: Explained, flipped: CounterExample) -> dict[str, Any]:
    return {
        "words": [change.words for change in flipped.changes],
        "prediction": _named(served, flipped.prediction),
        "probabilities": [_number(value) for value in flipped.probability.tolist()],
        "smallest": bool(flipped.smallest),
        "pictures": list(draw_counter_example(told, flipped)),
    }


def _target(served: Served, name: str) -> Any:
    """Return the class, or the number of the label or value, that a request names."""
    if name not in served.classes:
        raise GraphError(f"target {name[:100]!r} is none of {', '.join(served.classes[:20])}")
    place = served.classes.index(name)
    encoding = served.estimator._encoding
    return encoding.classes[place] if encoding.task == "classes" else place


def _named(served: Served, value: Any) -> Any:
    plain = value.tolist() if hasattr(value, "tolist") else value
    if served.class_names and isinstance(plain, int):
        return served.class_names[plain]
    return [_number(entry) for entry in plain] if isinstance(plain, list) else _number(plain)


def _number(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
