"""What has a name: models and layers, ours and those of other packages.

A registry maps names to entries that say what a thing is and where it lives, so that help,
completion and tables can list everything without importing it. Another package adds to a registry
through an entry point of the registry's group, or at run time with :meth:`Registry.register`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, Literal, Protocol, TypeVar

from edgnn._words import suggestion_or
from edgnn.errors import EdgnnError, ModelError

Level = Literal["graph", "node"]
#: What targets are: one class per item, several labels per item, or numbers.
Task = Literal["classes", "labels", "values"]


class Named(Protocol):
    """What a registry holds: anything with a name."""

    @property
    def name(self) -> str:
        """The name it is found by."""
        ...


_E = TypeVar("_E", bound=Named)


class Registry(Mapping[str, _E], Generic[_E]):
    """Entries by name: those of this package first, then those of installed packages.

    Parameters
    ----------
    kind : str
        What an entry is called in messages, such as ``"model"``.
    group : str
        The group of entry points that other packages add entries with. Such an entry point names an
        entry, or a function without arguments that returns one.
    entries : iterable
        The entries of this package.
    error : type
        What an unknown name raises.
    """

    def __init__(
        self, kind: str, group: str, entries: Iterable[_E], error: type[EdgnnError] = ModelError
    ) -> None:
        self.kind, self.group, self._error = kind, group, error
        self._entries: dict[str, _E] = {}
        self._plugins_loaded = False
        for entry in entries:
            self.register(entry)

    def register(self, entry: _E) -> _E:
        """Add an entry; a name that is taken by another entry is an error."""
        known = self._entries.get(entry.name)
        if known is not None and known != entry:
            raise self._error(f"there is a {self.kind} {entry.name!r} already; choose another name")
        self._entries[entry.name] = entry
        return entry

    def unregister(self, name: str) -> None:
        """Remove the entry of a name, such as one that a test has added."""
        del self._entries[name]

    def find(self, name: str) -> _E:
        """Return the entry of a name; an unknown name is an error that suggests a known one."""
        entries = self._all()
        if name not in entries:
            hint = suggestion_or(name, entries, f"choose one of {', '.join(entries)}")
            raise self._error(f"there is no {self.kind} {name!r}; {hint}")
        return entries[name]

    def __getitem__(self, name: str) -> _E:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, _E]:
        """Return all entries; those of other packages are looked for once, when first needed."""
        if not self._plugins_loaded:
            self._plugins_loaded = True
            for point in entry_points(group=self.group):
                self._load_plugin(point)
        return self._entries

    def _load_plugin(self, point: Any) -> None:
        try:
            loaded = point.load()
            is_factory = callable(loaded) and not hasattr(loaded, "name")
            self.register(loaded() if is_factory else loaded)
        except Exception as error:
            raise self._error(
                f"the {self.kind} {point.name!r} of the installed package {point.dist.name!r} "
                f"cannot be loaded: {type(error).__name__}: {error}; update or remove that package"
            ) from error


@dataclass(frozen=True)
class ModelEntry:
    """A model by name, and what it can do.

    Parameters
    ----------
    name : str
        What ``--model`` calls it.
    summary : str
        One line about it.
    classes : mapping
        Where its estimator lives, as ``"module:Class"``, by level and task:
        ``{"graph": {"classes": "edgnn.models:GraphClassifier"}}``.
    parameters : mapping
        The parameters that the name stands for, such as ``{"conv": "joint"}``.
    extra : str, optional
        The extra of this package that it needs installed.
    """

    name: str
    summary: str
    classes: Mapping[Level, Mapping[Task, str]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    extra: str | None = None

    def find_class(self, level: Level, task: Task) -> Any:
        """Return the estimator class for a level and a task; what the model cannot do is an error."""
        tasks = self.classes.get(level)
        if tasks is None:
            able = " and ".join(f"{known}s" for known in self.classes)
            raise ModelError(f"{self.name} learns about {able}, not about {level}s")
        if task not in tasks:
            raise ModelError(
                f"{self.name} learns {' and '.join(tasks)}, but the targets are {task}"
            )
        return load_target(tasks[task])


@dataclass(frozen=True)
class LayerEntry:
    """A layer by name: ``target`` is its class, or where that lives, as ``"module:Class"``.

    The class is a :class:`~edgnn.nn.Conv` or a plain torch module (:class:`~edgnn.nn.ModuleConv`).
    ``title`` is what a network of such layers is called, and ``options`` belong to the name.
    """

    name: str
    summary: str
    target: str | type
    options: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""

    def load(self) -> Any:
        """Return the class."""
        return load_target(self.target) if isinstance(self.target, str) else self.target


def load_target(target: str) -> Any:
    """Return what ``"module:attribute"`` names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _network(kind: str) -> dict[Level, dict[Task, str]]:
    """Return the estimators of a network: classifiers also learn several labels."""
    both: dict[Level, dict[Task, str]] = {}
    for level, title in (("graph", "Graph"), ("node", "Node")):
        classifier = f"edgnn.models:{kind}{title}Classifier"
        both[level] = {"classes": classifier, "labels": classifier}  # type: ignore[index]
        both[level]["values"] = f"edgnn.models:{title}Regressor"  # type: ignore[index]
    return both


def _classifier(graph: str | None = None, node: str | None = None) -> dict[Level, dict[Task, str]]:
    """Return the estimators of a model that learns one class per item."""
    found: dict[Level, dict[Task, str]] = {}
    if graph is not None:
        found["graph"] = {"classes": f"edgnn.models:{graph}"}
    if node is not None:
        found["node"] = {"classes": f"edgnn.models:{node}"}
    return found


#: Every model that ``edgnn train``, ``evaluate`` and ``reproduce`` know.
MODELS: Registry[ModelEntry] = Registry(
    "model",
    "edgnn.models",
    [
        ModelEntry("edgnn", "edGNN, the network of the paper", _network(""), {"conv": "edgnn"}),
        ModelEntry("gnn", "the network without edge labels (Eq. 3)", _network(""), {"conv": "gnn"}),
        ModelEntry(
            "joint", "a network with weights per edge label", _network(""), {"conv": "joint"}
        ),
        ModelEntry(
            "ridge",
            "color counts and an infinitely wide edGNN, kernel ridge in closed form",
            _classifier("RidgeGraphClassifier", "RidgeNodeClassifier"),
        ),
        ModelEntry(
            "blend",
            "ridge blended with trained networks",
            _classifier("BlendGraphClassifier"),
        ),
        ModelEntry(
            "majority",
            "the most frequent class",
            _classifier("MajorityClassifier", "MajorityClassifier"),
        ),
        ModelEntry(
            "csm", "subgraph matching kernel, SVM", _classifier("SubgraphMatchingClassifier")
        ),
        ModelEntry(
            "wlsp",
            "Weisfeiler-Lehman shortest-path kernel, SVM",
            _classifier("WLShortestPathClassifier"),
        ),
        ModelEntry("rgcn", "R-GCN", _network("RGCN") | {}, {}),
        ModelEntry(
            "wl-rdf",
            "Weisfeiler-Lehman kernel of the subgraphs around nodes, SVM",
            _classifier(node="RDFWLClassifier"),
        ),
        ModelEntry(
            "rdf2vec",
            "word2vec of random walks, SVM",
            _classifier(node="RDF2VecClassifier"),
            extra="rdf2vec",
        ),
        ModelEntry(
            "wl-subtree",
            "Weisfeiler-Lehman color counts, kernel ridge",
            _classifier("WLClassifier", "WLClassifier"),
        ),
        ModelEntry("gin", "GIN with edge labels (GINE)", _network("GIN")),
    ],
)

#: Every layer that ``conv=`` takes by name.
LAYERS: Registry[LayerEntry] = Registry(
    "layer",
    "edgnn.layers",
    [
        LayerEntry(
            "edgnn",
            "Eq. 4 of the paper: counts of edge labels",
            "edgnn.nn:EdGNNConv",
            title="edGNN",
        ),
        LayerEntry(
            "gnn",
            "Eq. 3 of the paper: no edge labels",
            "edgnn.nn:GNNConv",
            title="GNN without edge labels",
        ),
        LayerEntry(
            "joint",
            "a weight per edge label and direction, sums",
            "edgnn.nn:RelationalConv",
            {"aggregate": "sum"},
            title="joint edGNN",
        ),
        LayerEntry(
            "rgcn",
            "a weight per edge label and direction, means (R-GCN)",
            "edgnn.nn:RelationalConv",
            {"aggregate": "mean"},
            title="R-GCN",
        ),
        LayerEntry(
            "gine",
            "GINE: GIN with edge labels",
            "edgnn.nn:GINEConv",
            title="GIN with edge labels",
        ),
    ],
)
