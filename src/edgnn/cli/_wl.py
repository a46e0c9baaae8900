"""``edgnn wl``: compare graphs, color them, group them, and say what a model can reach at best."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn.cli._complete import sources
from edgnn.cli._datasets import DataDir, Json, Options, parse_options
from edgnn.cli._source import (
    Regression,
    SourceArgument,
    TargetFile,
    TargetOption,
    TaskOption,
    check_exists,
)
from edgnn.cli._source import Source as DataSource
from edgnn.errors import GraphError

if TYPE_CHECKING:
    from edgnn.graphs import Graphs
    from edgnn.io.datasets import Dataset

wl_app = typer.Typer(
    help="Weisfeiler-Lehman: what can be told apart, and why.", no_args_is_help=True
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


Source = Annotated[
    str,
    typer.Argument(
        autocompletion=sources, help="A data set's name or a path; NAME:3 takes its graph number 3."
    ),
]
Scheme = Annotated[
    SchemeName,
    typer.Option(
        "--scheme",
        help="What a round looks at. node: the neighbors' colors. separate: also how many edges of each label come in and go out, "
        "as edGNN does. joint: each edge with its direction, label and neighbor.",
    ),
]
Direction = Annotated[
    DirectionName,
    typer.Option(
        "--direction",
        help="Which edges a node sees: all, or only those that enter it, as with most layers elsewhere.",
    ),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Prove every round instead of trusting two 64-bit hashes.")
]


@wl_app.command("compare")
def compare(
    first: Source,
    second: Source,
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
    """Ask whether refinement, and so any GNN it bounds, tells two graphs apart; and whether they are isomorphic."""
    from edgnn import wl

    g, h = (_one(source, data_dir, option) for source in (first, second))
    verdict = wl.compare(g, h, scheme.value, direction=direction.value, exact=exact)
    same = False if verdict.distinguished else wl.isomorphic(g, h) if settle else None
    if as_json:
        typer.echo(
            json.dumps(verdict.to_dict() | {"isomorphic": same}, indent=2, ensure_ascii=False)
        )
        return
    typer.echo(str(verdict))
    typer.echo(f"isomorphic: {'not searched for' if same is None else 'yes' if same else 'no'}")


@wl_app.command("color")
def color(
    source: Source,
    scheme: Scheme = SchemeName.separate,
    direction: Direction = DirectionName.both,
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=0, help="Default: until stable.")
    ] = None,
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
    from edgnn import wl

    graphs = _graphs(source, data_dir, option)
    coloring = wl.refine(
        graphs, rounds, scheme.value, direction=direction.value, features="ignore", exact=exact
    )
    if svg is not None or html is not None:
        _draw(coloring, graph, svg, html, source)
    table = [_round_row(coloring, round) for round in range(coloring.rounds + 1)]
    if as_json:
        document = {
            "source": source,
            "scheme": scheme.value,
            "nodes": graphs.num_nodes,
            "graphs": len(graphs),
            "rounds": table,
        }
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    typer.echo(repr(coloring))
    for row in table:
        common, count = row["largest"], f"{row['colors']:,} color{'s' * (row['colors'] != 1)}"
        typer.echo(
            f"round {row['round']}: {count}; most common: {common['nodes']:,}× {common['meaning']}"
            if common
            else ""
        )
    for path in (svg, html):
        if path is not None:
            typer.echo(f"drawn: {path}")


@wl_app.command("classes")
def classes(
    source: Source,
    scheme: Scheme = SchemeName.separate,
    direction: Direction = DirectionName.both,
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=0, help="Default: until stable.")
    ] = None,
    exact: Exact = False,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Group graphs that the refinement cannot tell apart."""
    from edgnn import wl

    graphs = _graphs(source, data_dir, option)
    coloring = wl.refine(
        graphs, rounds, scheme.value, direction=direction.value, features="ignore", exact=exact
    )
    numbers = wl.graph_classes(coloring).tolist()
    groups: dict[int, list[int]] = {}
    for graph, number in enumerate(numbers):
        groups.setdefault(number, []).append(graph)
    shared = [members for members in groups.values() if len(members) > 1]
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "source": source,
                    "scheme": scheme.value,
                    "classes": len(groups),
                    "groups": list(groups.values()),
                }
            )
        )
        return
    fall = "graph falls" if len(graphs) == 1 else "graphs fall"
    typer.echo(
        f"{len(graphs):,} {fall} into {len(groups):,} class{'es' * (len(groups) != 1)} under {scheme.value!r}"
    )
    if len(graphs) == 1:
        typer.echo("for the nodes of a single graph see: edgnn wl color, edgnn wl power")
    for members in shared:
        typer.echo("cannot be told apart: " + ", ".join(map(str, members)))


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
    regression: Regression = None,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Say what any model bounded by the refinement can reach at best on a data set, depth by depth."""
    from edgnn import wl

    told = {"task": task, "target": target, "target_file": target_file, "regression": regression}
    data = DataSource.of(source, told | {"options": parse_options(option)}, data_dir).load()
    items = data.graphs if data.nodes is None else data.nodes
    table = wl.power(
        items,
        data.targets,
        rounds=rounds,
        scheme=scheme.value,
        direction=direction.value,
        exact=exact,
    )
    measure = "accuracy" if data.task == "classification" else "rmse"
    rows = [
        {
            "round": row.round,
            "distinct": row.distinct,
            "colliding": row.colliding,
            f"best_{measure}": row.ceiling,
        }
        for row in table
    ]
    if as_json:
        document = {
            "source": source,
            "scheme": scheme.value,
            "level": data.level,
            "items": len(items),
            "rounds": rows,
        }
        typer.echo(json.dumps(document, indent=2))
        return
    typer.echo(f"{data.name}: {len(items):,} {data.level}s under {scheme.value!r}")
    typer.echo(f"{'round':>5} {'distinct':>9} {'colliding':>10} {'best ' + measure:>14}")
    reached = [(entry.distinct, entry.ceiling) for entry in table]
    for entry in table:
        if (
            0 < entry.round < table[-1].round
            and len(set(reached[entry.round - 1 : entry.round + 2])) == 1
        ):
            continue  # the same as before and after
        best = (
            f"{100 * entry.ceiling:.2f} %"
            if measure == "accuracy" and entry.ceiling is not None
            else f"{entry.ceiling:.4g}"
        )
        typer.echo(f"{entry.round:>5} {entry.distinct:>9,} {entry.colliding:>10,} {best:>14}")
    if table[-1].round < rounds:
        typer.echo("the colors are stable; later rounds change nothing")


def _dataset(source: str, data_dir: Path | None, option: list[str] | None) -> Dataset:
    from edgnn.io.datasets import load_dataset

    options = parse_options(option)
    check_exists(source, options)
    return load_dataset(source, data_dir=data_dir, **options)


def _graphs(source: str, data_dir: Path | None, option: list[str] | None) -> Graphs:
    """Load graphs; ``SOURCE:3`` is graph 3 of ``SOURCE``, unless a file of that very name exists."""
    name, colon, number = source.rpartition(":")
    if colon and number.lstrip("-").isdigit() and not Path(source).exists():
        graphs = _dataset(name, data_dir, option).graphs
        if not -len(graphs) <= int(number) < len(graphs):
            raise GraphError(f"{name} has {_graphs_counted(graphs)}; there is no graph {number}")
        return graphs[int(number)]
    return _dataset(source, data_dir, option).graphs


def _one(source: str, data_dir: Path | None, option: list[str] | None) -> Graphs:
    graphs = _graphs(source, data_dir, option)
    if len(graphs) != 1:
        raise GraphError(f"{source} holds {len(graphs)} graphs; name one as {source}:0")
    return graphs


def _round_row(coloring: Any, round: int) -> dict[str, Any]:
    import numpy as np

    colors, counts = np.unique(coloring.at(round).cpu().numpy(), return_counts=True)
    if not len(colors):
        return {"round": round, "colors": 0, "largest": None}
    largest = int(counts.argmax())
    meaning = coloring.meaning(int(colors[largest]), round, size=120).text
    return {
        "round": round,
        "colors": len(colors),
        "largest": {
            "color": int(colors[largest]),
            "nodes": int(counts[largest]),
            "meaning": meaning,
        },
    }


def _draw(coloring: Any, graph: int, svg: Path | None, html: Path | None, source: str) -> None:
    from edgnn._files import atomic_file
    from edgnn.report.draw import coloring_page, draw_coloring

    if svg is not None and svg.suffix.lower() not in (".svg", ""):
        raise GraphError(
            f"--svg writes SVG, but {svg.name} is named as something else; name it .svg"
        )
    if not -len(coloring.graphs) <= graph < len(coloring.graphs):
        raise GraphError(
            f"{source} has {_graphs_counted(coloring.graphs)}; there is no graph {graph}"
        )
    for path, text in ((svg, draw_coloring), (html, coloring_page)):
        if path is not None:
            with atomic_file(path) as stream:
                stream.write(text(coloring, graph).encode())


def _graphs_counted(graphs: Graphs) -> str:
    return "one graph, number 0" if len(graphs) == 1 else f"{len(graphs):,} graphs, numbered from 0"
