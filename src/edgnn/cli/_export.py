"""``edgnn export``: a trained model as a program that needs torch alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgnn._paths import check_new_export, check_run
from edgnn.cli._datasets import Json

if TYPE_CHECKING:
    from edgnn.models import Exported


def export(
    run: Annotated[Path, typer.Argument(help="A run folder of edgnn train.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FOLDER", help="A new folder for the program and what belongs to it."
        ),
    ],
    device: Annotated[
        str, typer.Option("--device", help="What the program is for: cpu, cuda, cuda:1 or auto.")
    ] = "cpu",
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Throw away the exported model that is in the folder."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a trained model as a program (torch.export) that predicts in a process that has torch alone.

    It takes any number of nodes, edges and graphs, and is compared with the model on random graphs
    before the folder appears.
    """
    check_run(run)
    check_new_export(out, overwrite)
    from edgnn.io.datasets import stored_texts
    from edgnn.models import export as write
    from edgnn.models import load_estimator
    from edgnn.training import RunFolder

    config = RunFolder.open(run).config
    estimator = load_estimator(run, device=device)
    found = write(
        estimator,
        out,
        overwrite=overwrite,
        class_names=stored_texts(config, "class_names"),
        target_names=stored_texts(config, "target_names"),
    )
    typer.echo(_as_json(run, found) if as_json else _as_text(run, found))


def _as_json(run: Path, found: Exported) -> str:
    checked = {name: getattr(found.checked, name) for name in found.checked.__dataclass_fields__}
    plain = {
        "run": str(run),
        "folder": str(found.path),
        "files": found.files,
        "device": found.device,
        "checked": checked,
    }
    return json.dumps(plain, indent=2, ensure_ascii=False)


def _as_text(run: Path, found: Exported) -> str:
    checked, files = (
        found.checked,
        ", ".join(f"{name} ({size / 1000:,.1f} kB)" for name, size in found.files.items()),
    )
    items = f"{checked.graphs} random graphs" + (
        "" if checked.items == checked.graphs else f", {checked.items} of their nodes"
    )
    return (
        f"{found.path}: {files}\n"
        f"checked on {items} of {checked.collections} sizes: predictions differ by at most {checked.difference:.1e}\n"
        f"try it where there is only torch: python {found.path / 'predict.py'} --check\n"
        f"graphs.json for its predict.py, from new data: edgnn convert NEW graphs.json --for {run}"
    )
