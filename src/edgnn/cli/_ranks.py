"""One training by several processes that torchrun has started: rank 0 decides, writes and speaks, the others follow."""

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

from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.training import Group, RunFolder


def _of_several() -> bool:
    """Return whether torchrun has started this process and others."""
    return "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1"


def be_silent() -> None:
    """Leave it to rank 0 to tell what is wrong with the command line."""
    if _of_several() and os.environ.get("RANK") != "0":
        sys.stderr = StringIO()


@contextmanager
def joined() -> Iterator[Group | None]:
    """Join the ranks that torchrun has started; ``None`` where it has started none but this, or did not start it at all."""
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
        raise typer.Exit(2) from None  # rank 0 tells
    except KeyboardInterrupt:
        if first:
            raise
        raise typer.Exit(130) from None


def _be_quiet() -> None:
    """Leave Ctrl-C and warnings to rank 0; what concerns this rank alone is told from now on."""
    sys.stderr = sys.__stderr__
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.showwarning = lambda *_, **__: None


def _share_cores() -> None:
    """Use as many threads as there are cores for each rank of this machine; torchrun would have it be one."""
    import torch

    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    torch.set_num_threads(max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))


def _concerns_one_rank(error: EdgnnError) -> bool:
    """Return whether an error is this rank's own: all others are rank 0's too, or follow from another rank's end."""
    return getattr(error, "kind", None) == "memory"


def launch() -> str | None:
    """Return what tells one launch by torchrun from others, the same after restarts; ``None`` without torchrun."""
    name = os.environ.get("TORCHELASTIC_RUN_ID")
    return f"{socket.gethostname()} {os.getppid()}" if name == "none" else name


def restarted(out: Path) -> bool:
    """Return whether torchrun has started all ranks again, and the run in the folder is the one that was lost."""
    if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
        return False
    from edgnn.errors import RunError
    from edgnn.training import RunFolder

    with suppress(RunError):
        return RunFolder.open(out).config.get("launch") == launch()
    return False


class Lead:
    """What rank 0 tells the others before they train: which run, and from which data; or, at its end, that there is none.

    Parameters
    ----------
    group : Group, optional
        The ranks; without them there is nobody to tell.
    """

    def __init__(self, group: Group | None) -> None:
        self.group, self._told = group, group is None

    def __enter__(self) -> Lead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: Any
    ) -> None:
        if not self._told:
            with suppress(EdgnnError):
                self._tell({"code": 0 if kind is None else 2})

    def tell(self, run: RunFolder, source: dict[str, Any]) -> None:
        """Tell the others what to train."""
        import torch

        about = {
            "path": str(run.path),
            "config": run.config,
            "source": source,
            "threads": torch.get_num_threads(),
        }
        if self.group is not None:
            self._tell(about)

    def _tell(self, about: dict[str, Any]) -> None:
        from edgnn._json import to_json

        assert self.group is not None
        self._told = True
        self.group.share(to_json(about))


def told(group: Group) -> tuple[RunFolder, dict[str, Any]]:
    """Return the run that rank 0 trains (this rank has its configuration alone) and its data, or end where there is none."""
    import torch

    from edgnn._json import from_json
    from edgnn.training import RunFolder

    about = from_json(group.share(None) or b"{}")
    if "config" not in about:
        raise typer.Exit(about.get("code", 2))
    torch.set_num_threads(about["threads"])
    return RunFolder(Path(about["path"]), about["config"]), about["source"]


def agree(group: Group | None, error: EdgnnError | OSError | None = None) -> None:
    """Go on if all ranks can; else raise, on every rank, what keeps the first of them."""
    if group is None:
        return
    for rank, said in enumerate(group.texts("" if error is None else str(error))):
        if said:
            raise EdgnnError(f"rank {rank}: {said}")
