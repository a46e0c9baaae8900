"""The API reference: ``package`` documents all public names of a package, whoever defines them.

Nothing here knows a name of edgnn: pages are the files of ``docs/api``, names those of ``__all__``.
A name that several packages export is documented once, in the one it belongs to; the others link to it.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext import autosummary
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

import edgnn

#: Bases that others wrote: what a class inherits from them is documented by them.
FOREIGN = (
    "Module,BaseEstimator,ClassifierMixin,RegressorMixin,TransformerMixin,"
    "Sequence,Mapping,dict,Exception,ABC,Generic,tuple,object"
)
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
#: The packages that have a page, those of short names first.
DOCUMENTED = sorted(
    (f"edgnn.{page.stem}" for page in Path(__file__).parents[1].glob("api/*.rst")),
    key=lambda name: (name.count("."), name),
)
#: The package of each name that ``import edgnn`` offers.
HOMES: dict[str, str] = edgnn._HOME
#: How a constant of these types is shown: as it is.
SHOWN = (str, int, float)


def public(module: ModuleType) -> list[str]:
    """Return the public names of a package; one without ``__all__`` shows what is defined in it."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and name[0] != "_"
    ]


def described(value: Any) -> bool:
    """Return whether a public name has a docstring of its own."""
    return inspect.isclass(value) or inspect.isroutine(value)


@cache
def exporters(name: str) -> list[tuple[str, Any]]:
    """Return the packages that export a name, each with the value it has there."""
    modules = [import_module(package) for package in DOCUMENTED]
    return [
        (module.__name__, getattr(module, name)) for module in modules if name in public(module)
    ]


def home(package: str, name: str, value: Any) -> str:
    """Return the package that documents a value: the first that exports it and holds its definition."""
    if not described(value):
        return package
    same = [exporter for exporter, other in exporters(name) if other is value]
    defined_in = f"{value.__module__}."
    owners = [exporter for exporter in same if defined_in.startswith(f"{exporter}.")]
    return next(iter([*owners, *same]), package)


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
    return [f".. py:data:: {name}", "", f"   {constant(value)}"]


def constant(value: Any) -> str:
    """Return what is said about a constant: its keys, its value, or what its class is for."""
    if isinstance(value, (Mapping, tuple)):
        return "By name: " + ", ".join(f"``{key}``" for key in value) + "."
    if isinstance(value, SHOWN) and len(str(value)) < 80:
        return f"``{value!r}``"
    if type(value).__module__ in ("typing", "types"):  # the alias of a type
        return (
            "``"
            + re.sub(r"\b(typing|collections\.abc|numpy|edgnn)\.(\w+\.)*", "", str(value))
            + "``"
        )
    return (inspect.getdoc(value) or "").split("\n")[0]


def summary(value: Any) -> str:
    """Return the first sentence about a public name."""
    if described(value):
        return (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return constant(value)


def parse(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """Let Sphinx read lines of reStructuredText that a directive has written."""
    holder = nodes.container()
    text = StringList(lines, source="package")
    directive.state.nested_parse(text, directive.content_offset, holder)
    return holder.children


class Package(SphinxDirective):
    """``.. package:: edgnn.wl``: its purpose, a table of its public names, each of them in full.

    With ``:first: NAME NAME`` these come first, as far as the package has them.
    """

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"first": str.split}

    def run(self) -> list[nodes.Node]:
        """Write the package's directives and let Sphinx read them."""
        module = import_module(self.arguments[0])
        package = module.__name__
        every = public(module)
        first = [name for name in self.options.get("first", []) if name in every]
        names = [*first, *(name for name in every if name not in first)]
        homes = {name: home(package, name, getattr(module, name)) for name in names}
        own = [name for name in names if homes[name] == package]
        elsewhere = [f":py:obj:`{homes[name]}.{name}`" for name in names if homes[name] != package]
        lines = [f".. automodule:: {package}", "", f".. currentmodule:: {package}", ""]
        lines += [".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in own if described(getattr(module, name))]
        if elsewhere:
            lines += ["", f"Also offered here: {', '.join(elsewhere)}."]
        for name in own:
            lines += ["", *directive(module, name)]
        return parse(self, lines)


class ShortNames(SphinxDirective):
    """``.. short-names::``: what ``import edgnn`` offers, with where each name lives and what it is."""

    def run(self) -> list[nodes.Node]:
        """Write a table and let Sphinx read it."""
        lines = [".. list-table::", "   :widths: 30 70", ""]
        for name, package in sorted(HOMES.items()):
            link = f":py:obj:`edgnn.{name} <edgnn.{package}.{name}>`"
            lines += [f"   * - {link}", f"     - {summary(getattr(edgnn, name))}"]
        return parse(self, lines)


def documented(target: str, objects: Mapping[str, Any]) -> str | None:
    """Return the name something is documented by: ``edgnn.graphs.Graphs`` for ``edgnn.Graphs`` and ``Graphs``."""
    words = [word for word in target.split(".") if not re.match("_[^_]", word)]
    if len(words) > 1 and words[0] == "edgnn" and words[1] in HOMES:
        words.insert(1, HOMES[words[1]])
    name = ".".join(words)
    if name in objects:
        return name
    ending = f".{name.removeprefix('edgnn.')}"
    return only(
        known
        for known in objects
        if known.endswith(ending) and known.rpartition(ending)[0] in DOCUMENTED
    )


def only(names: Iterable[str]) -> str | None:
    """Return the name if there is exactly one."""
    listed = list(names)
    return listed[0] if len(listed) == 1 else None


def owner_of(target: str, objects: Mapping[str, Any]) -> str | None:
    """Return the documented class that has a field of this name, which its docstring describes."""
    owner, _, field = target.rpartition(".")
    name = documented(owner, objects) if owner else None
    if name is None:
        return None
    package, _, inner = name.rpartition(".")
    value = getattr(import_module(package), inner, None) if package in objects else None
    has_field = hasattr(value, field) or field in getattr(value, "__dataclass_fields__", {})
    return name if has_field else None


def enclosing(target: str, objects: Mapping[str, Any]) -> str | None:
    """Return the documented package that a module lies in."""
    while target and target not in objects:
        target = target.rpartition(".")[0]
    return target or None


class FullNames(SphinxPostTransform):
    """Write names that several packages export in full: a name means what it does in the code of the page's package."""

    default_priority = 5  # before Sphinx resolves references

    def run(self, **kwargs: Any) -> None:
        """Change the targets of references."""
        package = page_package(self.env.docname)
        for node in self.document.findall(addnodes.pending_xref):
            if node.get("refdomain") == "py" and len(exporters(node["reftarget"])) > 1:
                node["reftarget"] = meant(node["reftarget"], package)


def meant(name: str, package: str) -> str:
    """Return the full name of what ``name`` stands for in the modules of a package."""
    if package not in DOCUMENTED:
        return name
    own = import_module(package)
    modules = [
        own,
        *(sys.modules[key] for key in sorted(sys.modules) if key.startswith(f"{package}.")),
    ]
    values = [getattr(module, name) for module in modules if hasattr(module, name)]
    for exporter, value in exporters(name):
        if values and value is values[0]:
            return f"{home(exporter, name, value)}.{name}"
    # Perhaps it is imported for type checkers only.
    statement = re.compile(rf"from (edgnn[\w.]*) import (\([^)]*|[^(\n]*)\b{re.escape(name)}\b")
    for module in modules:
        found = statement.search(inspect.getsource(module))
        if found and found[1] in DOCUMENTED:
            return f"{found[1]}.{name}"
    return name


def page_package(page: str) -> str:
    """Return the package that a page of the reference is about."""
    return page.replace("api/", "edgnn.", 1)


def member(target: str, page: str, objects: Mapping[str, Any]) -> str | None:
    """Return the member of this name of the only class on a page that has one."""
    package = page_package(page)
    return only(name for name in objects if re.fullmatch(rf"{package}\.\w+\.{target}", name))


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, text: nodes.TextElement
) -> nodes.reference | None:
    """Resolve a reference to one of our names by its other name."""
    if node.get("refdomain") != "py":
        return None
    domain, target = env.domains.python_domain, node["reftarget"]
    if node["reftype"] == "mod":
        name = enclosing(target, domain.objects)
    elif node["reftype"] in ("attr", "meth") and "." not in target:
        # Of a class that its summary in a table stands outside of; others Sphinx has found.
        name = member(target, node["refdoc"], domain.objects)
    else:
        name = documented(target, domain.objects) or owner_of(target, domain.objects)
    if name is None:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, text)


def keep(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Keep the docstring of a property: napoleon would take the words before a colon for its type."""
    if what in ("attribute", "data", "property"):
        app.env.temp_data["docstring"] = list(lines)


def restore(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Put the docstring that :func:`keep` kept back."""
    if what in ("attribute", "data", "property"):
        lines[:] = app.env.temp_data.pop("docstring")
    # What napoleon writes for a dash.
    lines[:] = [line.replace(" -- ", " – ", 1) if "*" in line else line for line in lines]


def readable(
    app: Sphinx,
    what: str,
    name: str,
    value: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> Any:
    """Write defaults that have no notation, such as ``<factory>``, as three dots."""
    return (re.sub(r"<[^<>]*>", "...", signature), returns) if signature else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives, the search for other names, and what keeps napoleon from properties."""
    autosummary.WELL_KNOWN_ABBREVIATIONS += ("Eq.",)  # which do not end a sentence
    app.add_directive("package", Package)
    app.add_directive("short-names", ShortNames)
    app.add_post_transform(FullNames)
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-signature", readable)
    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
