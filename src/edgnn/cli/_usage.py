"""What is wrong with a command line, in one line: the word, the rule, what was meant, where to read on."""

from __future__ import annotations

import re
from typing import Any

import typer

from edgnn._words import closest, suggestion

#: What typer raises for a command line it cannot use; its own name has moved between versions.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def usage_words(error: Any) -> str:
    """Return what to say about a command line that cannot be used."""
    context = getattr(error, "ctx", None)
    command = "edgnn" if context is None else _path(context)
    if (unknown := re.match(r"No such command '(.*?)'", error.message)) is not None:
        return _unknown_command(unknown[1], command, context)
    if getattr(error, "option_name", None) and error.message.startswith("No such option"):
        return _unknown_option(error.option_name, command, context)
    words = error.format_message().strip().rstrip(".").replace(": Value error, ", ": ")
    words = words[:1].lower() + words[1:] + _given(error, words) + _meant_value(error)
    return f"{words} ({command} --help tells more)"


def help_text(error: Any) -> str | None:
    """Return the help that a command without any word stands for; ``None`` for true mistakes."""
    return error.format_message() if type(error).__name__ == "NoArgsIsHelpError" else None


def _path(context: Any) -> str:
    """Return the command as it is typed, without its arguments."""
    names: list[str] = []
    while context is not None:
        names.append(str(context.info_name))
        context = context.parent
    return " ".join(["edgnn", *reversed(names[:-1])])


def _unknown_command(name: str, command: str, context: Any) -> str:
    meant = suggestion(name, context.command.list_commands(context))
    return f"no such command {name!r}{meant} ({command} --help lists all)"


def _unknown_option(name: str, command: str, context: Any) -> str:
    known = (
        []
        if context is None
        else [word for one in context.command.get_params(context) for word in _words(one)]
    )
    meant = closest(name, known, cutoff=0.7)
    told = "" if meant is None else f"; did you mean {meant!r}?"
    return f"no such option {name!r} of {command}{told} ({command} --help lists all)"


def _words(parameter: Any) -> list[str]:
    return (
        [*parameter.opts, *parameter.secondary_opts]
        if parameter.param_type_name == "option"
        else []
    )


def _given(error: Any, words: str) -> str:
    """Return the value that was given, where typer's words about it lack it, as more words."""
    told = getattr(error.__cause__, "errors", None)
    value = told()[0].get("input") if callable(told) else None
    return "" if value is None or repr(value) in words else f", not {value!r}"


def _meant_value(error: Any) -> str:
    """Return the choice that a mistyped value of an option is close to, as more words."""
    told = re.search(r"'(.*?)' is not one of (.*)", error.message)
    return "" if told is None else suggestion(told[1], re.findall(r"'(.*?)'", told[2]))
