"""``edgnn serve``: a local page to try a trained model on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import check_run
from edgnn.cli._options import (
    DataDir,
    Device,
    Json,
    Open,
    Options,
    RunArgument,
    reader_options,
)
from edgnn.cli._process import terminated_softly
from edgnn.cli._source import check_here
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.serve import Limits

_TERMINATED = 128 + 15
_MOST_MEGABYTES = 2**20


def serve(
    run: RunArgument,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Address to listen at; the default lets only this machine in, 0.0.0.0 everyone.",
        ),
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="One more name to be asked for by, such as that of a proxy; repeatable.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="0 for any that is free.")
    ] = 8000,
    open_page: Open = False,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            help="Data whose nodes or graphs can be picked by name; default: what the model was "
            "trained on.",
        ),
    ] = None,
    max_mb: Annotated[
        float | None, typer.Option("--max-mb", metavar="MB", help="Largest request; default 32.")
    ] = None,
    max_items: Annotated[
        int | None,
        typer.Option(
            "--max-items", metavar="N", help="Most graphs or nodes of one request; default 10,000."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", metavar="S", help="Longest time for one request; default 60."),
    ] = None,
    device: Device = "cpu",
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Serve a trained model on a local web page, and to programs by HTTP; Ctrl-C ends it."""
    check_run(run)
    if source is not None:
        check_here(source, data_dir)
    import torch

    from edgnn.models import device_of
    from edgnn.serve import serve as serve_until_interrupted

    options = reader_options(option)
    if options and source is None:
        raise EdgnnError("-o is for the reader of --source: name the data with --source")
    device_of(device)
    limits = _limits(max_mb, max_items, seconds)
    torch.set_num_threads(1)  # requests are small, and several are worked on at once
    with terminated_softly() as ending:
        try:
            serve_until_interrupted(
                run,
                host=host,
                port=port,
                allowed=allow_host or (),
                limits=limits,
                on_start=_announcement(run, as_json, open_page),
                source=source,
                device=device,
                data_dir=data_dir,
                **options,
            )
        except KeyboardInterrupt:
            raise typer.Exit(_TERMINATED if ending.asked else 0) from None


def _limits(max_mb: float | None, max_items: int | None, seconds: float | None) -> Limits:
    from edgnn.serve import Limits

    chosen: dict[str, Any] = {"items": max_items, "seconds": seconds}
    if max_mb is not None:
        if not 0 < max_mb < _MOST_MEGABYTES:
            raise EdgnnError(
                f"--max-mb {max_mb:g}: choose a number above 0 and below {_MOST_MEGABYTES:,}"
            )
        chosen["bytes"] = max(1, int(max_mb * 2**20))
    return Limits(**{name: value for name, value in chosen.items() if value is not None})


def _announcement(run: Path, as_json: bool, open_page: bool) -> Callable[[str], None]:
    """Return what prints the address once the server listens."""

    def announce(address: str) -> None:
        if as_json:
            openapi = f"{address}/openapi.json"
            typer.echo(json.dumps({"run": str(run), "address": address, "openapi": openapi}))
        else:
            typer.echo(f"{run} is at {address} (Ctrl-C ends it)")
        if open_page:
            _open(address)

    return announce


def _open(address: str) -> None:
    """Open the page without waiting: some browsers end only with their window."""
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
