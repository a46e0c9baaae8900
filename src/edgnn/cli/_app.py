"""The command ``edgnn``: errors become one line and an exit code, the library does the rest."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from edgnn.cli._convert import convert
from edgnn.cli._datasets import datasets_app
from edgnn.cli._doctor import doctor, print_version
from edgnn.cli._evaluate import evaluate
from edgnn.cli._explain import explain
from edgnn.cli._export import export
from edgnn.cli._features import features
from edgnn.cli._predict import predict
from edgnn.cli._process import INTERRUPTED, drop_output
from edgnn.cli._progress import printed_warnings
from edgnn.cli._report import report
from edgnn.cli._reproduce import reproduce
from edgnn.cli._serve import serve
from edgnn.cli._train import train
from edgnn.cli._usage import (
    Commands,
    UsageError,
    help_text,
    hide_values_of_flags,
    shortened,
    usage_words,
)
from edgnn.cli._wl import wl_app
from edgnn.errors import EdgnnError

_WRONG = 2
#: As a shell says of a program that a closed pipe has ended (128 + SIGPIPE).
_PIPE_CLOSED = 128 + 13


class _Program(Commands):
    """All commands; a closed pipe and Ctrl-C are handled here, before typer does it its own way."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the whole command line, for run folders and pages that say how they were made."""
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
        name = prog_name or "edgnn"
        try:
            result = super().main(args, name, complete_var, False, windows_expand_args, **extra)
        except UsageError as error:
            if not standalone_mode:
                raise
            text = help_text(error)
            if text is None:
                _fail(usage_words(error), _WRONG)
            typer.echo(text, err=True)
            sys.exit(_WRONG)
        except typer.Abort:
            _fail("interrupted", INTERRUPTED)
        if standalone_mode:
            sys.exit(result if isinstance(result, int) else 0)
        return result

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            with printed_warnings():
                return super().invoke(ctx)
        except BrokenPipeError:
            drop_output()
            sys.exit(_PIPE_CLOSED)
        except KeyboardInterrupt:
            _fail("interrupted", INTERRUPTED)


hide_values_of_flags()
app = typer.Typer(
    name="edgnn",
    cls=_Program,
    help="Learn from directed graphs with node and edge labels.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(datasets_app, name="datasets")
app.add_typer(wl_app, name="wl")
for command in (
    *(train, predict, explain, serve, export, evaluate),
    *(reproduce, report, convert, features, doctor),
):
    app.command(command.__name__)(command)


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
        _fail(str(error), _WRONG)
    except MemoryError:
        _fail("out of memory; give it less at once, or a machine with more", _WRONG)
    except OSError as error:
        named = error.filename and error.strerror
        _fail(f"{error.filename}: {error.strerror}" if named else str(error), _WRONG)


def _fail(message: str, code: int) -> NoReturn:
    message = shortened(message, sys.argv[1:])
    # names of files can hold anything, also what a terminal would obey
    line = "".join(letter if letter.isprintable() else " " for letter in message)
    typer.echo(f"edgnn: {line}", err=True)
    sys.exit(code)
