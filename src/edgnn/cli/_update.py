"""``edgnn train --update``: a trained model that learns from more items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from edgnn._paths import check_new_run, check_run, exists
from edgnn._words import counted, preview
from edgnn.cli._options import print_json
from edgnn.cli._resume import stored_origin
from edgnn.cli._source import Source, check_files
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset
    from edgnn.training import RunFolder

_ALLOWED = ("options", "target_file")


def update_run(
    run: Path,
    source: str | None,
    out: Path | None,
    options: Mapping[str, Any],
    data_dir: Path | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Let the model of a run learn from more items, in its folder or into another one.

    The items are read as those of the training were. Nothing is evaluated again: scores and
    predictions in the folder are those of the first training.
    """
    check_run(run)
    if source is None:
        raise EdgnnError("name the new data, such as: edgnn train --update RUN new.csv")
    refused = [name for name in options if name not in _ALLOWED]
    if refused:
        raise EdgnnError(
            f"--update reads and learns as the run did: leave --{refused[0].replace('_', '-')} out"
        )
    check_files(source, options)
    if out is not None:
        check_new_run(out, overwrite=False)
    from edgnn.training import RunFolder

    folder = RunFolder.open(run)
    with folder.lock():
        data = _new_data(folder, source, options, data_dir)
        model, names = _updated(folder, data)
        about = _about(folder, data, source, names)
        if out is None:
            _replace_model(folder, model, about)
        else:
            _write_beside(folder, out, model, about)
    where = run if out is None else out
    if as_json:
        print_json({"run": str(where), "source": source, "items": len(data)})
    elif not quiet:
        learned = counted(len(model.held_out_), "item")
        typer.echo(
            f"{where} has learned from {counted(len(data), 'more item')}, {learned} in all; "
            "its scores are those of the first training"
        )


def _new_data(
    run: RunFolder, name: str, options: Mapping[str, Any], data_dir: Path | None
) -> Dataset:
    """Read new items with their targets as those of the training were read."""
    from edgnn.io.datasets import find, reading_options

    origin = stored_origin(run)
    given = dict(options.get("options") or {})
    carried = {} if find(name) is not None else reading_options(run.config, name, given)
    if origin.get("target_file") and not options.get("target_file"):
        raise EdgnnError(
            "the targets of the training came from a file of their own: give --target-file"
        )
    chosen = {
        "task": origin.get("task"),
        "target": origin.get("target"),
        "target_file": options.get("target_file"),
        "skip_unknown": origin.get("skip_unknown"),
        "options": carried | given,
        # a few new rows of whole numbers would look like classes
        "regression": {"values": True, "classes": False}.get(str(run.config.get("task"))),
    }
    return Source.of(name, chosen, data_dir or origin.get("data_dir")).load()


def _updated(run: RunFolder, data: Dataset) -> tuple[Any, list[str]]:
    """Return the model that has learned from the new items as well, and what its classes are."""
    from edgnn.io.datasets import stored_texts
    from edgnn.models import load_model, memory_errors

    model: Any = load_model(run.path)
    if not hasattr(model, "update"):
        raise EdgnnError(
            f"a {type(model).__name__} cannot learn from more items; --model auto can: train a "
            "new model on all items"
        )
    names = stored_texts(run.config, "class_names")
    targets: Any = data.targets
    if bool(names) != bool(data.class_names) and data.task == "classes":
        mine = preview(names) if names else "numbers"
        raise EdgnnError(
            f"the classes of {data.name} are unlike those of the run, which are {mine}"
        )
    if names:
        names += [name for name in data.class_names if name not in names]
        numbers = [names.index(name) for name in data.class_names]
        targets = [numbers[number] for number in targets]
    with memory_errors():
        model.update(data.items, targets)
    return model, names


def _about(run: RunFolder, data: Dataset, source: str, names: list[str]) -> dict[str, Any]:
    """Return what the configuration says of the update."""
    from edgnn.models import fingerprint

    entry = {
        "source": str(Path(source).resolve()) if exists(source) else source,
        "items": len(data),
        "data_sha256": fingerprint(data.items, data.targets, attributes=True),
    }
    return {"updates": [*run.config.get("updates", []), entry], "class_names": names}


def _replace_model(run: RunFolder, model: Any, about: dict[str, Any]) -> None:
    from edgnn.models import replace_model

    replace_model(run, model, **about)


def _write_beside(run: RunFolder, out: Path, model: Any, about: dict[str, Any]) -> None:
    """Write the model with all that the run says into a folder that appears at once."""
    from edgnn._files import atomic_folder, naming
    from edgnn.models import write_model
    from edgnn.training import RunFolder

    with naming(out), atomic_folder(out) as place:
        config = {name: value for name, value in run.config.items() if name != "fitted"}
        new = RunFolder.create(place, config | about)
        write_model(new, model)
        for name in ("metrics.json", "predictions.csv", "splits.json"):
            if run.has(name):
                (place / name).write_bytes((run.path / name).read_bytes())
