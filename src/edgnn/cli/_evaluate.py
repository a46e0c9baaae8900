"""``edgnn evaluate``: a model's scores on a data set by a protocol, beside majority and paper."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import check_file_to_write
from edgnn._values import parse_value
from edgnn._words import counted
from edgnn.cli._choices import Choice, validation_of
from edgnn.cli._complete import names, words
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._options import Json, Quiet, SourceArgument, print_json
from edgnn.cli._parameters import Choices, training_command
from edgnn.cli._process import softly_interrupted, use_few_threads
from edgnn.cli._progress import Progress
from edgnn.cli._show import introduction, print_evaluation
from edgnn.cli._source import Source, check_files
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.evaluation import Evaluation, Split
    from edgnn.io.datasets import Dataset
    from edgnn.studies import Published

Protocol = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        autocompletion=words("protocol"),
        help="cv10x10 (or any cvKxR), holdout, split, scaffold (another one in each run) or "
        "scaffold-fixed; default: as the settings or data say.",
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        autocompletion=words("metric"),
        help=f"{', '.join(names('metric'))}; repeatable; default: what the targets deserve.",
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(
        "--runs",
        min=1,
        metavar="N",
        help="Number of runs; default: as the protocol says, 1 of a split of your own, or 10.",
    ),
]
TestFraction = Annotated[
    str | None,
    typer.Option(
        "--test",
        metavar="FRACTION",
        help="Test set of holdout and scaffold as a fraction; default 0.1.",
    ),
]


@training_command("conv", protocol=Protocol, metric=Metric, runs=Runs, test=TestFraction)
def evaluate(
    context: typer.Context,
    source: SourceArgument,
    out: Annotated[
        Path | None, typer.Option("--out", help="A JSON file for everything, predictions too.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="A page (HTML) about it.")] = None,
    memory: MemoryOption = None,
    quiet: Quiet = False,
    as_json: Json = False,
    *,
    choices: Choices,
) -> None:
    """Evaluate a model by a protocol: the same splits for every model."""
    check_file_to_write(out, "--out")
    check_file_to_write(report, "--report")
    check_files(source, choices.options)
    with ceiling(memory, source):
        plan = _Plan.of(source, choices.with_config())
        if not as_json and not quiet:
            introduction(plan.data, plan.choice.model, *plan.source.columns(), *plan.lines)
        outcome = _run(plan, quiet)
        about = plan.about(context.meta["command"], outcome)
        if out is not None:
            _write_json(out, about, outcome)
        if report is not None:
            _write_report(report, about, outcome)
        if outcome.stopped is not None:
            after = f"epoch {outcome.stopped}"
            typer.echo(f"edgnn: interrupted after {after}, results so far:", err=True)
        if as_json:
            print_json(_summary(about, outcome))
        else:
            written = [path for path in (out, report) if path is not None]
            print_evaluation(
                outcome.evaluation, outcome.paper, outcome.seconds, written, plan.data.target_names
            )
        if outcome.stopped is not None:
            raise typer.Exit(130)


@dataclass(frozen=True)
class _Plan:
    """What is evaluated on what: all that is decided before the first model is trained."""

    source: Source
    data: Dataset
    options: dict[str, Any]
    choice: Choice
    protocol: str
    splits: list[Split]

    @classmethod
    def of(cls, name: str, choices: Choices) -> _Plan:
        from edgnn.evaluation import default_protocol

        options, parameters = choices.options, choices.parameters
        if "conv" in parameters:
            raise EdgnnError("conv is what --model chooses here: --model gnn, joint, rgcn or gin")
        source = Source.of(name, options, choices.data_dir)
        data = source.load()
        choice = Choice.of(options, parameters, data)
        protocol = options.get("protocol")
        if source.own_split:
            if protocol is not None:
                raise EdgnnError(
                    f"--protocol {protocol} and {source.own_split} both say how to split: "
                    "leave out one of the two"
                )
            protocol = "given"
        elif protocol is None:
            stored = choice.settings
            protocol = default_protocol(data, None if stored is None else stored.protocol)
        splits = _splits(data, protocol, options, choice, source.splits_file)
        return cls(source, data, options, choice, protocol, splits)

    @property
    def settings(self) -> str | None:
        """The name of the stored settings."""
        return None if self.choice.settings is None else self.choice.settings.row

    @property
    def model(self) -> Any:
        """What is evaluated: a model, or a search among candidates."""
        from edgnn.evaluation import Search

        if not self.choice.grid:
            return self.choice.model
        metrics = self.options.get("metric") or [None]
        return Search(self.choice.model, self.choice.grid, metrics[0])

    @property
    def lines(self) -> list[str]:
        """The protocol, and what is chosen inside the training sets, in a line each."""
        from edgnn.evaluation import protocol_title

        title = f"split by {self.source.own_split}"
        if not self.source.own_split:
            title = protocol_title(self.protocol, self.splits)
        settings = "" if self.settings is None else f", settings {self.settings!r}"
        lines = [f"{title}: {counted(len(self.splits), 'model')}{settings}"]
        if self.choice.reason:
            lines.append(self.choice.reason)
        if self.choice.grid:
            grid = self.choice.grid.items()
            tried = "; ".join(f"{name}={','.join(map(str, values))}" for name, values in grid)
            lines.append(f"chosen inside each training set: {tried}")
        return lines

    def about(self, command: str, outcome: _Outcome) -> dict[str, Any]:
        """Return how the results came about, as pages and JSON have it."""
        about = {
            "command": command,
            "data": self.data.name,
            "protocol": self.protocol,
            **({"split": self.source.own_split} if self.source.own_split else {}),
            "model": self.choice.name,
            "settings": self.settings,
            "seed": self.choice.seed,
        }
        if outcome.stopped is not None:
            about["interrupted after epoch"] = outcome.stopped
        return about


def _splits(
    data: Dataset, protocol: str, options: dict[str, Any], choice: Choice, file: str | None
) -> list[Split]:
    from edgnn.evaluation import protocol_splits, read_splits

    test = parse_value(options.get("test", 0.1))
    if not isinstance(test, float):
        raise EdgnnError(f"test={options['test']!r}: choose a fraction between 0 and 1")
    validation = choice.validation
    if isinstance(validation, str) and protocol != "split" and "validation" not in options:
        validation = validation_of(None, None)  # the settings' own is for the published split
    if file is not None:
        fraction = validation if isinstance(validation, float) else None
        repeats = options.get("runs") or 1
        return read_splits(file, data, validation=fraction, repeats=repeats, seed=choice.seed)
    runs = options.get("runs")
    if protocol == "given":
        protocol, runs = "split", runs or 1
    return protocol_splits(
        data,
        protocol,
        validation=validation,
        test=test,
        runs=runs,
        seed=choice.seed,
    )


@dataclass
class _Outcome:
    """What an evaluation came to; ``stopped`` is the epoch at which Ctrl-C ended it."""

    evaluation: Evaluation
    seconds: float
    paper: Published | None
    stopped: int | None
    history: list[dict[str, Any]] = field(default_factory=list)


def _run(plan: _Plan, quiet: bool) -> _Outcome:
    """Train and evaluate the models of all splits."""
    from edgnn.evaluation import evaluate
    from edgnn.models import memory_errors

    model, splits = plan.model, plan.splits
    by_epochs = model.trains_by_epochs
    if by_epochs:
        progress = Progress(model.max_epochs, quiet=quiet)
        use_few_threads(model, plan.data, len(splits))
    elif plan.choice.grid:
        progress = Progress(len(model.candidates), "candidate", quiet=quiet)
    else:
        progress = Progress(len(splits), "split", quiet=quiet)
    history: list[dict[str, Any]] = []
    stopped = None

    def on_progress(now: Any) -> bool:
        nonlocal stopped
        if now.epoch is None:
            progress.step(now.done)
            return False
        progress.epoch(now.epoch)
        losses = {"train_loss": now.epoch.train_loss, "valid_loss": now.epoch.valid_loss}
        history.append({"epoch": now.done} | losses)
        stopped = now.done if interrupt.asked else None
        return interrupt.asked

    begin = time.perf_counter()
    with softly_interrupted(when=by_epochs) as interrupt, progress, memory_errors():
        evaluation = evaluate(
            model,
            plan.data.items,
            plan.data.targets,
            splits,
            metrics=plan.options.get("metric"),
            class_names=plan.data.class_names or None,
            subsets=plan.data.subsets,
            on_progress=on_progress,
        )
    seconds = time.perf_counter() - begin
    return _Outcome(evaluation, seconds, _paper(plan, evaluation), stopped, history)


def _paper(plan: _Plan, evaluation: Evaluation) -> Published | None:
    """Return the paper's figure, where it was found in the same way."""
    from edgnn.studies import is_of_paper, paper_row, published_accuracy

    row = paper_row(plan.choice.name)
    comparable = is_of_paper(plan.data, plan.protocol, plan.splits)
    if row is None or not comparable or evaluation.metrics[0] != "accuracy":
        return None
    return published_accuracy(plan.data.name, row)


def _summary(about: dict[str, Any], outcome: _Outcome) -> dict[str, Any]:
    """Return the results without those of single items; of several targets, each one's as well."""
    from edgnn.evaluation import selection_rows

    evaluation, paper = outcome.evaluation, outcome.paper
    figure = None
    if paper is not None:
        figure = {"row": paper.row, "mean": paper.mean, "spread": paper.spread}
    document = evaluation.to_dict()
    summary = about | {
        "splits": len(evaluation.splits),
        "seconds": outcome.seconds,
        "paper": figure,
    }
    summary |= {name: document[name] for name in ("task", "class_names", "metrics", "confusion")}
    if evaluation.by_target:
        summary["by_target"] = [one.to_dict()["metrics"] for one in evaluation.by_target]
    if evaluation.by_subset:
        by_subset = evaluation.by_subset.items()
        summary["by_subset"] = {name: one.to_dict()["metrics"] for name, one in by_subset}
    if rows := selection_rows(evaluation):
        summary["search"] = rows
    return summary


def _write_json(out: Path, about: dict[str, Any], outcome: _Outcome) -> None:
    from edgnn._files import atomic_file
    from edgnn.training import environment

    document = _summary(about, outcome)
    document |= {"environment": environment(), "evaluation": outcome.evaluation.to_dict()}
    with atomic_file(out) as stream:
        stream.write(json.dumps(document, indent=1, ensure_ascii=False).encode())


def _write_report(path: Path, about: dict[str, Any], outcome: _Outcome) -> None:
    from edgnn.report import write_evaluation_report
    from edgnn.training import environment

    evaluation, paper = outcome.evaluation, outcome.paper
    write_evaluation_report(
        path,
        evaluation,
        title=f"{about['model']} on {about['data']}",
        paper=None if paper is None else (paper.mean, paper.spread),
        settings=about | {"parameters": evaluation.settings["parameters"]},
        environment=environment(),
        seconds=outcome.seconds,
        history=outcome.history,
    )
