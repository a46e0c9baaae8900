"""The reference of the command line: ``commands`` lists every command with its arguments and options, as the program has them."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, get_args, get_origin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from edgnn.cli import app as program


def leaves(command: Any, words: tuple[str, ...] = ("edgnn",)) -> list[tuple[tuple[str, ...], Any]]:
    """Return every command that can be run, with the words it is called by."""
    inner = getattr(command, "commands", None)
    if not inner:
        return [(words, command)]
    own = [(words, command)] if command.invoke_without_command and len(words) > 1 else []
    return own + [leaf for name, part in inner.items() for leaf in leaves(part, (*words, name))]


def row(left: str, right: str) -> nodes.definition_list_item:
    """Return one entry of a list: what is typed, and what it means."""
    item = nodes.definition_list_item()
    item += nodes.term("", "", nodes.literal(text=left))
    item += nodes.definition("", nodes.paragraph(text=right))
    return item


def value(parameter: Any) -> str:
    """Return what stands for a parameter's value: its own word, the words to choose from, or its kind."""
    if parameter.metavar:
        return str(parameter.metavar)
    annotation = parameter.type_descriptor.annotation
    inner = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) is Literal:
        return "|".join(map(str, inner))
    if inner and all(get_origin(part) is Literal for part in inner):
        return "|".join(str(choice) for part in inner for choice in get_args(part))
    kind = inner[0] if inner else annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(choice.value) for choice in kind)
    return {int: "NUMBER", float: "NUMBER", str: "TEXT"}.get(kind, parameter.name.upper())


def typed(parameter: Any) -> str:
    """Return how a parameter is typed on the command line."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    words = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return words if parameter.is_flag else f"{words} {value(parameter)}"


class Commands(SphinxDirective):
    """``.. commands::``: one section per command."""

    def run(self) -> list[nodes.Node]:
        """Build the sections out of the program's own description of itself."""
        return [self.section(words, command) for words, command in leaves(get_command(program))]

    def section(self, words: tuple[str, ...], command: Any) -> nodes.section:
        """Return the section of one command."""
        title = " ".join(words)
        section = nodes.section(ids=["-".join(words)], names=[title])
        section += nodes.title(title, "", nodes.literal(text=title))
        for paragraph in (command.help or "").split("\n\n"):
            section += nodes.paragraph(text=" ".join(paragraph.split()))
        listed = nodes.definition_list(classes=["options"])
        for parameter in sorted(command.params, key=lambda one: one.param_type_name != "argument"):
            if parameter.name != "help" and not getattr(parameter, "hidden", False):
                listed += row(typed(parameter), getattr(parameter, "help", None) or "")
        if listed.children:
            section += listed
        self.state.document.note_implicit_target(section)
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
