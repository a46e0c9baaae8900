"""``edgnn explain``: why a trained model says what it says about a graph or a node."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from edgnn._paths import check_run
from edgnn.cli._datasets import DataDir, Json, Options, parse_options
from edgnn.cli._predict import check_nodes, items_asked, load_new
from edgnn.cli._source import SourceArgument, check_here, check_place
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.graphs import Graphs, Nodes
    from edgnn.report import Explained

_PAGE = "explanation.html"
_SCORES = ("score", "removal", "label", "gradient")
_SHOWN_NAMES, _LONGEST, _MOST_EDITS = 3, 40, 2


def explain(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="A run folder of edgnn train.")],
    source: SourceArgument,
    item: Annotated[
        list[str] | None,
        typer.Option(
            "--item",
            "-i",
            metavar="NAME|N|N-M|all",
            help="Which graph or node: its name, its number from 0, a range such as 3-7, or all; repeatable; default: 0.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="NAME",
            help="The class, label or target to explain; default: the likeliest, or the first.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help=f"The page, an .html file; default: {_PAGE} in the run folder.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="An .svg file for the drawing of the first item as well.",
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="SCORE",
            help="What --picture shades by: score, removal, label or gradient.",
        ),
    ] = "score",
    counter: Annotated[
        bool,
        typer.Option(
            "--counter-example/--no-counter-example",
            help="Look for a change that changes the prediction.",
        ),
    ] = True,
    nodes: Annotated[
        str | None,
        typer.Option(
            "--nodes",
            metavar="FILE|all",
            help="Among which nodes: a file that names them, one per line, or all; default: all, but where SOURCE itself says "
            "which have targets (AIFB, -o node_target=COLUMN), those.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1 or auto.")] = "cpu",
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Explain predictions: which nodes, edges and labels they rest on.

    Prints the strongest reasons and writes a page (HTML) with the graph drawn, that needs nothing
    but itself.
    """
    check_run(run)
    _check_file(out, "--out", (".html", ".htm"))
    _check_file(picture, "--picture", (".svg",))
    check_here(source, data_dir)
    check_nodes(nodes)
    from edgnn.io.datasets import stored_texts
    from edgnn.models import UnknownLabelWarning, check_known, device_of, load_estimator
    from edgnn.report import draw_explanation, write_explanations
    from edgnn.training import RunFolder

    _check_by(by)
    folder = RunFolder.open(run)
    estimator = load_estimator(run, device=device)
    estimator._checked_parameters()
    device_of(device)
    config = folder.config
    told = parse_options(option)
    data = load_new(source, config, told, data_dir)
    items = items_asked(data, estimator._level, nodes)
    chosen = _chosen(items, item)
    check_known(estimator, items)
    names = stored_texts(config, "class_names") or stored_texts(config, "target_names")
    wanted = None if target is None else _target(estimator, target, names)
    smiles = _smiles(source, config, told, data.graphs) if estimator._level == "graph" else {}
    estimator.predict(items[chosen])  # warns of labels never seen, once for all
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLabelWarning)
        found = [
            _explained(
                estimator,
                items,
                place,
                wanted,
                _name(items, place, data.name),
                names,
                counter,
                smiles.get(place, ""),
            )
            for place in _followed(chosen, as_json)
        ]
    page = folder.path / _PAGE if out is None else out
    command = str(context.find_root().meta.get("command", ""))
    lead = f"{run.resolve().name} on {Path(data.name).name}"
    write_explanations(page, found, lead=lead, command=command)
    if picture is not None:
        _write(
            picture,
            draw_explanation(
                found[0], by=cast(Any, by), title=f"{found[0].title}: {found[0].said}"
            ),
        )
    if as_json:
        typer.echo(
            json.dumps(
                _values(run, source, page, found), indent=2, ensure_ascii=False, allow_nan=False
            )
        )
    else:
        from edgnn.cli._explain_show import print_explanations

        print_explanations(found, page, len(items), item is None, estimator._level)
    if show:
        typer.launch(page.resolve().as_uri())


def _followed(chosen: list[int], quiet: bool) -> Any:
    """Return the positions one by one, with a bar on a terminal where there are several."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    silent = quiet or len(chosen) == 1 or not console.is_terminal
    return track(chosen, "explaining", console=console, disable=silent, transient=True)


def _check_file(path: Path | None, flag: str, endings: tuple[str, ...]) -> None:
    """Raise before long work where the result could not be written, or the name would promise another kind of file."""
    check_place(path, flag)
    if path is not None and path.suffix.lower() not in endings:
        raise EdgnnError(
            f"{flag} {path}: the file will be {endings[0][1:].upper()}; let its name end in {endings[0]}"
        )


def _check_by(by: str) -> None:
    from edgnn._words import unknown_name

    if by not in _SCORES:
        raise unknown_name(EdgnnError, "score", by, _SCORES, " for --by")


def _chosen(items: Graphs | Nodes, told: Sequence[str] | None) -> list[int]:
    """Return the positions of the items that are asked for, each once."""
    if not len(items):
        raise EdgnnError("there is nothing to explain: the source has no items")
    if not told:
        return [0]
    return list(dict.fromkeys(place for word in told for place in _places(items, word)))


def _places(items: Graphs | Nodes, word: str) -> list[int]:
    """Return the positions that a word names: a name goes first, then a number, a range, all."""
    from edgnn.models import identities

    names = [str(name) for name in identities(items)["id"]]
    exact = [place for place, name in enumerate(names) if name == word]
    if exact:
        return exact[:1]
    if word == "all":
        return list(range(len(items)))
    first, dash, last = word.partition("-")
    if len(word) < _LONGEST and first.isdecimal() and (last if dash else first).isdecimal():
        return _numbered(items, word, int(first), int(last or first))
    tails = [
        place
        for place, name in enumerate(names)
        if name.replace("#", "/").rpartition("/")[2] == word
    ]
    if tails:
        return tails[:1]
    raise EdgnnError(f"there is no item {word!r}; {_hint(word, names)}")


def _numbered(items: Graphs | Nodes, word: str, first: int, last: int) -> list[int]:
    """Return the positions from one number to another; nodes without names keep the numbers they have in their graph."""
    from edgnn.graphs import Nodes

    if last < first:
        raise EdgnnError(
            f"--item {word}: a range goes from the smaller number to the larger, as in --item {last}-{first}"
        )
    own = (
        items.index.tolist()
        if isinstance(items, Nodes) and items.names is None
        else range(len(items))
    )
    place = {number: position for position, number in enumerate(own)}
    missing = next((number for number in range(first, last + 1) if number not in place), None)
    if missing is None:
        return [place[number] for number in range(first, last + 1)]
    if isinstance(items, Nodes) and items.names is None and missing < items.graphs.num_nodes:
        raise EdgnnError(
            f"--item {word}: node {missing} is none of the {len(items):,} nodes with targets; --nodes all takes any of the graph"
        )
    raise EdgnnError(f"--item {word}: {_counted(len(own))}, numbered from 0 to {max(own)}")


def _counted(items: int) -> str:
    return "there is 1 item" if items == 1 else f"there are {items:,} items"


def _hint(word: str, names: list[str]) -> str:
    from edgnn._words import closest

    blank = word.startswith("_:")
    close = closest(word, [name for name in names if name.startswith("_:") == blank])
    if close is not None and _edits(word.casefold(), close.casefold()) <= _MOST_EDITS:
        return f"did you mean {close!r}?"
    some = ", ".join(map(repr, names[:_SHOWN_NAMES])) + (", …" if len(names) > _SHOWN_NAMES else "")
    return f"give a number from 0 to {len(names) - 1}, or a name; they are {some}"


def _edits(first: str, second: str) -> int:
    """Return how many characters stand in the way of two words being the same."""
    from difflib import SequenceMatcher

    steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in steps if kind != "equal")


def _smiles(
    source: str, config: dict[str, Any], told: dict[str, Any], graphs: Graphs
) -> dict[int, str]:
    """Return the SMILES of the molecules that have other names, as their table has it; none where rows cannot be told apart."""
    from edgnn._files import open_binary
    from edgnn.cli._source import format_of
    from edgnn.io import column_of, read_smiles, table
    from edgnn.io.datasets import find, reading_options

    if find(source) is not None or not Path(source).is_file() or graphs.graph_names is None:
        return {}
    options = reading_options(config, source, told) | told
    if format_of(source, options) != "smiles":
        return {}
    column = options.get("smiles", "smiles")
    with open_binary(source, options.get("max_bytes")) as stream:
        header, rows = table(stream, source, column, options.get("delimiter"))
        place = column_of(header, column, source)
        found = [row[place].strip() for _, row in rows]
    if len(found) != len(graphs):
        found = [
            text for text in found if read_smiles(text)[0] is not None
        ]  # others may have been left out
    if len(found) != len(graphs):
        return {}
    return {number: text for number, text in enumerate(found) if text != graphs.graph_names[number]}


def _target(estimator: Any, word: str, names: Sequence[str]) -> Any:
    """Return the class, label or output that a word names, as the estimator calls it."""
    from edgnn._words import unknown_name

    encoding = estimator._encoding
    known = (
        encoding.classes.tolist() if encoding.task == "classes" else list(range(encoding.outputs))
    )
    called = {
        str(names[value])
        if isinstance(value, int) and 0 <= value < len(names)
        else str(value): value
        for value in known
    }
    folded = {name.casefold(): value for name, value in called.items()}
    if word in called or word.casefold() in folded:
        return called.get(word, folded.get(word.casefold()))
    what = {"classes": "class", "labels": "label", "values": "target"}[encoding.task]
    raise unknown_name(EdgnnError, what, word, called)


def _explained(
    estimator: Any,
    items: Graphs | Nodes,
    place: int,
    target: Any,
    name: str,
    names: Sequence[str],
    counter: bool,
    smiles: str,
) -> Explained:
    """Explain one item, with all that belongs to it."""
    from edgnn.explain import counter_example, explain, fidelity
    from edgnn.report import Explained

    one = items[place]
    found = explain(estimator, one, target=target)
    task = estimator._encoding.task
    searched = counter and task != "values"
    return Explained(
        found,
        name,
        fidelity(estimator, found, take="label" if found.by_label else "element"),
        counter_example(estimator, one, target=found.target if task == "labels" else None)
        if searched
        else None,
        searched,
        tuple(names),
        smiles,
    )


def _name(items: Graphs | Nodes, place: int, source: str) -> str:
    """Return what a graph is called; a node is called as its graph calls it."""
    from edgnn.graphs import Graphs

    if not isinstance(items, Graphs):
        return ""
    return (
        f"{Path(source).name} {place}"
        if items.graph_names is None
        else str(items.graph_names[place])
    )


def _write(path: Path, text: str) -> None:
    from edgnn._files import atomic_file

    with atomic_file(path) as stream:
        stream.write(text.encode())


def _values(run: Path, source: str, page: Path, found: list[Explained]) -> dict[str, Any]:
    """Return everything as JSON has it."""
    from edgnn._json import plain
    from edgnn.report import values_of

    told: dict[str, Any] = plain(
        {"run": str(run), "source": source, "page": str(page), "items": list(map(values_of, found))}
    )
    return told
