"""What a model chose inside the training parts, and how often."""

from __future__ import annotations

from collections import Counter

from edgnn.evaluation import Evaluation
from edgnn.report._html import Html, section, table, tag
from edgnn.report._numbers import shown

_MOST_VALUES = 6
_JUDGED = ("inner_accuracy", "loo_error", "best_epoch", "valid_loss", "candidates")


def chosen_section(evaluation: Evaluation) -> list[Html]:
    """Return a table of choices with how many splits made them; nothing where nothing was chosen."""
    rows = choices(evaluation)
    if not rows:
        return []
    note = tag("p", "Chosen anew in every split, by what its training part alone can tell.")
    return [section("Chosen inside the training parts", note, table(("setting", "values"), rows))]


def choices(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return the name of each choice, and its values with how many splits made them."""
    told = [outcome.chosen for outcome in evaluation.outcomes if outcome.chosen]
    names = [
        name
        for name in dict.fromkeys(name for choice in told for name in choice)
        if name not in _JUDGED
    ]
    rows = []
    for name in names:
        counts = Counter(shown(choice[name]) for choice in told if name in choice).most_common()
        values = [f"{value} ({count}×)" for value, count in counts[:_MOST_VALUES]]
        values += [f"{len(counts) - _MOST_VALUES} others"] if len(counts) > _MOST_VALUES else []
        rows.append((name, ", ".join(values)))
    return rows
