"""The API reference: ``room`` documents all public names of a package, and their other names are known as well."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext import autosummary
from sphinx.util.docutils import SphinxDirective

import edgnn

#: Bases that others wrote: what a class inherits from them is documented by them.
FOREIGN = "Module,BaseEstimator,ClassifierMixin,RegressorMixin,TransformerMixin,Sequence,Mapping,Exception,ABC,Generic,tuple,object"
#: What scikit-learn adds to every estimator, and Python to every error.
ADDED = ",".join(
    [
        *(
            f"set_{name}_request"
            for name in ("fit", "predict", "predict_proba", "score", "transform")
        ),
        *("get_metadata_routing", "set_output", "add_note", "with_traceback"),
    ]
)
HOMES: dict[str, str] = edgnn._HOME


def public(module: ModuleType) -> list[str]:
    """Return the public names of a room; one without ``__all__`` shows what is defined in it."""
    if hasattr(module, "__all__") and module is not edgnn.errors:
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and name[0] != "_"
    ]


def directive(module: ModuleType, name: str) -> list[str]:
    """Return the lines that document one public name."""
    value = getattr(module, name)
    if inspect.ismodule(value):
        return [f".. automodule:: {value.__name__}", "   :members:"]
    if inspect.isclass(value) and value.__name__ == name:
        options = [
            "   :members:",
            f"   :inherited-members: {FOREIGN}",
            f"   :exclude-members: {ADDED}",
        ]
        return [f".. autoclass:: {module.__name__}.{name}", *options]
    if inspect.isroutine(value):
        return [f".. autofunction:: {module.__name__}.{name}"]
    return [f".. py:data:: {name}", "", f"   {said(value)}"]


def said(value: Any) -> str:
    """Say what a constant is: what it has by which names, or how its own class describes it."""
    if isinstance(value, (dict, tuple)):
        return "By name: " + ", ".join(f"``{key}``" for key in value) + "."
    return (inspect.getdoc(value) or "").split("\n")[0]


def described(value: Any) -> bool:
    """Return whether a public name has a docstring of its own."""
    return inspect.isclass(value) or inspect.isroutine(value)


def read(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """Let Sphinx read lines of reStructuredText that a directive has written."""
    holder = nodes.container()
    directive.state.nested_parse(
        StringList(lines, source="rooms"), directive.content_offset, holder
    )
    return holder.children


class Room(SphinxDirective):
    """``.. room:: edgnn.wl``: what the room is for, a table of its public names, and each of them in full.

    With ``:first: NAME NAME`` these come first.
    """

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"first": str.split}

    def run(self) -> list[nodes.Node]:
        """Write the room's directives and let Sphinx read them."""
        module = import_module(self.arguments[0])
        first = self.options.get("first", [])
        names = first + [name for name in public(module) if name not in first]
        lines = [
            f".. automodule:: {module.__name__}",
            "",
            f".. currentmodule:: {module.__name__}",
            "",
        ]
        lines += [".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names if described(getattr(module, name))]
        for name in names:
            lines += ["", *directive(module, name)]
        return read(self, lines)


class ShortNames(SphinxDirective):
    """``.. short-names::``: the names that ``import edgnn`` offers, with where each lives and its first sentence."""

    def run(self) -> list[nodes.Node]:
        """Write a table and let Sphinx read it."""
        lines = [".. list-table::", "   :widths: 30 70", ""]
        for name, home in sorted(HOMES.items()):
            value = getattr(edgnn, name)
            summary = (
                (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
                if described(value)
                else said(value)
            )
            lines += [f"   * - :py:obj:`edgnn.{name} <edgnn.{home}.{name}>`", f"     - {summary}"]
        return read(self, lines)


def documented(target: str, known: dict[str, Any]) -> str | None:
    """Return the name under which something is documented: ``edgnn.graphs.Graphs`` for ``edgnn.Graphs`` and for ``Graphs``."""
    parts = [
        part
        for part in target.split(".")
        if not (part.startswith("_") and not part.startswith("__"))
    ]
    if len(parts) > 1 and parts[0] == "edgnn" and parts[1] in HOMES:
        parts.insert(1, HOMES[parts[1]])
    if (name := ".".join(parts)) in known:
        return name
    alike = [
        name for name in known if name.endswith(f".{'.'.join(parts)}") and name.startswith("edgnn.")
    ]
    homes = [name for name in alike if name.count(".") == 1 + len(parts)]
    return homes[0] if len(homes) == 1 else None


def part_of(target: str, known: dict[str, Any]) -> str | None:
    """Return the documented class that has a field of this name, which its docstring tells of."""
    owner, _, field = target.rpartition(".")
    name = documented(owner, known) if owner else None
    if name is None:
        return None
    room, _, inner = name.rpartition(".")
    value = getattr(import_module(room), inner, None) if room in known else None
    return (
        name
        if hasattr(value, field) or field in getattr(value, "__dataclass_fields__", {})
        else None
    )


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, text: nodes.TextElement
) -> nodes.reference | None:
    """Resolve a reference to one of our names by its other name."""
    if node.get("refdomain") != "py" or node["reftype"] == "mod":
        return None
    if (
        node["reftype"] in ("attr", "meth") and "." not in node["reftarget"]
    ):  # of the class it stands in, or of none
        return None
    domain = env.domains.python_domain
    name = documented(node["reftarget"], domain.objects) or part_of(
        node["reftarget"], domain.objects
    )
    if name is None:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, text)


def keep(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Keep the docstring of a property: napoleon would take the words before a colon for its type."""
    if what in ("attribute", "data", "property"):
        app.env.temp_data["docstring"] = list(lines)


def restore(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Put the docstring that :func:`keep` kept back in its place."""
    if what in ("attribute", "data", "property"):
        lines[:] = app.env.temp_data.pop("docstring")
    lines[:] = [
        line.replace(" -- ", " – ", 1) if "*" in line else line for line in lines
    ]  # what napoleon writes for a dash


def readable(
    app: Sphinx,
    what: str,
    name: str,
    value: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> Any:
    """Write defaults that have no notation, such as ``<factory>``, as three dots, so that the signature can be read."""
    return (re.sub(r"<[^<>]*>", "...", signature), returns) if signature else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, the search for other names, and what keeps napoleon from properties."""
    autosummary.WELL_KNOWN_ABBREVIATIONS += ("Eq.",)  # which do not end a sentence
    app.add_directive("room", Room)
    app.add_directive("short-names", ShortNames)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-signature", readable)
    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
