"""``edgnn wl``: compare graphs, color them, group them, and bound what a model can reach."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import exists
from edgnn._words import counted
from edgnn.cli._complete import sources
from edgnn.cli._options import (
    DataDir,
    Json,
    Options,
    Regression,
    SkipUnknown,
    SourceArgument,
    TargetFile,
    TargetOption,
    TaskOption,
    print_json,
    reader_options,
)
from edgnn.cli._source import Source, check_exists
from edgnn.cli._usage import Commands
from edgnn.errors import GraphError

if TYPE_CHECKING:
    from edgnn.graphs import Graphs
    from edgnn.io.datasets import Dataset

wl_app = typer.Typer(
    cls=Commands,
    help="Weisfeiler-Lehman: what can be told apart, and why.",
    no_args_is_help=True,
)


class SchemeName(StrEnum):
    """Names of the refinement schemes, for the command line's own checking."""

    node = "node"
    separate = "separate"
    joint = "joint"


class DirectionName(StrEnum):
    """Which edges a node sees."""

    both = "both"
    entering = "in"


GraphsArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        autocompletion=sources,
        help="A data set's name or a path; NAME:3 takes its graph number 3.",
    ),
]
Scheme = Annotated[
    SchemeName,
    typer.Option(
        "--scheme",
        help="What a round looks at. node: the neighbors' colors. separate: also how many edges of "
        "each label come in and go out, as edGNN does. joint: each edge with its direction, label "
        "and neighbor.",
    ),
]
Direction = Annotated[
    DirectionName,
    typer.Option(
        "--direction",
        help="Which edges a node sees: all, or only those that enter it, as with most layers "
        "elsewhere.",
    ),
]
Rounds = Annotated[int | None, typer.Option("--rounds", min=0, help="Default: until stable.")]
Exact = Annotated[
    bool, typer.Option("--exact", help="Prove every round instead of trusting two 64-bit hashes.")
]


@wl_app.command("compare")
def compare(
    first: Annotated[str, typer.Argument(autocompletion=sources, help="NAME:3, or a file.")],
    second: Annotated[str, typer.Argument(autocompletion=sources, help="NAME:4, or a file.")],
    scheme: Scheme = SchemeName.separate,
    direction: Direction = DirectionName.both,
    exact: Exact = False,
    settle: Annotated[
        bool,
        typer.Option(help="Where colors do not decide, search for an isomorphism; can take long."),
    ] = True,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Compare two graphs by refinement, which bounds what any GNN can tell apart.

    Where refinement does not decide, an isomorphism is searched for.
    """
    from edgnn import wl

    g, h = (_one_graph(source, data_dir, option) for source in (first, second))
    verdict = wl.compare(g, h, scheme.value, direction=direction.value, exact=exact)
    isomorphic: bool | None = None
    if verdict.distinguished:
        isomorphic = False
    elif settle:
        isomorphic = wl.isomorphic(g, h)
    if as_json:
        print_json(verdict.to_dict() | {"isomorphic": isomorphic})
        return
    typer.echo(str(verdict))
    answers = {True: "yes", False: "no", None: "not searched for"}
    typer.echo(f"isomorphic: {answers[isomorphic]}")


@wl_app.command("color")
def color(
    source: GraphsArgument,
    scheme: Scheme = SchemeName.separate,
    direction: Direction = DirectionName.both,
    rounds: Rounds = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Draw the rounds into this SVG file.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page that steps through the rounds.")
    ] = None,
    graph: Annotated[
        int, typer.Option("--graph", help="Which graph to draw, when the source has several.")
    ] = 0,
    exact: Exact = False,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Refine colors round by round; print how many there are and what they mean, or draw them."""
    graphs = _graphs(source, data_dir, option)
    coloring = _refined(graphs, scheme, direction, rounds, exact)
    if svg is not None or html is not None:
        _draw(coloring, graph, svg, html, source)
    table = [_round_row(coloring, number) for number in range(coloring.rounds + 1)]
    if as_json:
        print_json(
            {
                "source": source,
                "scheme": scheme.value,
                "nodes": graphs.num_nodes,
                "graphs": len(graphs),
                "rounds": table,
            }
        )
        return
    typer.echo(repr(coloring))
    for row in table:
        typer.echo(_round_line(row))
    for path in (svg, html):
        if path is not None:
            typer.echo(f"drawn: {path}")


@wl_app.command("classes")
def classes(
    source: GraphsArgument,
    scheme: Scheme = SchemeName.separate,
    direction: Direction = DirectionName.both,
    rounds: Rounds = None,
    exact: Exact = False,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Group graphs that the refinement cannot tell apart."""
    from edgnn import wl

    graphs = _graphs(source, data_dir, option)
    coloring = _refined(graphs, scheme, direction, rounds, exact)
    groups: dict[int, list[int]] = {}
    for graph, number in enumerate(wl.graph_classes(coloring).tolist()):
        groups.setdefault(number, []).append(graph)
    if as_json:
        document = {"source": source, "scheme": scheme.value, "classes": len(groups)}
        print_json(document | {"groups": list(groups.values())}, indent=None)
        return
    verb = "falls" if len(graphs) == 1 else "fall"
    typer.echo(
        f"{counted(len(graphs), 'graph')} {verb} into {counted(len(groups), 'class')} "
        f"under {scheme.value!r}"
    )
    if len(graphs) == 1:
        typer.echo("for the nodes of a single graph see: edgnn wl color, edgnn wl power")
    for members in groups.values():
        if len(members) > 1:
            typer.echo(f"cannot be told apart: {', '.join(map(str, members))}")


@wl_app.command("power")
def power(
    source: SourceArgument,
    scheme: Scheme = SchemeName.separate,
    direction: Direction = DirectionName.both,
    rounds: Annotated[int, typer.Option("--rounds", min=0, help="Largest depth.")] = 20,
    exact: Exact = False,
    task: TaskOption = None,
    target: TargetOption = None,
    target_file: TargetFile = None,
    skip_unknown: SkipUnknown = None,
    regression: Regression = None,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Print the best score that any model bounded by the refinement can reach, depth by depth."""
    from edgnn import wl

    chosen = {
        "task": task,
        "target": target,
        "target_file": target_file,
        "skip_unknown": skip_unknown,
        "regression": regression,
        "options": reader_options(option),
    }
    data = Source.of(source, chosen, data_dir).load()
    items = data.graphs if data.nodes is None else data.nodes
    table = wl.power(
        items,
        data.targets,
        rounds=rounds,
        scheme=scheme.value,
        direction=direction.value,
        exact=exact,
    )
    measure = "accuracy" if data.task == "classes" else "rmse"
    if as_json:
        print_json(
            {
                "source": source,
                "scheme": scheme.value,
                "level": data.level,
                "items": len(items),
                "rounds": [_power_row(entry, measure) for entry in table],
            }
        )
        return
    typer.echo(f"{data.name}: {len(items):,} {data.level}s under {scheme.value!r}")
    for line in _power_lines(table, measure):
        typer.echo(line)
    if table[-1].round < rounds:
        typer.echo("the colors are stable; later rounds change nothing")


def _power_row(entry: Any, measure: str) -> dict[str, Any]:
    return {
        "round": entry.round,
        "distinct": entry.distinct,
        "colliding": entry.colliding,
        f"best_{measure}": entry.ceiling,
    }


def _power_lines(table: Any, measure: str) -> Iterator[str]:
    """Yield a line per round; rounds like the one before and the one after are left out."""
    yield f"{'round':>5} {'distinct':>9} {'colliding':>10} {'best ' + measure:>14}"
    reached = [(entry.distinct, entry.ceiling) for entry in table]
    for number, entry in enumerate(table):
        around = reached[number - 1 : number + 2] if number else []
        if len(around) == 3 and len(set(around)) == 1:
            continue
        best = f"{entry.ceiling:.4g}"
        if measure == "accuracy" and entry.ceiling is not None:
            best = f"{100 * entry.ceiling:.2f} %"
        yield f"{entry.round:>5} {entry.distinct:>9,} {entry.colliding:>10,} {best:>14}"


def _refined(
    graphs: Graphs, scheme: SchemeName, direction: DirectionName, rounds: int | None, exact: bool
) -> Any:
    from edgnn import wl

    return wl.refine(
        graphs, rounds, scheme.value, direction=direction.value, features="ignore", exact=exact
    )


def _dataset(source: str, data_dir: Path | None, option: list[str] | None) -> Dataset:
    from edgnn.io.datasets import find, load_dataset, load_items

    options = reader_options(option)
    check_exists(source, options)
    if find(source) is None and exists(source):
        return load_items(source, **options)
    return load_dataset(source, data_dir=data_dir, **options)


def _graphs(source: str, data_dir: Path | None, option: list[str] | None) -> Graphs:
    """Load graphs; ``SOURCE:3`` is graph 3 of ``SOURCE``, unless a file of that name exists."""
    name, colon, number = source.rpartition(":")
    if not colon or not number.lstrip("-").isdigit() or Path(source).exists():
        return _dataset(source, data_dir, option).graphs
    graphs = _dataset(name, data_dir, option).graphs
    _check_number(graphs, int(number), name)
    return graphs[int(number)]


def _one_graph(source: str, data_dir: Path | None, option: list[str] | None) -> Graphs:
    graphs = _graphs(source, data_dir, option)
    if len(graphs) != 1:
        raise GraphError(f"{source} holds {len(graphs)} graphs; name one as {source}:0")
    return graphs


def _check_number(graphs: Graphs, number: int, source: str) -> None:
    if -len(graphs) <= number < len(graphs):
        return
    there = f"{len(graphs):,} graphs, numbered from 0"
    if len(graphs) == 1:
        there = "one graph, number 0"
    raise GraphError(f"{source} has {there}; there is no graph {number}")


def _round_row(coloring: Any, number: int) -> dict[str, Any]:
    import numpy as np

    colors, counts = np.unique(coloring.at(number).cpu().numpy(), return_counts=True)
    if not len(colors):
        return {"round": number, "colors": 0, "largest": None}
    place = int(counts.argmax())
    largest = {
        "color": int(colors[place]),
        "nodes": int(counts[place]),
        "meaning": coloring.meaning(int(colors[place]), number, size=120).text,
    }
    return {"round": number, "colors": len(colors), "largest": largest}


def _round_line(row: dict[str, Any]) -> str:
    largest = row["largest"]
    if largest is None:
        return ""
    common = f"{largest['nodes']:,}× {largest['meaning']}"
    return f"round {row['round']}: {counted(row['colors'], 'color')}; most common: {common}"


def _draw(coloring: Any, graph: int, svg: Path | None, html: Path | None, source: str) -> None:
    from edgnn._files import atomic_file
    from edgnn.report.draw import coloring_page, draw_coloring

    if svg is not None and svg.suffix.lower() not in (".svg", ""):
        raise GraphError(
            f"--svg writes SVG, but {svg.name} is named as something else; name it .svg"
        )
    _check_number(coloring.graphs, graph, source)
    for path, drawing in ((svg, draw_coloring), (html, coloring_page)):
        if path is not None:
            with atomic_file(path) as stream:
                stream.write(drawing(coloring, graph).encode())
