"""A trained model and what to apply it to: shared by predict, explain, export and convert --for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgnn._paths import exists
from edgnn._words import closest, counted, short_iri
from edgnn.cli._source import check_here
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.graphs import Graphs, Nodes
    from edgnn.io import Piece
    from edgnn.io.datasets import Dataset

_SHOWN_NAMES, _LONGEST_NUMBER, _MOST_EDITS = 3, 40, 2


@dataclass(frozen=True)
class Trained:
    """The model of a run folder, with what the folder says about its training."""

    model: Any
    config: dict[str, Any]

    @property
    def level(self) -> str:
        """What it predicts for: ``"graph"`` or ``"node"``."""
        return str(self.model.level)

    @property
    def reads_molecules(self) -> bool:
        """Whether it was trained on a file of molecules."""
        from edgnn.io.datasets import origin_of

        origin = origin_of(self.config) or {}
        return origin.get("format") in ("smiles", "sdf")

    @property
    def class_names(self) -> Sequence[str]:
        """The names of the classes."""
        from edgnn.io.datasets import stored_texts

        return stored_texts(self.config, "class_names")

    @property
    def target_names(self) -> Sequence[str]:
        """The names of several targets."""
        from edgnn.io.datasets import stored_texts

        return stored_texts(self.config, "target_names")


def open_trained(run: Path, device: str, **parameters: Any) -> Trained:
    """Load the model of a run folder; ``parameters`` that are not ``None`` replace stored ones."""
    from edgnn.models import device_of, load_model
    from edgnn.training import RunFolder

    changed = {name: value for name, value in parameters.items() if value is not None}
    config = RunFolder.open(run).config
    stored = config.get("parameters")
    if isinstance(stored, dict) and "device" in stored:
        changed["device"] = device
    elif device not in ("cpu", "auto"):
        raise EdgnnError(f"the model in {run} runs on the CPU: leave --device {device} out")
    model = load_model(run, **changed)
    model.check_parameters()
    device_of(device)
    return Trained(model, config)


def load_new(
    source: str, config: dict[str, Any], options: dict[str, Any], data_dir: Path | None
) -> Dataset:
    """Load what to predict for, with the reader's options of the training where they fit."""
    from edgnn.io.datasets import find, load_dataset, load_items, reading_options

    check_here(source, data_dir)
    if find(source) is not None:
        return load_dataset(source, data_dir=data_dir, **options)
    if not exists(source):
        return load_dataset(source, data_dir=data_dir, download=False, **options)
    stored = reading_options(config, source, options)
    return load_items(source, **(stored | options))


def new_pieces(
    source: str,
    trained: Trained,
    options: dict[str, Any],
    data_dir: Path | None,
    nodes: str | None,
    *,
    skip_unknown: bool | None = False,
) -> Iterator[Piece] | Graphs | Nodes:
    """Return what to predict for: files of molecules piece by piece, all else as a whole.

    Molecules that cannot be read are rows without a prediction, unless ``bad=error`` is given.
    """
    from edgnn.io import FORMATS, read_pieces, recognize
    from edgnn.io.datasets import find, reading_options

    if trained.level == "graph" and nodes is None and find(source) is None and _is_file(source):
        fitting = reading_options(trained.config, source, options)
        fitting |= {"bad": "keep"} | options
        kind = str(fitting.pop("format", None) or recognize(source, fitting))
        if kind in ("smiles", "sdf"):
            fitting = FORMATS[kind].check_read_options(fitting)
            fitting.pop("target", None)
            return read_pieces(source, kind, **fitting)
    data = load_new(source, trained.config, options, data_dir)
    return select_items(data, trained.level, nodes, skip_unknown=skip_unknown)


def _is_file(source: str) -> bool:
    return exists(source) and Path(source).is_file()


def listed_pieces(
    smiles: Sequence[str], trained: Trained, options: dict[str, Any]
) -> Iterator[Piece]:
    """Return molecules of the command line, read as those of the training were."""
    from edgnn.io import FORMATS, smiles_pieces
    from edgnn.io.datasets import molecule_options

    if trained.level != "graph":
        raise EdgnnError("--smiles is for models of graphs; this one is of nodes")
    given = FORMATS["smiles"].check_read_options(options)
    return smiles_pieces(smiles, **(molecule_options(trained.config) | given))


def select_items(
    data: Dataset, level: str, nodes: str | None, *, skip_unknown: bool | None = False
) -> Graphs | Nodes:
    """Return the graphs, or the nodes that ``--nodes`` asks for."""
    if level == "graph":
        if nodes is not None:
            raise EdgnnError("--nodes is for models of nodes; this one is of graphs")
        return data.graphs
    if nodes is None:
        return data.graphs.nodes if data.nodes is None else data.nodes
    if nodes == "all":
        return data.graphs.nodes
    check_nodes(nodes)
    from edgnn.io.datasets import named_nodes

    return named_nodes(data.graphs, nodes, unknown="skip" if skip_unknown else "error")


def check_nodes(nodes: str | None) -> None:
    """Raise where the file that names nodes does not exist."""
    if nodes is not None and nodes != "all" and not exists(nodes):
        raise EdgnnError(
            "--nodes takes a file that names nodes, one per line, or all; "
            f"there is no file {nodes!r}"
        )


def positions_of(items: Graphs | Nodes, words: Iterable[str]) -> list[int]:
    """Return the positions of the items that ``--item`` words name, each once; default: the first.

    A word is the name of an item, or a number, a range of numbers, ``all``, or the last segment of
    an IRI; the first of these that fits counts.
    """
    if not len(items):
        raise EdgnnError("there is nothing to explain: the source has no items")
    words = list(words)
    if not words:
        return [0]
    from edgnn.models import identities

    names = [str(name) for name in identities(items)["id"]]
    positions = (place for word in words for place in _positions(items, names, word))
    return list(dict.fromkeys(positions))


def _positions(items: Graphs | Nodes, names: list[str], word: str) -> Sequence[int]:
    if word in names:
        return [names.index(word)]
    if word == "all":
        return range(len(items))
    first, dash, last = word.partition("-")
    if not dash:
        last = first
    if len(word) < _LONGEST_NUMBER and first.isdecimal() and last.isdecimal():
        return _numbered(items, word, int(first), int(last))
    for position, name in enumerate(names):
        if short_iri(name) == word:
            return [position]
    raise EdgnnError(f"there is no item {word!r}; {_hint(word, names)}")


def _numbered(items: Graphs | Nodes, word: str, first: int, last: int) -> list[int]:
    """Return positions by number; nodes without names keep the numbers they have in their graph."""
    from edgnn.graphs import Nodes

    if last < first:
        raise EdgnnError(
            f"--item {word}: a range goes from the smaller number to the larger, "
            f"as in --item {last}-{first}"
        )
    numbers: Sequence[int] = range(len(items))
    nodes = 0
    if isinstance(items, Nodes) and items.names is None:
        numbers, nodes = items.index.tolist(), items.graphs.num_nodes
    position = {number: place for place, number in enumerate(numbers)}
    for number in range(first, last + 1):
        if number in position:
            continue
        if number < nodes:
            raise EdgnnError(
                f"--item {word}: node {number} is none of the {len(items):,} nodes with targets; "
                "--nodes all takes any of the graph"
            )
        verb = "is" if len(numbers) == 1 else "are"
        raise EdgnnError(
            f"--item {word}: there {verb} {counted(len(numbers), 'item')}, "
            f"numbered from 0 to {max(numbers)}"
        )
    return [position[number] for number in range(first, last + 1)]


def _hint(word: str, names: list[str]) -> str:
    is_blank = word.startswith("_:")
    close = closest(word, [name for name in names if name.startswith("_:") == is_blank])
    # an item is worth suggesting only for a slip of the finger: many have similar names
    if close is not None and _edits(word.casefold(), close.casefold()) <= _MOST_EDITS:
        return f"did you mean {close!r}?"
    some = ", ".join(map(repr, names[:_SHOWN_NAMES]))
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    return f"give a number from 0 to {len(names) - 1}, or a name; they are {some}{more}"


def _edits(first: str, second: str) -> int:
    """Return how many characters differ between two words."""
    from difflib import SequenceMatcher

    steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in steps if kind != "equal")
