"""A command line that cannot be used, in one line: the word, the rule, what was meant.

This is the one place that knows how typer works inside, which differs between its versions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

from edgnn._words import closest, suggestion

_LONGEST_WORD = 200

#: What typer raises for a command line it cannot use. typer exports only the subclass
#: ``BadParameter``; its base belongs to click in older versions and to typer in newer ones.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def hide_values_of_flags() -> None:
    """Have help show no value behind flags, which take none; typer 0.29 shows one."""
    shown: Any = getattr(TyperOption, "display_type_rich", None)
    if shown is None:  # before 0.29
        return

    def shown_unless_flag(option: Any, ctx: Any) -> str | None:
        return None if option.is_flag else shown(option, ctx)

    TyperOption.display_type_rich = shown_unless_flag  # type: ignore[assignment, method-assign]


class Commands(TyperGroup):
    """A group of commands that suggests the one that was meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            meant = suggestion(name, self.list_commands(ctx))
            raise _Explained(f"no such command {name!r}{meant} ({_typed(ctx)} --help lists all)")
        return super().resolve_command(ctx, args)


class _Explained(UsageError):  # type: ignore[misc, valid-type]
    """An error whose message is complete."""


def missing_option(name: str, context: Any) -> Exception:
    """Return the error of a command line without an option that it needs."""
    kind: Any = UsageError
    error: Exception = kind(f"Missing option '{name}'", ctx=context)
    return error


def usage_words(error: Any) -> str:
    """Return what to say about a command line that cannot be used."""
    if isinstance(error, _Explained):
        return str(error)
    context = getattr(error, "ctx", None)
    command = "edgnn" if context is None else _typed(context)
    if type(error).__name__ == "NoSuchOption":
        return _unknown_option(error.option_name, command, context)
    words = error.format_message().strip().rstrip(".").replace(": Value error, ", ": ")
    words = words[:1].lower() + words[1:] + _given(error, words) + _meant_value(error)
    return f"{words} ({command} --help tells more)"


def shortened(message: str, words: Sequence[str]) -> str:
    """Return a message in which long words of the command line are cut.

    Parameters
    ----------
    message : str
        The message.
    words : sequence of str
        The command line.
    """
    given = {part for word in words for part in (word, word.partition("=")[2])}
    for word in sorted(given, key=len, reverse=True):
        if len(word) > _LONGEST_WORD:
            cut = f"{word[:_LONGEST_WORD]}…"
            for written in (word, repr(word)[1:-1], word.lower(), word.replace("-", "_")):
                message = message.replace(written, cut)
    return message


def help_text(error: Any) -> str | None:
    """Return the help that a command without any word stands for; ``None`` for true mistakes."""
    return error.format_message() if type(error).__name__ == "NoArgsIsHelpError" else None


def _typed(context: Any) -> str:
    """Return the command as it is typed, without its arguments."""
    names: list[str] = []
    while context is not None:
        names.append(str(context.info_name))
        context = context.parent
    return " ".join(["edgnn", *reversed(names[:-1])])


def _unknown_option(name: str, command: str, context: Any) -> str:
    options: list[str] = []
    for parameter in [] if context is None else context.command.get_params(context):
        if parameter.param_type_name == "option":
            options += [*parameter.opts, *parameter.secondary_opts]
    meant = closest(name, options, cutoff=0.7)
    hint = "" if meant is None else f"; did you mean {meant!r}?"
    return f"no such option {name!r} of {command}{hint} ({command} --help lists all)"


def _given(error: Any, words: str) -> str:
    """Return the value that was given, where typer's words about it lack it, as more words."""
    details = getattr(error.__cause__, "errors", None)
    value = details()[0].get("input") if callable(details) else None
    return "" if value is None or repr(value) in words else f", not {value!r}"


def _meant_value(error: Any) -> str:
    """Return the choice that a mistyped value is close to; typer names the choices in text only."""
    refused = re.search(r"'(.*?)' is not one of (.*)", error.message)
    if refused is None:
        return ""
    return suggestion(refused[1], re.findall(r"'(.*?)'", refused[2]))
