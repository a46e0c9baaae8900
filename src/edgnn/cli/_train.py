"""``edgnn train``: a model from data, in a run folder that survives any interruption."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import check_new_run
from edgnn.cli._choices import (
    Config,
    SettingsRow,
    make_estimator,
    read_config,
    recipe_of,
    told_options,
    validation_of,
)
from edgnn.cli._complete import sources
from edgnn.cli._datasets import DataDir, Json, Options
from edgnn.cli._interrupt import softly_interrupted
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._parameters import Device, Seed, ValidationShare, takes_parameters
from edgnn.cli._progress import Progress
from edgnn.cli._ranks import Lead, agree, joined, launch, restarted, told
from edgnn.cli._resume import check_same, judged_part, stored_choices
from edgnn.cli._show import introduction, print_training
from edgnn.cli._source import Regression, Source, TargetFile, TargetOption, TaskOption, check_told
from edgnn.cli._threads import use_few_threads, use_threads_of
from edgnn.errors import EdgnnError, RunError

if TYPE_CHECKING:
    from edgnn.evaluation import Split
    from edgnn.io.datasets import Dataset
    from edgnn.models import Estimator
    from edgnn.training import Group, RunFolder

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
)


@takes_parameters()
def train(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="The run folder to make.")],
    source: Annotated[
        str | None,
        typer.Argument(
            autocompletion=sources,
            help="A data set's name, or a file or folder in any format edgnn reads.",
        ),
    ] = None,
    task: TaskOption = None,
    target: TargetOption = None,
    target_file: TargetFile = None,
    regression: Regression = None,
    settings: SettingsRow = None,
    config: Config = None,
    validation: ValidationShare = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="SHARE",
            help="What to judge on: published (default where there is such a part), a share, none.",
        ),
    ] = None,
    seed: Seed = None,
    device: Device = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with an interrupted run; all but --out can be left out. --max-epochs may end it, or make it longer.",
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Throw away the run that is in the folder.")
    ] = False,
    memory: MemoryOption = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")
    ] = False,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
    *,
    parameters: dict[str, Any],
) -> None:
    """Train a model and keep it in a run folder.

    It is judged on the published test part of the data, where there is one, else on the validation
    part. Started by torchrun (torchrun --nproc-per-node 2 -m edgnn train ...), several processes
    train it together.
    """
    with (
        ceiling(memory, source, _stored_source(out) if resume and memory else None),
        joined() as group,
    ):
        own, in_file = read_config(config, _OPTIONS)
        given = told_options(
            task=task,
            target=target,
            target_file=target_file,
            regression=regression,
            options=option,
            settings=settings,
            validation=validation,
            test=test,
            seed=seed,
        )
        device_ = {} if device is None else {"device": device}
        wish = _Wish(
            out,
            own | given,
            in_file | parameters | device_,
            data_dir,
            quiet,
            as_json,
            context.meta["command"],
        )
        if resume and overwrite:
            raise EdgnnError(
                "--resume goes on with a run and --overwrite throws it away: choose one"
            )
        if group is not None and not group.first:
            _follow(wish, group)
            return
        with Lead(group) as lead:
            _lead(wish, lead, source, resume=resume, overwrite=overwrite)


@dataclass(frozen=True)
class _Wish:
    """What the command was told: its own options, parameters of the estimator, and how to speak."""

    out: Path
    options: dict[str, Any]
    parameters: dict[str, Any]
    data_dir: Path | None
    quiet: bool
    as_json: bool
    command: str


def _lead(wish: _Wish, lead: Lead, source: str | None, *, resume: bool, overwrite: bool) -> None:
    out = wish.out
    if source is not None:
        check_told(source, wish.options)
    if (resume and _holds_run(out)) or (lead.group is not None and restarted(out)):
        _resume(wish, lead, source)
        return
    if source is None:
        way = f"there is no run in {out} to resume: " if resume else ""
        raise EdgnnError(f"{way}name the data to train on, such as: edgnn train MUTAG --out {out}")
    check_new_run(out, overwrite)
    if resume and not wish.quiet:
        typer.echo(f"there is no run in {out} yet: starting it", err=True)
    _start(wish, lead, source, overwrite)


def _start(wish: _Wish, lead: Lead, name: str, overwrite: bool) -> None:
    from edgnn.models import start_run
    from edgnn.studies import items_of, task_of_dataset

    options = wish.options
    source = Source.of(name, options, wish.data_dir)
    data = source.load()
    row = recipe_of(options.get("settings"), data)
    if row is not None and row.model != "edgnn":
        raise EdgnnError(
            f"the settings {row.row!r} are those of a rival: edgnn evaluate --settings {row.row} takes them"
        )
    parts = {
        "test": judged_part(options.get("test"), data),
        "validation": validation_of(options.get("validation"), row),
    }
    seed = options.get("seed", 0)
    parameters = ({} if row is None else row.estimator) | wish.parameters
    estimator = make_estimator(data, parameters, validation=parts["validation"], seed=seed)
    split = _split(data, parts, seed)
    use_few_threads(estimator, data)
    about = {
        "command": wish.command,
        "settings": options.get("settings"),
        "source": source.stored(),
        "parts": parts,
        "level": data.level,
        "task": task_of_dataset(data),
        "class_names": list(data.class_names),
        "target_names": list(source.target),
    }
    if lead.group is not None:
        about |= {"ranks": lead.group.size, "launch": launch()}
    run = start_run(
        wish.out,
        estimator,
        items_of(data),
        data.targets,
        split,
        about=about,
        class_names=data.class_names,
        overwrite=overwrite,
    )
    lead.tell(run, source.stored())
    _train(wish, run, estimator, source, data, split, lead.group)


def _resume(wish: _Wish, lead: Lead, name: str | None) -> None:
    from edgnn.models import change_epochs, check_data, checkpoint_epoch, estimator_of, finished
    from edgnn.studies import items_of
    from edgnn.training import RunFolder

    run = RunFolder.open(wish.out)
    estimator = estimator_of(run)
    origin, parts = stored_choices(run)
    given = (
        origin
        if name is None
        else origin | {key: value for key, value in wish.options.items() if key in origin}
    )
    source = Source.of(name or origin["name"], given, wish.data_dir or origin.get("data_dir"))
    data = source.load()
    check_data(run, items_of(data), data.targets)
    check_same(wish.options, wish.parameters, run, estimator, data)
    if "max_epochs" in wish.parameters:
        change_epochs(run, estimator, wish.parameters["max_epochs"])
    if finished(run):
        _say_finished(wish, run)
        return
    use_threads_of(run)
    epoch = checkpoint_epoch(run)
    begun = f"{'ending' if epoch >= estimator.max_epochs else 'resuming'} {run.path} after epoch {epoch}"
    lead.tell(run, source.stored())
    split = _split(data, parts, int(estimator.random_state))
    _train(wish, run, estimator, source, data, split, lead.group, begun)


def _follow(wish: _Wish, group: Group) -> None:
    """Train what rank 0 trains, as one of the other ranks."""
    from edgnn.models import check_data, estimator_of, train_run
    from edgnn.studies import items_of

    run, source = told(group)
    estimator = estimator_of(run)
    try:
        data = Source.of(source["name"], source, wish.data_dir or source["data_dir"]).load()
        check_data(run, items_of(data), data.targets)
    except (EdgnnError, OSError) as error:
        agree(group, error)
        raise
    agree(group)
    split = _split(data, run.config["parts"], int(estimator.random_state))
    train_run(run, estimator, items_of(data), data.targets, split, group=group)


def _train(
    wish: _Wish,
    run: RunFolder,
    estimator: Estimator,
    source: Source,
    data: Dataset,
    split: Split | None,
    group: Group | None,
    begun: str = "",
) -> None:
    from edgnn.models import checkpoint_epoch, train_run
    from edgnn.studies import finish_run, items_of

    progress = Progress(estimator.max_epochs, "training", quiet=wish.quiet)

    def on_epoch(epoch: Any) -> None:
        progress.epoch(epoch)
        if interrupt.asked:
            raise KeyboardInterrupt

    try:
        with run.lock():
            agree(group)
            if begun and not wish.quiet:
                typer.echo(begun, err=True)
            if not wish.quiet and not wish.as_json:
                introduction(data, estimator, *source.columns())
            with softly_interrupted(patient=group is not None) as interrupt, progress:
                answer = train_run(
                    run,
                    estimator,
                    items_of(data),
                    data.targets,
                    split,
                    on_epoch=on_epoch,
                    group=group,
                )
            assert answer is not None
            evaluation = finish_run(run, estimator, data, answer)
    except KeyboardInterrupt:
        reached = checkpoint_epoch(run)
        after = f" after epoch {reached}" if reached else ""
        way = _command_to_resume(run, group)
        end = f", or end it there with: {way} --max-epochs {reached}" if reached else ""
        typer.echo(f"edgnn: interrupted{after}; go on with: {way}{end}", err=True)
        raise typer.Exit(130) from None
    if wish.as_json:
        _print_json(run)
    elif not wish.quiet:
        print_training(run, estimator, answer, evaluation)


def _command_to_resume(run: RunFolder, group: Group | None) -> str:
    program = (
        ["edgnn"]
        if group is None
        else ["torchrun", "--nproc-per-node", str(group.size), "-m", "edgnn"]
    )
    return shlex.join([*program, "train", "--out", str(run.path), "--resume"])


def _split(data: Dataset, parts: dict[str, Any], seed: int) -> Split | None:
    from edgnn.studies import training_split

    return training_split(data, test=parts["test"], validation=parts["validation"], seed=seed)


def _holds_run(out: Path) -> bool:
    """Return whether a training came so far that there is something to resume."""
    return (out / "config.json").exists()


def _stored_source(out: Path) -> str | None:
    """Return the data that the run in a folder was started with, if there is one."""
    from edgnn.training import RunFolder

    try:
        name = RunFolder.open(out).config["source"]["name"]
    except (RunError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None


def _say_finished(wish: _Wish, run: RunFolder) -> None:
    with run.lock():
        run.remove("checkpoint.safetensors")
    if wish.as_json:
        _print_json(run)
    elif not wish.quiet:
        typer.echo(f"{run.path} is finished: there is nothing to resume")


def _print_json(run: RunFolder) -> None:
    from edgnn._json import plain

    config = run.config
    told = {
        "run": str(run.path),
        "estimator": config["estimator"],
        "source": config["source"]["name"],
    }
    typer.echo(
        json.dumps(plain(told | run.read_json("metrics.json")), indent=2, ensure_ascii=False)
    )
