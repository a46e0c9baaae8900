"""A trained model behind a local web page and an HTTP interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgnn._optional import optional
from edgnn.serve._limits import Limits
from edgnn.serve._model import Served
from edgnn.serve._server import LOCAL_NAMES, serve

if TYPE_CHECKING:
    from collections.abc import Collection

    from fastapi import FastAPI

    from edgnn._files import Path_

__all__ = ["LOCAL_NAMES", "Limits", "Served", "create_app", "serve"]


def create_app(
    run: Path_ | Served,
    *,
    source: Path_ | None = None,
    device: str = "cpu",
    data_dir: Path_ | None = None,
    limits: Limits | None = None,
    hosts: Collection[str] | None = LOCAL_NAMES,
    **options: Any,
) -> FastAPI:
    """Return the web application of a trained model, for any ASGI server.

    Parameters
    ----------
    run : path or Served
        A run folder of ``edgnn train`` or ``estimator.save``.
    source : path or str, optional
        Data whose nodes (or graphs) can be picked by name; default: what the model was trained on,
        if it is still there. Of named sets only the registered ones are fetched: any other word may
        be mistyped, and does not leave this machine.
    device : str
        Where predictions are computed.
    data_dir : path, optional
        Where named data sets are looked for first.
    limits : Limits, optional
        What one request may ask for.
    hosts : collection of str, optional
        Names this server may be asked for by, as a browser sends them; ``None`` for any. The
        default, the names of this machine itself, keeps web pages from elsewhere out.
    **options
        Of the reader of ``source``.
    """
    optional("fastapi", "serving a model")
    optional("python_multipart", "taking files from a browser")
    from edgnn.serve._app import build

    if not isinstance(run, Served):
        run = Served.load(run, source=source, device=device, data_dir=data_dir, options=options)
    return build(run, limits or Limits(), hosts)
