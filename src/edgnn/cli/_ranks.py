"""One training by several processes of torchrun: rank 0 decides, writes and prints."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from edgnn._system import cores
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.training import Group, RunFolder


def _of_several() -> bool:
    """Return whether torchrun has started this process and others."""
    return "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1"


def be_silent() -> None:
    """Leave it to rank 0 to report what is wrong with the command line."""
    if _of_several() and os.environ.get("RANK") != "0":
        sys.stderr = StringIO()


@contextmanager
def joined() -> Iterator[Group | None]:
    """Join the ranks that torchrun has started; ``None`` where this process is alone."""
    if not _of_several():
        yield None
        return
    first = os.environ.get("RANK") == "0"
    if not first:
        _be_quiet()
    try:
        from edgnn.training import launched

        with launched() as group:
            _share_cores()
            try:
                yield group
            except EdgnnError as error:
                if group is not None and group.first and group.said_before(str(error)):
                    raise typer.Exit(2) from None  # torchrun repeats also what cannot end well
                raise
    except EdgnnError as error:
        if first or _concerns_one_rank(error):
            raise
        raise typer.Exit(2) from None  # rank 0 reports it
    except KeyboardInterrupt:
        if first:
            raise
        raise typer.Exit(130) from None


def _be_quiet() -> None:
    """Leave Ctrl-C and warnings to rank 0; errors of this rank alone are printed from now on."""
    sys.stderr = sys.__stderr__
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.showwarning = lambda *_, **__: None


def _share_cores() -> None:
    """Share the cores among the ranks of this machine; torchrun would have each use one thread."""
    import torch

    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    torch.set_num_threads(max(1, cores() // ranks))


def _concerns_one_rank(error: EdgnnError) -> bool:
    """Return whether an error is this rank's own; others are rank 0's too, or follow from them."""
    return error.kind == "memory"


def launch() -> str | None:
    """Return what identifies a launch by torchrun, the same after restarts; ``None`` without."""
    name = os.environ.get("TORCHELASTIC_RUN_ID")
    return f"{socket.gethostname()} {os.getppid()}" if name == "none" else name


def restarted(out: Path) -> bool:
    """Return whether torchrun has restarted the ranks, and the folder holds the lost run."""
    if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
        return False
    from edgnn.errors import RunError
    from edgnn.training import RunFolder

    with suppress(RunError):
        return RunFolder.open(out).config.get("launch") == launch()
    return False


class Lead:
    """Sends the other ranks which run to train from which data; or, at its end, that there is none.

    Parameters
    ----------
    group : Group, optional
        The ranks; without them nothing is sent.
    """

    def __init__(self, group: Group | None) -> None:
        self.group = group
        self._sent = group is None

    def __enter__(self) -> Lead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: Any
    ) -> None:
        if not self._sent:
            with suppress(EdgnnError):
                self._send({"code": 0 if kind is None else 2})

    def send(self, run: RunFolder, source: dict[str, Any]) -> None:
        """Send the others what to train."""
        import torch

        message = {"path": str(run.path), "config": run.config, "source": source}
        if self.group is not None:
            self._send(message | {"threads": torch.get_num_threads()})

    def _send(self, message: dict[str, Any]) -> None:
        from edgnn._json import to_json

        assert self.group is not None
        self._sent = True
        self.group.share(to_json(message))


def received(group: Group) -> tuple[RunFolder, dict[str, Any]]:
    """Return the run that rank 0 trains and its data, or end where there is none.

    This rank has the configuration of the run, not its files.
    """
    import torch

    from edgnn._json import from_json
    from edgnn.training import RunFolder

    message = from_json(group.share(None) or b"{}")
    if "config" not in message:
        raise typer.Exit(message.get("code", 2))
    torch.set_num_threads(message["threads"])
    return RunFolder(Path(message["path"]), message["config"]), message["source"]


def agree(group: Group | None, error: EdgnnError | OSError | None = None) -> None:
    """Go on if all ranks can; else raise, on every rank, what keeps the first of them."""
    if group is None:
        return
    for rank, text in enumerate(group.texts("" if error is None else str(error))):
        if text:
            raise EdgnnError(f"rank {rank}: {text}")
