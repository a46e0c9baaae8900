"""``edgnn train``: a model from data, in a run folder that survives any interruption."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import CONFIG, check_new_run
from edgnn._words import with_article
from edgnn.cli._choices import Choice
from edgnn.cli._complete import sources
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._options import Json, print_json
from edgnn.cli._parameters import Choices, training_command
from edgnn.cli._process import softly_interrupted, use_few_threads, use_threads_of
from edgnn.cli._progress import Progress
from edgnn.cli._ranks import Lead, agree, joined, launch, received, restarted
from edgnn.cli._resume import check_same, stored_origin, test_set_of
from edgnn.cli._show import introduction, print_candidates, print_training
from edgnn.cli._source import Source, check_files
from edgnn.cli._update import update_run
from edgnn.cli._usage import missing_option
from edgnn.errors import EdgnnError, RunError

if TYPE_CHECKING:
    from edgnn.evaluation import Split
    from edgnn.io.datasets import Dataset
    from edgnn.models import Model
    from edgnn.training import Group, RunFolder

TestSet = Annotated[
    str | None,
    typer.Option(
        "--test",
        metavar="FRACTION",
        help="Test set: published (default if the data has one), a fraction such as 0.2, scaffold "
        "(molecules of other ring frameworks; scaffold:0.2 for a fifth), or none.",
    ),
]


@training_command(test=TestSet)
def train(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(
            autocompletion=sources,
            help="A data set's name, or a file or folder in any format edgnn reads.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="The run folder to make.")
    ] = None,
    update: Annotated[
        Path | None,
        typer.Option(
            "--update",
            metavar="RUN",
            help="Learn from more items: the model of this run (of auto) is fitted to its training "
            "items and the new ones, in its folder or in --out.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Resume an interrupted run; all but --out can be left out. --max-epochs may end "
            "it, or make it longer.",
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Throw away the run that is in the folder.")
    ] = False,
    memory: MemoryOption = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")
    ] = False,
    as_json: Json = False,
    *,
    choices: Choices,
) -> None:
    """Train a model and keep it in a run folder.

    It is evaluated on the published test set of the data, if there is one, else on the validation
    set: it chooses the epoch of a network, and other models learn nothing from it. Started by
    torchrun (torchrun --nproc-per-node 2 -m edgnn train ...), several processes train a network
    together.
    """
    if update is not None:
        if resume or overwrite:
            raise EdgnnError(
                "--update is for a run that has ended: leave --resume, --overwrite out"
            )
        asked = choices.with_config()
        given = asked.options | asked.parameters
        with ceiling(memory, source):
            update_run(update, source, out, given, asked.data_dir, quiet=quiet, as_json=as_json)
        return
    if out is None:
        raise missing_option("--out", context)
    resumed = _stored_source(out) if resume and memory else None
    with ceiling(memory, source, resumed), joined() as group:
        request = _Request(out, choices.with_config(), quiet, as_json, context.meta["command"])
        if resume and overwrite:
            raise EdgnnError(
                "--resume goes on with a run and --overwrite throws it away: choose one"
            )
        if group is not None and not group.first:
            _follow(request, group)
            return
        with Lead(group) as lead:
            _lead(request, lead, source, resume=resume, overwrite=overwrite)


@dataclass(frozen=True)
class _Request:
    """What is asked for."""

    out: Path
    choices: Choices
    quiet: bool
    as_json: bool
    command: str

    @property
    def options(self) -> dict[str, Any]:
        """The command's own options."""
        return self.choices.options

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        return self.choices.parameters


def _lead(
    request: _Request, lead: Lead, source: str | None, *, resume: bool, overwrite: bool
) -> None:
    out = request.out
    if source is not None:
        check_files(source, request.options)
    if (resume and _holds_run(out)) or (lead.group is not None and restarted(out)):
        _resume(request, lead, source)
        return
    if source is None:
        problem = f"there is no run in {out} to resume: " if resume else ""
        raise EdgnnError(
            f"{problem}name the data to train on, such as: edgnn train MUTAG --out {out}"
        )
    check_new_run(out, overwrite)
    if resume and not request.quiet:
        typer.echo(f"there is no run in {out} yet: starting it", err=True)
    _start(request, lead, source, overwrite)


def _start(request: _Request, lead: Lead, name: str, overwrite: bool) -> None:
    from edgnn.evaluation import choose_parameters, run_facts, split_for, store_split
    from edgnn.models import check_ranks, start_run

    options = request.options
    source = Source.of(name, options, request.choices.data_dir)
    if source.own_split and "test" in options:
        raise EdgnnError(
            f"--test {options['test']} and {source.own_split} both say what to test on: "
            "leave out one of the two"
        )
    data = source.load()
    if lead.group is not None and not {"model", "settings"} & set(options):
        options = options | {"model": "edgnn"}  # networks alone are trained by several processes
    choice = Choice.of(options, request.parameters, data)
    if lead.group is not None:
        check_ranks(choice.model)
        if choice.grid:
            raise EdgnnError(
                "one process chooses among candidates: give one value for each parameter, or "
                "start it without torchrun"
            )
    sets = {
        "test": "given" if source.splits_file else test_set_of(options.get("test"), data),
        "validation": choice.validation,
        "seed": choice.seed,
    }
    split = split_for(choice.model, data, sets, source.splits_file)
    use_few_threads(choice.model, data)
    with _choosing(choice, request) as on_progress:
        model, selection = choose_parameters(
            choice.model, choice.grid, data, split, sets, on_progress
        )
    if selection is not None and not request.quiet and not request.as_json:
        print_candidates(selection.rows(), selection.metric)
    about = {
        "command": request.command,
        "model": choice.name,
        "settings": None if choice.settings is None else choice.settings.row,
        "source": source.stored(),
        **run_facts(data, sets, selection),
    }
    if lead.group is not None:
        about |= {"ranks": lead.group.size, "launch": launch()}
    run = start_run(
        request.out,
        model,
        data.items,
        data.targets,
        split,
        about=about,
        class_names=data.class_names,
        overwrite=overwrite,
    )
    store_split(run, split)
    lead.send(run, source.stored())
    if choice.reason and not request.quiet and not request.as_json:
        typer.echo(choice.reason)
    _train(request, run, model, source, data, split, lead.group)


@contextmanager
def _choosing(choice: Choice, request: _Request) -> Iterator[Callable[[Any], None]]:
    """Show how many candidates have been tried."""
    total = prod(len(values) for values in choice.grid.values())
    progress = Progress(total, "candidate", quiet=request.quiet or not choice.grid)
    with progress:
        yield lambda now: progress.step(now.done)


def _resume(request: _Request, lead: Lead, name: str | None) -> None:
    from edgnn.evaluation import stored_split
    from edgnn.models import change_epochs, check_data, check_ranks, estimator_of, finished
    from edgnn.training import RunFolder

    run = RunFolder.open(request.out)
    model = estimator_of(run)
    origin = stored_origin(run)
    chosen = dict(origin)
    if name is not None:
        chosen |= {key: value for key, value in request.options.items() if key in origin}
        if "descriptors" in request.options:
            chosen["descriptors"] = request.options["descriptors"]
    elif "options" in request.options:
        chosen["options"] = origin["options"] | request.options["options"]
    source = Source.of(
        name or origin["name"], chosen, request.choices.data_dir or origin.get("data_dir")
    )
    data = source.load()
    check_data(run, data.items, data.targets)
    check_same(request.options, request.parameters, run, model, data)
    if "max_epochs" in request.parameters:
        change_epochs(run, model, request.parameters["max_epochs"])
    if finished(run):
        _finish(request, run)
        return
    use_threads_of(run)
    if lead.group is not None:
        check_ranks(model)
    lead.send(run, source.stored())
    split = stored_split(run, model, data)
    _train(request, run, model, source, data, split, lead.group, _resuming(run, model))


def _resuming(run: RunFolder, model: Model) -> str:
    """Return in a line from where a training is resumed."""
    from edgnn.models import checkpoint_epoch

    if not model.trains_by_epochs:
        kind = with_article(type(model).__name__)
        return f"starting {run.path} again: {kind} has no epochs to resume after"
    epoch = checkpoint_epoch(run)
    verb = "ending" if epoch >= model.max_epochs else "resuming"
    return f"{verb} {run.path} after epoch {epoch}"


def _follow(request: _Request, group: Group) -> None:
    """Train what rank 0 trains, as one of the other ranks."""
    from edgnn.evaluation import stored_split
    from edgnn.models import check_data, estimator_of, train_run

    run, source = received(group)
    model = estimator_of(run)
    try:
        data = Source.of(
            source["name"], source, request.choices.data_dir or source["data_dir"]
        ).load()
        check_data(run, data.items, data.targets)
    except (EdgnnError, OSError) as error:
        agree(group, error)
        raise
    agree(group)
    split = stored_split(run, model, data)
    train_run(run, model, data.items, data.targets, split, group=group)


def _train(
    request: _Request,
    run: RunFolder,
    model: Model,
    source: Source,
    data: Dataset,
    split: Split | None,
    group: Group | None,
    first_line: str = "",
) -> None:
    from edgnn.evaluation import finish_run
    from edgnn.models import train_run

    by_epochs = model.trains_by_epochs
    progress = Progress(model.max_epochs if by_epochs else 1, quiet=request.quiet or not by_epochs)

    def on_epoch(epoch: Any) -> None:
        progress.epoch(epoch)
        if interrupt.asked:
            raise KeyboardInterrupt

    try:
        with run.lock():
            agree(group)
            if first_line and not request.quiet:
                typer.echo(first_line, err=True)
            if not request.quiet and not request.as_json:
                introduction(data, model, *source.columns())
            soft = softly_interrupted(when=by_epochs, patient=group is not None)
            with soft as interrupt, progress:
                answer = train_run(
                    run,
                    model,
                    data.items,
                    data.targets,
                    split,
                    on_epoch=on_epoch,
                    group=group,
                )
            assert answer is not None
            evaluation = finish_run(run, model, data, answer)
    except KeyboardInterrupt:
        _print_interrupted(run, group)
        raise typer.Exit(130) from None
    if request.as_json:
        _print_json(run)
    elif not request.quiet:
        print_training(run, model, answer, evaluation)


def _print_interrupted(run: RunFolder, group: Group | None) -> None:
    """Print how far the training came, and the command that resumes it."""
    from edgnn.models import checkpoint_epoch

    program = ["edgnn"]
    if group is not None:
        program = ["torchrun", "--nproc-per-node", str(group.size), "-m", "edgnn"]
    command = shlex.join([*program, "train", "--out", str(run.path), "--resume"])
    epoch = checkpoint_epoch(run)
    if epoch:
        typer.echo(
            f"edgnn: interrupted after epoch {epoch}; go on with: {command}, "
            f"or end it there with: {command} --max-epochs {epoch}",
            err=True,
        )
    else:
        typer.echo(f"edgnn: interrupted; go on with: {command}", err=True)


def _holds_run(out: Path) -> bool:
    """Return whether a training came so far that there is something to resume."""
    return (out / CONFIG).exists()


def _stored_source(out: Path) -> str | None:
    """Return the data that the run in a folder was started with, if there is one."""
    from edgnn.training import RunFolder

    try:
        name = RunFolder.open(out).config["source"]["name"]
    except (RunError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None


def _finish(request: _Request, run: RunFolder) -> None:
    """Tidy up a run that is finished already."""
    with run.lock():
        run.remove("checkpoint.safetensors")
    if request.as_json:
        _print_json(run)
    elif not request.quiet:
        typer.echo(f"{run.path} is finished: there is nothing to resume")


def _print_json(run: RunFolder) -> None:
    from edgnn._json import plain

    document = {
        "run": str(run.path),
        "estimator": run.config["estimator"],
        "source": run.config["source"]["name"],
    }
    if "search" in run.config:
        document["search"] = run.config["search"]
    print_json(plain(document | run.read_json("metrics.json")))
