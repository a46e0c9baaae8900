"""What the training commands print: data and model first, then how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from edgnn._words import duration
from edgnn.cli._datasets import _console as plain_console

if TYPE_CHECKING:
    from edgnn.evaluation import Evaluation, Metric, Summary
    from edgnn.io.datasets import Dataset
    from edgnn.models import Answer, Estimator
    from edgnn.studies import Published
    from edgnn.training import RunFolder

_MOST_CLASSES = 12
_MOST_TARGETS = 20
_LONGEST_NAME = 24
_WIDTH_IN_A_PIPE = 200
_BASELINE = {"classes": "majority", "labels": "majority", "values": "mean target"}


_CLOSED_FORM = {
    "RidgeGraphClassifier": "shared colors and a random edGNN of infinite width, kernel ridge in closed form",
    "RidgeNodeClassifier": "colors around nodes and at the ends of walks, kernel ridge in closed form",
    "BlendGraphClassifier": "kernel ridge in closed form and a random forest on color counts, probabilities mixed",
}


def introduction(data: Dataset, estimator: Any, *more: str) -> None:
    """Print what is learned from and with."""
    from rich.markup import escape

    console = _console()
    console.print(f"[bold]{escape(data.name)}[/]  {escape(about_data(data))}")
    for line in (about_model(estimator), *more):
        console.print(escape(line), soft_wrap=True)


def about_data(data: Dataset) -> str:
    """Say how much there is to learn from, and what."""
    told = _count(len(data), data.level)
    if data.level == "node":
        told += f" of {data.graphs.num_nodes:,}"
    assert data.targets is not None
    if data.class_names:
        return f"{told}, {len(data.class_names)} classes"
    width = 1 if data.targets.ndim == 1 else data.targets.shape[1]
    return f"{told}, {_count(width, 'target')}"


def about_model(estimator: Any) -> str:
    """Say in a line what is trained, and how."""
    if not hasattr(estimator, "conv"):
        from edgnn.registry import MODELS

        kind = type(estimator).__name__
        summaries = {
            target.partition(":")[2]: entry.summary
            for entry in MODELS.values()
            for tasks in entry.classes.values()
            for target in tasks.values()
        } | _CLOSED_FORM
        return summaries.get(kind, kind)
    names = {
        "edgnn": "edGNN",
        "gnn": "GNN without edge labels",
        "joint": "joint edGNN",
        "rgcn": "R-GCN",
        "gine": "GIN with edge labels",
    }
    told = [
        f"{names.get(estimator.conv, estimator.conv)}, {_count(estimator.layers, 'layer')} × {estimator.hidden}"
    ]
    told += ["batch norm"] if estimator.batch_norm else []
    told += [f"dropout {estimator.dropout:g}"] if estimator.dropout else []
    told += [
        f"learning rate {estimator.learning_rate:g}",
        f"at most {_count(estimator.max_epochs, 'epoch')}",
    ]
    told += [f"{estimator.members} members"] if estimator.members > 1 else []
    return ", ".join(told)


def _console() -> Any:
    """Return a console that does not fold lines in a pipe."""
    console = plain_console()
    if not console.is_terminal:
        console.width = _WIDTH_IN_A_PIPE
    return console


def print_training(
    run: RunFolder, estimator: Estimator, answer: Answer, evaluation: Evaluation
) -> None:
    """Print what a training came to."""
    from rich.markup import escape

    console = _console()
    history = estimator.history_
    best = sorted(set(estimator.best_epoch_))
    epochs = str(best[0]) if len(best) == 1 else f"{best[0]}–{best[-1]}"
    parts = f"trained on {len(answer.train):,}, validated on {len(answer.valid):,}"
    if answer.lacking:
        parts += f"; {answer.lacking:,} {'has' if answer.lacking == 1 else 'have'} no target"
    seconds = duration(sum(row["seconds"] for row in history))
    console.print(f"{parts}; kept epoch {epochs} of {len(history)}, {seconds}\n")
    on = {
        "test": "test part",
        "validation": "validation part, which chose the epoch",
        "training": "training part itself",
    }
    console.print(f"On the {_count(len(answer.items), 'item')} of the {on[answer.part]}:")
    table = _table("", "this model", _BASELINE[evaluation.task])
    for name in evaluation.metrics:
        summary = evaluation[name]
        shown = [_number(value, summary.metric) for value in (summary.mean, summary.majority)]
        if shown[0] != "–":
            table.add_row(_title(evaluation, name), *shown)
            for target, one in _of_targets(evaluation, name, run.config.get("target_names", ())):
                table.add_row(
                    target, *(_number(value, one.metric) for value in (one.mean, one.majority))
                )
    console.print(table)
    confusion(console, evaluation)
    console.print(
        f"\nKept in {escape(str(run.path))}; predict with: [bold]edgnn predict {escape(quote(str(run.path)))} SOURCE[/]"
    )


def confusion(console: Any, evaluation: Evaluation) -> None:
    """Print how often each class was taken for each, if there are not too many."""
    from rich.markup import escape

    table = evaluation.confusion
    if table is None or not 2 <= len(table) <= _MOST_CLASSES:
        return
    names = [escape(_short(name)) for name in evaluation.class_names]
    shown = _table("true \\ predicted", *names)
    for name, row in zip(names, table.tolist(), strict=True):
        shown.add_row(name, *(f"{count:,}" for count in row))
    console.print()
    console.print(shown)


def _table(*titles: str) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for place, title in enumerate(titles):
        table.add_column(title, justify="right" if place else "left", overflow="fold")
    return table


def _title(evaluation: Evaluation, metric: str) -> str:
    """Return the name of a metric, with a class that fits the column."""
    from rich.markup import escape

    title = evaluation.title(metric) + (
        f", mean of {len(evaluation.by_target):,} targets" if evaluation.by_target else ""
    )
    if len(evaluation.class_names) == 2:
        second = evaluation.class_names[1]
        title = title.replace(f"({second})", f"({_short(second)})")
    return escape(title)


def _of_targets(
    evaluation: Evaluation, metric: str, names: Sequence[str]
) -> list[tuple[str, Summary]]:
    """Return the summaries of single targets where there are several, each with what stands before it in a table."""
    from rich.markup import escape

    from edgnn.studies import called

    shown = enumerate(evaluation.by_target[:_MOST_TARGETS])
    return [(f"  {escape(_short(called(names, place)))}", one[metric]) for place, one in shown]


def _number(value: float, metric: Metric) -> str:
    """Return a score in percent with one decimal, else with three; smaller errors (of any unit) with three digits."""
    if value != value:
        return "–"
    if metric.percent:
        return f"{100 * value:.1f}"
    small = metric.bounds[1] == float("inf") and 0 < abs(value) < 0.01
    return f"{value:.3g}" if small else f"{value:.3f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _short(name: str) -> str:
    """Return a name that fits a column: the last part of an IRI, the beginning of a long text."""
    if "://" in name:
        name = name.rstrip("/").replace("#", "/").rpartition("/")[2] or name
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def print_evaluation(
    evaluation: Evaluation,
    paper: Published | None,
    seconds: float,
    written: list[Path],
    names: Sequence[str] = (),
) -> None:
    """Print what an evaluation came to, beside the majority and the paper; ``names`` are those of several targets."""
    from rich.markup import escape

    console = _console()
    table = _table(
        "",
        "mean ± spread",
        "95 % interval",
        "least – most",
        _BASELINE[evaluation.task],
        *([] if paper is None else ["paper"]),
    )
    for place, name in enumerate(evaluation.metrics):
        beside = [] if paper is None else [str(paper) if place == 0 else ""]
        table.add_row(_title(evaluation, name), *_cells(evaluation[name]), *beside)
        for target, one in _of_targets(evaluation, name, names):
            table.add_row(target, *_cells(one))
    console.print()
    console.print(table)
    confusion(console, evaluation)
    console.print(
        f"\n{_count(len(evaluation.splits), 'model')} trained and judged in {duration(seconds)}"
    )
    for path in written:
        console.print(f"Written: {escape(str(path))}")


def _cells(summary: Summary) -> list[str]:
    """Return mean and spread, interval, extremes and baseline of a metric."""
    low, high, mean, spread, least, most, majority = (
        _number(value, summary.metric)
        for value in (
            *summary.interval,
            summary.mean,
            summary.spread,
            summary.minimum,
            summary.maximum,
            summary.majority,
        )
    )
    return [
        f"[bold]{mean} ± {spread}[/]",
        "–" if low == "–" else f"{low} to {high}",
        f"{least} – {most}",
        majority,
    ]
