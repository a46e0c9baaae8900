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

from edgnn._words import short, suggestion_or
from edgnn.errors import EdgnnError, EstimatorError, ModelError

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
            raise self._error(f"there is no {self.kind} {short(name)}; {hint}")
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
        Where its class lives, as ``"module:Class"``, by level and task:
        ``{"graph": {"classes": "edgnn.models:GraphClassifier"}}``. The class is a
        :class:`edgnn.models.Model`.
    parameters : mapping
        The parameters that the name stands for, such as ``{"conv": "joint"}``.
    class_parameters : mapping
        Further ones of single classes, by class as in ``classes``.
    extra : str, optional
        The extra of this package that it needs installed.
    trains_by_epochs : bool
        Whether training goes epoch by epoch, so that an interrupted one is resumed; else it is
        fitted at once.
    probabilities : bool
        Whether it gives probabilities of classes and labels.
    embeds : bool
        Whether it has ``embed``.
    exports : bool
        Whether ``edgnn export`` makes a program of it.
    """

    name: str
    summary: str
    classes: Mapping[Level, Mapping[Task, str]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    class_parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    extra: str | None = None
    trains_by_epochs: bool = False
    probabilities: bool = False
    embeds: bool = False
    exports: bool = False

    @property
    def levels(self) -> tuple[Level, ...]:
        """What it learns about: graphs, nodes or both."""
        return tuple(self.classes)

    def tasks(self, level: Level) -> tuple[Task, ...]:
        """What targets of graphs or of nodes it learns."""
        return tuple(self.classes.get(level, ()))

    def find_class(self, level: Level, task: Task) -> Any:
        """Return the class for a level and a task; what the model cannot do is an error."""
        return load_target(self._target(level, task))

    def find_parameters(self, level: Level, task: Task) -> dict[str, Any]:
        """Return the parameters that the name stands for where it learns such targets."""
        own = self.class_parameters.get(self._target(level, task), {})
        return {**self.parameters, **own}

    def _target(self, level: Level, task: Task) -> str:
        if level not in self.classes:
            able = " and ".join(_ITEMS[known] for known in self.classes)
            raise EstimatorError(
                f"{self.name} learns about {able}, but the targets are those of {level}s; "
                f"for these there are {_names(level, task)}"
            )
        tasks = self.classes[level]
        if task not in tasks:
            raise EstimatorError(
                f"{self.name} learns {' and '.join(tasks)}, but the targets are {task}; "
                f"for these there are {_names(level, task)}"
            )
        return tasks[task]


_ITEMS: dict[Level, str] = {"graph": "whole graphs", "node": "nodes"}


def _names(level: Level, task: Task) -> str:
    """Return the models that learn such targets."""
    return ", ".join(name for name, entry in MODELS.items() if task in entry.tasks(level))


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


def _network(name: str, summary: str, conv: str | None = None, kind: str = "") -> ModelEntry:
    """Return the entry of a network: its classifiers learn classes and several labels.

    Without ``conv`` any layer can be chosen for it.
    """
    classes: dict[Level, dict[Task, str]] = {}
    titles: tuple[tuple[Level, str], ...] = (("graph", "Graph"), ("node", "Node"))
    for level, title in titles:
        classifier = f"edgnn.models:{kind}{title}Classifier"
        regressor = f"edgnn.models:{title}Regressor"
        classes[level] = {"classes": classifier, "labels": classifier, "values": regressor}
    return ModelEntry(
        name,
        summary,
        classes,
        {} if conv is None else {"conv": conv},
        trains_by_epochs=True,
        probabilities=True,
        embeds=True,
        exports=True,
    )


def _classifier(
    name: str, summary: str, *, graph: str | None = None, node: str | None = None, **facts: Any
) -> ModelEntry:
    """Return the entry of a model that learns one class per item."""
    classes: dict[Level, dict[Task, str]] = {}
    if graph is not None:
        classes["graph"] = {"classes": f"edgnn.models:{graph}"}
    if node is not None:
        classes["node"] = {"classes": f"edgnn.models:{node}"}
    return ModelEntry(name, summary, classes, **facts)


_AUTO: dict[Task, str] = {
    "classes": "edgnn.models:AutoClassifier",
    "labels": "edgnn.models:AutoClassifier",
    "values": "edgnn.models:AutoRegressor",
}


def _counts(
    name: str, summary: str, learners: str | None = None, node: str | None = None
) -> ModelEntry:
    """Return the entry of what learns on counts of graphs: one learner, or the best of them."""
    classes: dict[Level, Mapping[Task, str]] = {"graph": _AUTO}
    if node is not None:
        classes["node"] = {"classes": f"edgnn.models:{node}"}
    chosen = {} if learners is None else {"learners": learners}
    return ModelEntry(
        name,
        summary,
        classes,
        class_parameters=dict.fromkeys(_AUTO.values(), chosen),
        probabilities=True,
    )


def _majority() -> ModelEntry:
    tasks: dict[Task, str] = {
        "classes": "edgnn.models:MajorityClassifier",
        "labels": "edgnn.models:MajorityClassifier",
        "values": "edgnn.models:MeanRegressor",
    }
    summary = "the most frequent class, or the mean value"
    return ModelEntry("majority", summary, {"graph": tasks, "node": tasks}, probabilities=True)


#: Every model that ``edgnn train``, ``evaluate`` and ``reproduce`` know.
MODELS: Registry[ModelEntry] = Registry(
    "model",
    "edgnn.models",
    [
        _counts(
            "auto",
            "the best of several learners on color counts, or a blend; chosen on held-out items",
        ),
        _network("edgnn", "edGNN, the network of the paper"),
        _network("gnn", "the network without edge labels (Eq. 3)", "gnn"),
        _network("joint", "a network with weights per edge label", "joint"),
        _counts(
            "ridge",
            "kernel ridge on color counts, in closed form",
            "ridge",
            node="RidgeNodeClassifier",
        ),
        _counts("forest", "a forest on color counts", "forest"),
        _counts("boosting", "boosted trees on color counts", "boosting"),
        _counts("sparse", "a linear model of few color counts", "sparse"),
        _classifier(
            "ridge-network",
            "color counts and an infinitely wide edGNN, kernel ridge; the ridge of the tables",
            graph="RidgeGraphClassifier",
            node="RidgeNodeClassifier",
            probabilities=True,
        ),
        _classifier(
            "blend",
            "ridge-network mixed with a random forest on color counts",
            graph="BlendGraphClassifier",
            probabilities=True,
        ),
        _majority(),
        _classifier("csm", "subgraph matching kernel, SVM", graph="SubgraphMatchingClassifier"),
        _classifier(
            "wlsp",
            "Weisfeiler–Lehman shortest-path kernel, SVM",
            graph="WLShortestPathClassifier",
        ),
        ModelEntry(
            "ecfp",
            "trees on circular fingerprints (ECFP4) and RDKit descriptors, for molecules",
            {
                "graph": {
                    "classes": "edgnn.models:ECFPClassifier",
                    "labels": "edgnn.models:ECFPClassifier",
                    "values": "edgnn.models:ECFPRegressor",
                }
            },
            extra="molecules",
            probabilities=True,
        ),
        _network("rgcn", "R-GCN", "rgcn", "RGCN"),
        _classifier(
            "wl-rdf",
            "Weisfeiler–Lehman kernel of the subgraphs around nodes, SVM",
            node="RDFWLClassifier",
        ),
        _classifier(
            "rdf2vec",
            "word2vec of random walks, SVM",
            node="RDF2VecClassifier",
            extra="rdf2vec",
            embeds=True,
        ),
        _classifier(
            "wl-subtree",
            "Weisfeiler–Lehman color counts, kernel ridge",
            graph="WLClassifier",
            node="WLClassifier",
            probabilities=True,
        ),
        _network("gin", "GIN with edge labels (GINE)", "gine", "GIN"),
    ],
    EstimatorError,
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
