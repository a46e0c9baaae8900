"""``edgnn explain``: why a trained model predicts what it does for a graph or a node."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from edgnn._paths import check_file_to_write, check_run
from edgnn._words import counted, one_line, unknown_name
from edgnn.cli._options import (
    DataDir,
    Device,
    Json,
    Nodes,
    Open,
    Options,
    RunArgument,
    SourceArgument,
    console,
    open_page,
    print_json,
    reader_options,
)
from edgnn.cli._show import result_table
from edgnn.cli._source import check_here, format_of
from edgnn.cli._trained import (
    Trained,
    check_nodes,
    load_new,
    open_trained,
    positions_of,
    select_items,
)
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.explain import Explained
    from edgnn.graphs import Graphs

_PAGE = "explanation.html"
_SCORES = ("score", "removal", "label", "gradient")
_MOST_REASONS, _MOST_IN_FULL, _MOST_SIMILAR = 8, 5, 4
_BAR_WIDTH, _LONGEST_REASON, _LONGEST_TEXT = 12, 90, 2000


def explain(
    context: typer.Context,
    run: RunArgument,
    source: SourceArgument,
    item: Annotated[
        list[str] | None,
        typer.Option(
            "--item",
            "-i",
            metavar="NAME|N|N-M|all",
            help="Which graph or node: its name, its number from 0, a range such as 3-7, or all; "
            "repeatable; default: 0.",
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
            "--by", metavar="SCORE", help=f"What --picture shades by: {', '.join(_SCORES)}."
        ),
    ] = "score",
    counter: Annotated[
        bool,
        typer.Option(
            "--counter-example/--no-counter-example",
            help="Look for a change that changes the prediction.",
        ),
    ] = True,
    nodes: Nodes = None,
    show: Open = False,
    device: Device = "cpu",
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Explain predictions: which nodes, edges and labels they depend on.

    Prints the strongest reasons and writes a self-contained page (HTML) with the graph drawn.
    """
    check_run(run)
    _check_file(out, "--out", (".html", ".htm"))
    _check_file(picture, "--picture", (".svg",))
    check_here(source, data_dir)
    check_nodes(nodes)
    if by not in _SCORES:
        raise unknown_name(EdgnnError, "score", by, _SCORES, " for --by")
    trained = open_trained(run, device)
    subject = _Subject.load(trained, source, reader_options(option), data_dir, nodes)
    positions = positions_of(subject.items, item or ())
    explained = _explain_all(subject, positions, target, counter, quiet=as_json)
    page = run / _PAGE if out is None else out
    _write_page(page, explained, run, subject.name, context)
    if picture is not None:
        _write_picture(picture, explained[0], by)
    if as_json:
        _print_json(run, source, page, explained)
    else:
        more = 0 if item else len(subject.items)
        print_explanations(explained, page, more, trained.level)
    if show:
        open_page(page)


def _check_file(path: Path | None, flag: str, endings: tuple[str, ...]) -> None:
    """Raise where the result could not be written, or the name promises another kind of file."""
    check_file_to_write(path, flag)
    if path is not None and path.suffix.lower() not in endings:
        kind = endings[0][1:].upper()
        raise EdgnnError(
            f"{flag} {path}: the file will be {kind}; let its name end in {endings[0]}"
        )


@dataclass(frozen=True)
class _Subject:
    """A model and the items it is asked about."""

    trained: Trained
    name: str
    items: Any
    smiles: dict[int, str]

    @classmethod
    def load(
        cls,
        trained: Trained,
        source: str,
        options: dict[str, Any],
        data_dir: Path | None,
        nodes: str | None,
    ) -> _Subject:
        from edgnn.models import check_known

        data = load_new(source, trained.config, options, data_dir)
        items = select_items(data, trained.level, nodes)
        check_known(trained.model, items)
        smiles = {}
        if trained.level == "graph":
            smiles = _smiles(source, trained.config, options, data.graphs)
        return cls(trained, data.name, items, smiles)

    @property
    def target_names(self) -> Sequence[str]:
        """What classes or targets are called."""
        return self.trained.class_names or self.trained.target_names

    def name_of(self, position: int) -> str:
        """Return the name of a graph; a node has that of its graph already."""
        if self.trained.level == "node":
            return ""
        if self.items.graph_names is None:
            return f"{Path(self.name).name} {position}"
        return str(self.items.graph_names[position])


def _explain_all(
    subject: _Subject, positions: list[int], target: str | None, counter: bool, *, quiet: bool
) -> list[Explained]:
    from edgnn.models import UnknownLabelWarning

    model = subject.trained.model
    chosen = None if target is None else _target(model, target, subject.target_names)
    model.predict(subject.items[positions])  # warns of unknown labels, once for all items
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLabelWarning)
        return [
            _explain_one(subject, position, chosen, counter)
            for position in _tracked(positions, quiet)
        ]


def _explain_one(subject: _Subject, position: int, target: Any, counter: bool) -> Explained:
    """Explain one item, with its fidelity and a counter-example."""
    from edgnn.explain import Explained, counter_example, explain, fidelity

    model, item = subject.trained.model, subject.items[position]
    explanation = explain(model, item, target=target)
    searched = counter and model.task != "values"
    example = None
    if searched:
        of = explanation.target if model.task == "labels" else None
        example = counter_example(model, item, target=of)
    return Explained(
        explanation,
        subject.name_of(position),
        fidelity(model, explanation, take="label" if explanation.by_label else "element"),
        example,
        searched,
        tuple(subject.target_names),
        subject.smiles.get(position, ""),
        *_similar(model, item),
    )


def _similar(model: Any, item: Any) -> tuple[Any, Any]:
    """Return the training items that an item resembles, and their graphs; nothing where unknown."""
    if not hasattr(model, "similar"):
        return (), None
    try:
        (found,) = model.similar(item, _MOST_SIMILAR)
        return found, model.similar_graphs([near.position for near in found])
    except EdgnnError:  # not of this model, or its training items are not kept
        return (), None


def _tracked(positions: list[int], quiet: bool) -> Iterable[int]:
    """Return the positions one by one, with a bar on a terminal where there are several."""
    from rich.console import Console
    from rich.progress import track

    screen = Console(stderr=True)
    silent = quiet or len(positions) == 1 or not screen.is_terminal
    return track(positions, "explaining", console=screen, disable=silent, transient=True)


def _smiles(
    source: str, config: dict[str, Any], options: dict[str, Any], graphs: Graphs
) -> dict[int, str]:
    """Return the SMILES of molecules that have other names; none where rows do not match."""
    from edgnn.io import FORMATS
    from edgnn.io.datasets import find, reading_options

    if find(source) is not None or not Path(source).is_file() or graphs.graph_names is None:
        return {}
    options = reading_options(config, source, options) | options
    if format_of(source, options) != "smiles":
        return {}
    options.pop("format", None)
    options = FORMATS["smiles"].check_read_options(options)
    texts = _texts(source, options, len(graphs))
    return {number: text for number, text in enumerate(texts) if text != graphs.graph_names[number]}


def _texts(source: str, options: dict[str, Any], count: int) -> list[str]:
    """Return the SMILES of so many molecules; nothing where the file has another number."""
    from edgnn.io import molecule_records

    chosen = {key: options[key] for key in ("smiles", "delimiter", "max_bytes") if key in options}
    with molecule_records(source, "smiles", **chosen) as records:
        rows = list(records)
    if len(rows) != count:  # the reader may have skipped those that are no molecules
        rows = [row for row in rows if row.read()[0] is not None]
    return [row.text for row in rows] if len(rows) == count else []


def _target(model: Any, word: str, names: Sequence[str]) -> Any:
    """Return the class, label or output that a word names, as the model calls it."""
    values = list(range(model.encoding.outputs))
    if model.task == "classes":
        values = model.encoding.classes.tolist()
    named: dict[str, Any] = {}
    for value in values:
        is_number = isinstance(value, int) and 0 <= value < len(names)
        named[str(names[value]) if is_number else str(value)] = value
    folded = {name.casefold(): value for name, value in named.items()}
    for choices, name in ((named, word), (folded, word.casefold())):
        if name in choices:
            return choices[name]
    kind = {"classes": "class", "labels": "label", "values": "target"}[model.task]
    raise unknown_name(EdgnnError, kind, word, named)


def _write_page(
    page: Path, explained: list[Explained], run: Path, data: str, context: typer.Context
) -> None:
    from edgnn.report import write_explanations

    command = str(context.find_root().meta.get("command", ""))
    lead = f"{run.resolve().name} on {Path(data).name}"
    write_explanations(page, explained, lead=lead, command=command)


def _write_picture(path: Path, explained: Explained, by: str) -> None:
    from edgnn._files import atomic_file
    from edgnn.report import draw_explanation

    title = f"{explained.title}: {explained.said}"
    with atomic_file(path) as stream:
        stream.write(draw_explanation(explained, by=cast(Any, by), title=title).encode())


def _print_json(run: Path, source: str, page: Path, explained: list[Explained]) -> None:
    from edgnn._json import plain
    from edgnn.report import values_of

    document = {"run": str(run), "source": source, "page": str(page)}
    print_json(plain(document | {"items": [values_of(item) for item in explained]}))


def print_explanations(explained: list[Explained], page: Path, items: int, level: str) -> None:
    """Print a few explanations in full, of many only the predictions, and where the page is.

    ``items`` is how many there are to choose from, where no item was asked for.
    """
    screen = console(wide=True)
    for place, item in enumerate(explained[:_MOST_IN_FULL]):
        _print_one(screen, item, first=place == 0)
    for item in explained[_MOST_IN_FULL:]:
        screen.print(_prediction(item))
    if items > 1:
        screen.print(
            f"The first of {counted(items, level)}; others with [bold]--item NAME[/], "
            "[bold]--item 3-7[/] or [bold]--item all[/]."
        )
    screen.print(f"With pictures: {_safe(str(page))}")


def _print_one(screen: Any, item: Explained, *, first: bool) -> None:
    """Print an explanation; what its numbers mean is said with the first only."""
    from edgnn.explain import counter_text, fidelity_text

    screen.print(f"{_prediction(item)}\n")
    table = _reasons(item)
    if table is not None:
        screen.print(table)
        if first:
            screen.print(_safe(item.unit))
        screen.print()
    _print_similar(screen, item)
    texts = (item.left_out, fidelity_text(item), counter_text(item), item.others if first else "")
    for text in texts:
        if text:
            screen.print(_safe(text))
    screen.print()


def _print_similar(screen: Any, item: Explained) -> None:
    """Print the training items that it resembles most, with what they add to the score."""
    from edgnn._words import number
    from edgnn.report.draw import signed

    if not item.similar:
        return
    table = result_table("most similar training items", "similarity", "known", "adds")
    for near, share in zip(item.similar, item.similar_shares, strict=True):
        name, known = _safe(near.name, _LONGEST_REASON), _safe(item.known_text(near.target))
        table.add_row(name, number(near.similarity), known, signed(share))
    screen.print(table)
    screen.print()


def _reasons(item: Explained) -> Any:
    """Return a table of the strongest reasons with a bar each, or ``None`` without any."""
    from edgnn.report.draw import signed

    reasons = item.explanation.reasons(_MOST_REASONS)
    if not reasons:
        return None
    largest = max(abs(reason.contribution) for reason in reasons)
    table = result_table(item.without, item.falls, "")
    table.columns[2].justify = "left"
    for reason in reasons:
        color = "red" if reason.contribution > 0 else "blue"
        width = round(_BAR_WIDTH * abs(reason.contribution) / largest) if largest else 0
        text = _safe(item.reason_text(reason), _LONGEST_REASON)
        table.add_row(text, signed(reason.contribution), f"[{color}]{'█' * width}[/]")
    return table


def _prediction(item: Explained) -> str:
    """Return what the item is called, what it is, and the prediction."""
    smiles = f" {_safe(item.smiles)}" if item.smiles else ""
    return f"[bold]{_safe(item.title)}[/]{smiles}: {_safe(item.said)}"


def _safe(text: str, most: int = _LONGEST_TEXT) -> str:
    """Return users' text on one line, with nothing that a terminal or rich would obey."""
    from rich.markup import escape

    return escape(one_line(text, most))
