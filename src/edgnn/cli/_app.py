"""The command ``edgnn``: errors become one line and an exit code, everything else is the library's."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup, TyperOption

from edgnn.cli._convert import convert
from edgnn.cli._datasets import datasets_app
from edgnn.cli._doctor import doctor
from edgnn.cli._evaluate import evaluate
from edgnn.cli._explain import explain
from edgnn.cli._export import export
from edgnn.cli._predict import predict
from edgnn.cli._progress import told_warnings
from edgnn.cli._ranks import be_silent
from edgnn.cli._report import report
from edgnn.cli._reproduce import reproduce
from edgnn.cli._serve import serve
from edgnn.cli._threads import reuse_memory
from edgnn.cli._train import train
from edgnn.cli._usage import UsageError, help_text, usage_words
from edgnn.cli._version import print_version
from edgnn.cli._wl import wl_app
from edgnn.errors import EdgnnError


class _Commands(TyperGroup):
    """The commands; a closed pipe and Ctrl-C are met here, before typer meets them its own way."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember the whole command line, for what is written down of it."""
        ctx.meta["command"] = shlex.join(["edgnn", *args])
        return super().parse_args(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; what is wrong with it becomes one line and exit code 2."""
        try:
            ended = super().main(
                args, prog_name or "edgnn", complete_var, False, windows_expand_args, **extra
            )
        except UsageError as error:
            if not standalone_mode:
                raise
            if (text := help_text(error)) is None:
                _fail(usage_words(error), 2)
            typer.echo(text, err=True)
            sys.exit(2)
        except typer.Abort:
            _fail("interrupted", 130)
        if standalone_mode:
            sys.exit(ended if isinstance(ended, int) else 0)
        return ended

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            with told_warnings():
                return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_PIPE_CLOSED)
        except KeyboardInterrupt:
            _fail("interrupted", 130)


#: What typer shows in its help for the value of an option; since 0.29 also for flags, which take
#: none.
_shown: Any = getattr(TyperOption, "display_type_rich", None)


def _shown_of_values(option: Any, ctx: Any) -> str | None:
    return None if option.is_flag else _shown(option, ctx)


if _shown is not None:
    TyperOption.display_type_rich = _shown_of_values  # type: ignore[assignment, method-assign]


#: As a shell tells of a program that a closed pipe has ended: not all was written, and a training
#: not finished.
_PIPE_CLOSED = 128 + 13

app = typer.Typer(
    name="edgnn",
    cls=_Commands,
    help="Learn from directed graphs with node and edge labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(datasets_app, name="datasets")
app.add_typer(wl_app, name="wl")
app.command("train")(train)
app.command("predict")(predict)
app.command("explain")(explain)
app.command("serve")(serve)
app.command("export")(export)
app.command("evaluate")(evaluate)
app.command("reproduce")(reproduce)
app.command("report")(report)
app.command("convert")(convert)
app.command("doctor")(doctor)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=print_version,
            is_eager=True,
            help="Print the version and what it runs on.",
        ),
    ] = False,
) -> None:
    """Learn from directed graphs with node and edge labels."""


def main() -> None:
    """Run the command line; exit 0, 2 for the user's mistakes, 1 for ours."""
    try:
        app()
    except EdgnnError as error:
        _fail(str(error), 2)
    except MemoryError:
        _fail("out of memory; give it less at once, or a machine with more", 2)
    except OSError as error:
        _fail(
            f"{error.filename}: {error.strerror}"
            if error.filename and error.strerror
            else str(error),
            2,
        )


def run() -> NoReturn:
    """Run :func:`main` as a program: leave at once when it is done, as native threads of libraries may not end in order."""
    if sys.argv[1:2] != ["bench"]:  # which measures what users of the library have
        # torch's threads wait by spinning, which on a busy machine takes the time
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")
        reuse_memory()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± is shown a question mark
    be_silent()
    code: int | str | None = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _fail(message: str, code: int) -> NoReturn:
    line = "".join(
        letter if letter.isprintable() else " " for letter in message
    )  # names of files can hold anything
    typer.echo(f"edgnn: {line}", err=True)
    sys.exit(code)
