"""``edgnn evaluate``: how good a model is on a data set, by a protocol, beside the majority and the paper."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn.cli._choices import (
    Config,
    SettingsRow,
    make_estimator,
    read_config,
    recipe_of,
    told_options,
    validation_of,
)
from edgnn.cli._complete import words
from edgnn.cli._datasets import DataDir, Json, Options, parse_options
from edgnn.cli._interrupt import softly_interrupted
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._parameters import Device, Seed, ValidationShare, takes_parameters, value_of
from edgnn.cli._progress import Progress
from edgnn.cli._show import introduction, print_evaluation
from edgnn.cli._source import (
    Regression,
    Source,
    SourceArgument,
    TargetFile,
    TargetOption,
    TaskOption,
    check_place,
    check_told,
)
from edgnn.cli._threads import use_few_threads
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.evaluation import Evaluation, Split
    from edgnn.io.datasets import Dataset
    from edgnn.studies import Published, Recipe

_OPTIONS = (
    "task",
    "target",
    "target_file",
    "regression",
    "options",
    "settings",
    "validation",
    "test",
    "seed",
    "protocol",
    "runs",
    "model",
    "metric",
)


@takes_parameters("conv")
def evaluate(
    context: typer.Context,
    source: SourceArgument,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            autocompletion=words("protocol"),
            help="cv10x10 (or any cvKxR), holdout, split or scaffold; default: as the settings or data say.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            autocompletion=words("model"),
            help="edgnn (the default), gnn, joint; ridge, blend (no epochs; small data); or a rival: majority, csm, wlsp, rgcn, "
            "wl-rdf, rdf2vec, wl-subtree, gin.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            autocompletion=words("metric"),
            help="accuracy, balanced_accuracy, roc_auc, pr_auc, f1, rmse, mae, r2; repeatable.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            min=1,
            metavar="N",
            help="How many runs; default: as the protocol says, or 10.",
        ),
    ] = None,
    settings: SettingsRow = None,
    config: Config = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A JSON file for everything, predictions too.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="A page (HTML) about it.")] = None,
    task: TaskOption = None,
    target: TargetOption = None,
    target_file: TargetFile = None,
    regression: Regression = None,
    validation: ValidationShare = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="SHARE",
            help="Share of the test part of holdout and scaffold; default 0.1.",
        ),
    ] = None,
    seed: Seed = None,
    device: Device = None,
    memory: MemoryOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
    *,
    parameters: dict[str, Any],
) -> None:
    """Evaluate a model by a protocol: the same splits for every model."""
    check_place(out, "--out")
    check_place(report, "--report")
    check_told(source, {"options": parse_options(option), "target_file": target_file})
    from edgnn.studies import default_protocol, is_of_paper, paper_row, published_accuracy

    with ceiling(memory, source):
        own, in_file = read_config(config, _OPTIONS)
        options = own | told_options(
            task=task,
            target=target,
            target_file=target_file,
            regression=regression,
            options=option,
            settings=settings,
            validation=validation,
            test=test,
            seed=seed,
            protocol=protocol,
            runs=runs,
            model=model,
            metric=metric or None,
        )
        origin = Source.of(source, options, data_dir)
        data = origin.load()
        row = recipe_of(_settings_row(options), data)
        model = str(options.get("model") or ("edgnn" if row is None else row.model)).lower()
        if row is not None and row.model != ("edgnn" if model in ("gnn", "joint") else model):
            raise EdgnnError(
                f"the settings {row.row!r} are those of {row.model}, not of {model}: leave out one of the two"
            )
        if "conv" in in_file | parameters:
            raise EdgnnError("conv is what --model chooses here: --model gnn, joint, rgcn or gin")
        chosen = in_file | parameters | ({} if device is None else {"device": device})
        name = options.get("protocol") or default_protocol(
            data, None if row is None else row.protocol
        )
        splits = _splits(data, name, options, row)
        estimator = make_estimator(
            data,
            ({} if row is None else row.estimator) | chosen,
            model=model,
            validation=validation_of(options.get("validation"), row),
            seed=options.get("seed", 0),
        )
        if not as_json and not quiet:
            introduction(
                data,
                estimator,
                *origin.columns(),
                _plan(name, splits, None if row is None else row.row),
            )
        evaluation, seconds, history, stopped = _run(estimator, data, splits, options, quiet)
        comparable = evaluation.metrics[0] == "accuracy" and is_of_paper(data, name, splits)
        beside = paper_row(model)
        paper = published_accuracy(data.name, beside) if comparable and beside is not None else None
        about = {
            "command": context.meta["command"],
            "data": data.name,
            "protocol": name,
            "model": model,
            "settings": None if row is None else row.row,
            "seed": options.get("seed", 0),
            **({} if stopped is None else {"interrupted after epoch": stopped}),
        }
        if out is not None:
            _write_json(out, about, evaluation, paper, seconds)
        if report is not None:
            _write_report(report, data, about, evaluation, paper, seconds, history)
        if stopped is not None:
            typer.echo(f"edgnn: interrupted after epoch {stopped}, results so far:", err=True)
        if as_json:
            typer.echo(
                json.dumps(
                    _summary(about, evaluation, paper, seconds), indent=2, ensure_ascii=False
                )
            )
        else:
            print_evaluation(
                evaluation,
                paper,
                seconds,
                [path for path in (out, report) if path is not None],
                origin.target,
            )
        if stopped is not None:
            raise typer.Exit(130)


def _splits(
    data: Dataset, protocol: str, options: dict[str, Any], row: Recipe | None
) -> list[Split]:
    from edgnn.studies import protocol_splits

    test = value_of(options.get("test", 0.1))
    if not isinstance(test, float):
        raise EdgnnError(f"test={options['test']!r}: choose a share between 0 and 1")
    validation = validation_of(options.get("validation"), row)
    if isinstance(validation, str) and protocol != "split" and "validation" not in options:
        validation = validation_of(None, None)
    return protocol_splits(
        data,
        protocol,
        validation=validation,
        test=test,
        runs=options.get("runs"),
        seed=options.get("seed", 0),
    )


def _settings_row(options: dict[str, Any]) -> str | None:
    """Return the stored settings that were asked for, else those that bear the model's name."""
    from edgnn.studies import rows

    told: str | None = options.get("settings")
    model = str(options.get("model", "")).lower()
    return model if told is None and model in rows() else told


def _plan(protocol: str, splits: list[Split], settings: str | None) -> str:
    from edgnn.studies import protocol_title

    how = "" if settings is None else f", settings {settings!r}"
    return f"{protocol_title(protocol, splits)}: {len(splits)} model{'s' * (len(splits) != 1)}{how}"


def _run(
    estimator: Any, data: Dataset, splits: list[Split], options: dict[str, Any], quiet: bool
) -> tuple[Evaluation, float, list[dict[str, Any]], int | None]:
    """Train and judge; return how long it took, the losses, and the epoch at which Ctrl-C ended it, if it did."""
    from edgnn.evaluation import evaluate
    from edgnn.models import memory_errors
    from edgnn.studies import items_of

    epochs = getattr(estimator, "max_epochs", None)
    progress = Progress(
        epochs or len(splits), "training", "split" if epochs is None else "epoch", quiet=quiet
    )
    if epochs is not None:
        use_few_threads(estimator, data, len(splits))
    elif (
        getattr(estimator, "backend", None) == "grakel"
        and not quiet
        and hasattr(estimator, "verbose")
    ):
        estimator.set_params(verbose=1)  # GraKeL's matrix takes minutes before the first split
    history: list[dict[str, Any]] = []
    stopped = None

    def on_progress(now: Any) -> bool:
        nonlocal stopped
        if now.epoch is None:
            progress.step(now.done)
            return False
        progress.epoch(now.epoch)
        history.append(
            {
                "epoch": now.done,
                "train_loss": now.epoch.train_loss,
                "valid_loss": now.epoch.valid_loss,
            }
        )
        stopped = now.done if interrupt.asked else None
        return interrupt.asked

    start = time.perf_counter()
    with softly_interrupted(when=epochs is not None) as interrupt, progress, memory_errors():
        evaluation = evaluate(
            estimator,
            items_of(data),
            data.targets,
            splits,
            metrics=options.get("metric"),
            class_names=data.class_names or None,
            on_progress=on_progress,
        )
    return evaluation, time.perf_counter() - start, history, stopped


def _summary(
    about: dict[str, Any], evaluation: Evaluation, paper: Published | None, seconds: float
) -> dict[str, Any]:
    """Return the results without what is said about single items; of several targets, those of each as well."""
    document = evaluation.to_dict()
    figure = (
        None if paper is None else {"row": paper.row, "mean": paper.mean, "spread": paper.spread}
    )
    kept = {name: document[name] for name in ("task", "class_names", "metrics", "confusion")}
    each = (
        {"by_target": [one.to_dict()["metrics"] for one in evaluation.by_target]}
        if evaluation.by_target
        else {}
    )
    return (
        about
        | {"splits": len(evaluation.splits), "seconds": seconds, "paper": figure}
        | kept
        | each
    )


def _write_json(
    out: Path,
    about: dict[str, Any],
    evaluation: Evaluation,
    paper: Published | None,
    seconds: float,
) -> None:
    from edgnn._files import atomic_file
    from edgnn.training import environment

    document = _summary(about, evaluation, paper, seconds) | {
        "environment": environment(),
        "evaluation": evaluation.to_dict(),
    }
    with atomic_file(out) as stream:
        stream.write(json.dumps(document, indent=1, ensure_ascii=False).encode())


def _write_report(
    path: Path,
    data: Dataset,
    about: dict[str, Any],
    evaluation: Evaluation,
    paper: Published | None,
    seconds: float,
    history: list[dict[str, Any]],
) -> None:
    from edgnn.report import write_evaluation_report
    from edgnn.training import environment

    write_evaluation_report(
        path,
        evaluation,
        title=f"{about['model']} on {data.name}",
        paper=None if paper is None else (paper.mean, paper.spread),
        settings=about | {"parameters": evaluation.settings["parameters"]},
        environment=environment(),
        seconds=seconds,
        history=history,
    )
