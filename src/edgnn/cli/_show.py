"""What the training commands print: data and model first, then the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from edgnn._tried import coverage_text, tried_table
from edgnn._words import counted, cut, duration, short_iri
from edgnn.cli._options import console

if TYPE_CHECKING:
    from edgnn.evaluation import Evaluation, Metric, Summary
    from edgnn.io.datasets import Dataset
    from edgnn.models import Answer, Model
    from edgnn.studies import Published
    from edgnn.training import RunFolder

_MOST_CLASSES = 12
_MOST_TARGETS = 20
_LONGEST_NAME = 24
#: What a model is compared with, by task.
BASELINE = {"classes": "majority", "labels": "majority", "values": "predicting the mean"}
_EVALUATED_ON = {
    "test": "test set",
    "validation": "validation set, which chose the epoch",
    "training": "training set itself",
}


def introduction(data: Dataset, estimator: Any, *more: str) -> None:
    """Print the data, the model, and more lines."""
    from rich.markup import escape

    screen = console(wide=True)
    screen.print(f"[bold]{escape(data.name)}[/]  {escape(_about_data(data))}")
    for line in (_about_model(estimator), *more):
        screen.print(escape(line), soft_wrap=True)


def _about_data(data: Dataset) -> str:
    """Return how many items there are to learn from, and what of them."""
    items = counted(len(data), data.level)
    if data.level == "node":
        items += f" of {data.graphs.num_nodes:,}"
    assert data.targets is not None
    if data.class_names:
        return f"{items}, {len(data.class_names)} classes"
    width = 1 if data.targets.ndim == 1 else data.targets.shape[1]
    return f"{items}, {counted(width, 'target')}"


def _about_model(estimator: Any) -> str:
    """Return in a line what is trained, and how."""
    if not hasattr(estimator, "conv"):
        return _summary_of(estimator)
    conv = estimator.conv
    name = conv if isinstance(conv, str) else getattr(conv, "__name__", type(conv).__name__)
    facts = [f"{name}, {counted(estimator.layers, 'layer')} × {estimator.hidden}"]
    if estimator.batch_norm:
        facts.append("batch norm")
    if estimator.dropout:
        facts.append(f"dropout {estimator.dropout:g}")
    facts.append(f"learning rate {estimator.learning_rate:g}")
    facts.append(f"at most {counted(estimator.max_epochs, 'epoch')}")
    if estimator.members > 1:
        facts.append(f"{estimator.members} members")
    return ", ".join(facts)


def _summary_of(estimator: Any) -> str:
    """Return what the registry says about an estimator."""
    from edgnn.registry import MODELS

    name, summary = type(estimator).__name__, ""
    parameters = estimator.get_params(deep=False)
    for model in MODELS.values():
        for level, classes in model.classes.items():
            for task, target in classes.items():
                if not target.endswith(f":{name}"):
                    continue
                summary = summary or model.summary
                stands_for = model.find_parameters(level, task)
                # several names stand for one class, and one of them for just these parameters
                if stands_for and stands_for.items() <= parameters.items():
                    return model.summary
    return summary or name


def print_training(run: RunFolder, model: Model, answer: Answer, evaluation: Evaluation) -> None:
    """Print what a training came to."""
    from rich.markup import escape

    from edgnn.training import METRICS

    screen = console(wide=True)
    screen.print(f"{_training_line(model, answer)}\n")
    print_tried(getattr(model, "tried_", ()))
    items = counted(len(answer.items), "item")
    screen.print(f"On the {items} of the {_EVALUATED_ON[answer.part]}:")
    table = result_table("", "this model", BASELINE[evaluation.task])
    for name in evaluation.metrics:
        summary = evaluation[name]
        if summary.mean != summary.mean:  # NaN: cannot be computed here
            continue
        table.add_row(_title(evaluation, name), *_beside_baseline(summary))
        for target, one in _of_targets(evaluation, name, run.config.get("target_names", ())):
            table.add_row(target, *_beside_baseline(one))
    screen.print(table)
    _print_confusion(screen, evaluation)
    if coverage := coverage_text(run.read_json(METRICS).get("coverage")):
        screen.print(f"\n{coverage}")
    command = f"edgnn predict {escape(quote(str(run.path)))} SOURCE"
    screen.print(f"\nKept in {escape(str(run.path))}; predict with: [bold]{command}[/]")


def print_tried(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print which learners were tried, how well each predicts held-out items, and its share."""
    titles, cells = tried_table(rows)
    if not cells:
        return
    table = result_table(*titles)
    for row in cells:
        table.add_row(*row)
    screen = console(wide=True)
    screen.print(table)
    screen.print()


def _training_line(model: Model, answer: Answer) -> str:
    """Return how many items were trained on, for how long, and which epoch was kept."""
    lacking = ""
    if answer.lacking:
        verb = "has" if answer.lacking == 1 else "have"
        lacking = f"; {answer.lacking:,} {verb} no target"
    seconds = duration(answer.seconds)
    if not model.trains_by_epochs:
        return f"trained on {len(answer.train):,}{lacking}; fitted in {seconds}"
    best = sorted(set(model.best_epoch_))
    epochs = str(best[0]) if len(best) == 1 else f"{best[0]}–{best[-1]}"
    sets = f"trained on {len(answer.train):,}, validated on {len(answer.valid):,}{lacking}"
    return f"{sets}; kept epoch {epochs} of {len(model.history_)}, {seconds}"


def print_evaluation(
    evaluation: Evaluation,
    paper: Published | None,
    seconds: float,
    written: list[Path],
    target_names: Sequence[str] = (),
) -> None:
    """Print what an evaluation came to, beside the majority and the paper."""
    from rich.markup import escape

    from edgnn.evaluation import selection_rows

    screen = console(wide=True)
    titles = ["", "mean ± spread", "95 % interval", "least – most", BASELINE[evaluation.task]]
    if paper is not None:
        titles.append("paper")
    table = result_table(*titles)
    for name in evaluation.metrics:
        cells = summary_cells(evaluation[name])
        if paper is not None:
            cells.append(str(paper) if name == evaluation.metrics[0] else "")
        table.add_row(_title(evaluation, name), *cells)
        for target, one in _of_targets(evaluation, name, target_names):
            table.add_row(target, *summary_cells(one))
        for subset, of_subset in evaluation.by_subset.items():
            table.add_row(f"  {escape(_short(subset))}", *summary_cells(of_subset[name]))
    screen.print()
    if rows := selection_rows(evaluation):
        print_candidates(rows, evaluation.metrics[0])
    screen.print(table)
    _print_confusion(screen, evaluation)
    models = counted(len(evaluation.splits), "model")
    screen.print(f"\n{models} trained and evaluated in {duration(seconds)}")
    for path in written:
        screen.print(f"Written: {escape(str(path))}")


def print_candidates(rows: Sequence[Mapping[str, Any]], metric: str) -> None:
    """Print what was tried for parameters that had candidates, and what was chosen."""
    from rich.markup import escape

    from edgnn.evaluation import find_metric

    kind = find_metric(metric)
    name = kind.name.replace("_", " ") + (" (%)" if kind.percent else "")
    table = result_table("candidate", f"{name}, inside the training set", "chosen")
    for row in rows:
        text = ", ".join(f"{key}={value}" for key, value in row["parameters"].items())
        value = float("nan") if row["score"] is None else row["score"]
        table.add_row(escape(text), score(value, kind), str(row["chosen"] or ""))
    screen = console(wide=True)
    screen.print(table)
    screen.print()


def _print_confusion(screen: Any, evaluation: Evaluation) -> None:
    """Print how often each class was taken for each, if there are not too many."""
    from rich.markup import escape

    counts = evaluation.confusion
    if counts is None or not 2 <= len(counts) <= _MOST_CLASSES:
        return
    names = [escape(_short(name)) for name in evaluation.class_names]
    table = result_table("true \\ predicted", *names)
    for name, row in zip(names, counts.tolist(), strict=True):
        table.add_row(name, *(f"{count:,}" for count in row))
    screen.print()
    screen.print(table)


def result_table(*titles: str) -> Any:
    """Return a table whose first column is text, and the others numbers."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for place, title in enumerate(titles):
        table.add_column(title, justify="right" if place else "left", overflow="fold")
    return table


def summary_cells(summary: Summary) -> list[str]:
    """Return mean and spread, interval, extremes and baseline of a metric."""
    metric = summary.metric
    mean, spread = score(summary.mean, metric), score(summary.spread, metric)
    low, high = (score(value, metric) for value in summary.interval)
    return [
        f"[bold]{mean} ± {spread}[/]",
        "–" if low == "–" else f"{low} to {high}",
        f"{score(summary.minimum, metric)} – {score(summary.maximum, metric)}",
        score(summary.majority, metric),
    ]


def score(value: float, metric: Metric) -> str:
    """Return a score in percent with one decimal, else with three; small errors in three digits."""
    if value != value:
        return "–"
    if metric.percent:
        return f"{100 * value:.1f}"
    is_error = metric.bounds[1] == float("inf")  # of any unit
    return f"{value:.3g}" if is_error and 0 < abs(value) < 0.01 else f"{value:.3f}"


def _beside_baseline(summary: Summary) -> list[str]:
    return [score(value, summary.metric) for value in (summary.mean, summary.majority)]


def _title(evaluation: Evaluation, metric: str) -> str:
    """Return the name of a metric, with a class that fits the column."""
    from rich.markup import escape

    title = evaluation.title(metric)
    if evaluation.by_target:
        title += f", mean of {len(evaluation.by_target):,} targets"
    if len(evaluation.class_names) == 2:
        second = evaluation.class_names[1]
        title = title.replace(f"({second})", f"({_short(second)})")
    return escape(title)


def _of_targets(
    evaluation: Evaluation, metric: str, names: Sequence[str]
) -> list[tuple[str, Summary]]:
    """Return the first cell and the summary of each target, where there are several."""
    from rich.markup import escape

    from edgnn.evaluation import target_name

    rows = []
    for number, one in enumerate(evaluation.by_target[:_MOST_TARGETS]):
        rows.append((f"  {escape(_short(target_name(names, number)))}", one[metric]))
    return rows


def _short(name: str) -> str:
    """Return a name that fits a column."""
    return cut(short_iri(name), _LONGEST_NAME)
