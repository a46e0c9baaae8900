"""Predict with the model in this folder; all it needs is torch.

    python predict.py GRAPHS.json [--device cuda]

GRAPHS.json is a list of graphs, each of them an object such as

    {"node_labels": ["C", "O"], "edges": [[0, 1], [1, 0]], "edge_labels": ["single", "single"]}

with "node_features" and "edge_features", a row of numbers each, if the model was trained with them,
and for a model of nodes with "nodes", the numbers of those to predict (default: all). "num_nodes"
counts the nodes of a graph that has neither labels nor features. Labels that the model does not
know count for nothing, and are warned of. One line of JSON is printed for each graph, or node, with
its "id" where the graph has one ("node_ids": one per node). Where edgnn is installed,

    edgnn convert new.csv graphs.json --for RUN

writes such a file of any data that edgnn reads; RUN is the run folder that the model was exported
from.

    python predict.py --check

compares this machine's answers for the graphs in check.json with those of the machine that the
model comes from.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor

HERE = Path(__file__).resolve().parent
KEYS = (
    "node_labels",
    "edges",
    "edge_labels",
    "node_features",
    "edge_features",
    "nodes",
    "num_nodes",
    "id",
    "node_ids",
)
EXAMPLE = '{"node_labels": [...], "edges": [...]}'
WAY = "edgnn convert {} graphs.json --for RUN (the run folder that this model was exported from)"


def main() -> None:
    """Read graphs, print predictions."""
    parser = argparse.ArgumentParser(description="Predict with the exported model in this folder.")
    parser.add_argument("graphs", nargs="?", help="a JSON file: a list of graphs")
    parser.add_argument(
        "--device", help="such as cpu or cuda; default: the one that the model was exported for"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the predictions in check.json"
    )
    words = parser.parse_args()
    if (words.graphs is None) != words.check:
        parser.error("name one file of graphs, or --check")
    about = json.loads((HERE / "labels.json").read_text(encoding="utf-8"))
    if words.check:
        check(about, *load(about, words.device))
        return
    graphs = read(words.graphs)
    inputs, items = pack(graphs, about)
    warn_of_strangers(graphs, about)
    model, device = load(about, words.device)
    with torch.no_grad():
        answers = model(**{name: value.to(device) for name, value in inputs.items()}).cpu()
    for item, answer in zip(items, answers.tolist(), strict=True):
        sys.stdout.write(json.dumps(item | described(answer, about), ensure_ascii=False) + "\n")


def load(about: dict[str, Any], device: str | None = None) -> tuple[Any, str]:
    """Return the model as a function of tensors, and the device they are to be on."""
    # torch 2.11 warns of its own doing
    warnings.filterwarnings("ignore", "The given buffer is not writable")
    wanted = device or about["device"]
    try:
        torch.zeros(1, device=wanted)
    except Exception as error:  # every kind of device has its own
        sys.exit(
            f"the device {wanted!r} cannot be used here ({str(error).splitlines()[0]}): "
            "choose another with --device"
        )
    program = torch.export.load(HERE / "model.pt2")
    if wanted != about["device"]:
        from torch.export.passes import move_to_device_pass

        program = move_to_device_pass(program, wanted)
    return program.module(), wanted


def read(path: str) -> list[Any]:
    """Return the graphs of a file."""
    way = "where edgnn is installed, this makes such a file: " + WAY.format(path)
    try:
        graphs = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        sys.exit(f"there is no file {path}")
    except OSError as error:
        sys.exit(f"{path} cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        sys.exit(f"{path} is no JSON ({error}), and a list of graphs as JSON is needed; {way}")
    if not isinstance(graphs, list):
        sys.exit(f"{path} holds no list of graphs; {way}")
    return graphs


def pack(
    graphs: list[dict[str, Any]], about: dict[str, Any]
) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Return the tensors that the model takes, and the names of what it will answer for."""
    numbers = {
        kind: {plain(label): number for number, label in enumerate(about[f"{kind}_labels"])}
        for kind in ("node", "edge")
    }
    node_label: list[int] = []
    edge_label: list[int] = []
    ends: list[list[int]] = []
    nodes: list[int] = []
    items: list[dict[str, Any]] = []
    offset = [0]
    features: dict[str, list[Any]] = {"node": [], "edge": []}
    for place, graph in enumerate(graphs):
        size, start = checked(graph, place, about), offset[-1]
        edges = graph.get("edges", [])
        ends += [[start + end for end in edge] for edge in edges]
        node_label += numbered(graph, "node", size, numbers["node"])
        edge_label += numbered(graph, "edge", len(edges), numbers["edge"])
        for kind in ("node", "edge"):
            features[kind] += graph.get(f"{kind}_features", [])
        chosen = graph.get("nodes", range(size))
        nodes += [start + node for node in chosen]
        items += named(graph, place, chosen if about["level"] == "node" else None)
        offset.append(start + size)
    given = {
        "node_label": node_label,
        "edge_label": edge_label,
        "graph_offset": offset,
        "nodes": nodes,
    }
    source, target = torch.tensor(ends, dtype=torch.int64).view(-1, 2).unbind(1)
    inputs = {name: torch.tensor(values, dtype=torch.int64) for name, values in given.items()}
    inputs |= {"edge_source": source.contiguous(), "edge_target": target.contiguous()}
    for kind, total in (("node", len(node_label)), ("edge", len(edge_label))):
        number = getattr(torch, about["number_type"])
        inputs[f"{kind}_features"] = torch.tensor(features[kind], dtype=number).view(
            total, about[f"{kind}_features"]
        )
    return {name: inputs[name] for name in about["inputs"]}, items


def numbered(graph: dict[str, Any], kind: str, count: int, numbers: dict[Any, int]) -> list[int]:
    """Return the numbers of a graph's labels; one that is not known has the last."""
    labels = graph.get(f"{kind}_labels", [None] * count)
    return [numbers.get(plain(label), len(numbers)) for label in labels]


def named(graph: dict[str, Any], place: int, nodes: Any = None) -> list[dict[str, Any]]:
    """Return what tells a graph, or each of some of its nodes, from all others."""
    if nodes is None:
        own = {"id": graph["id"]} if "id" in graph else {}
        return [{"graph": place} | own]
    items = [{"graph": place, "node": node} for node in nodes]
    if "node_ids" in graph:
        for item in items:
            item["id"] = graph["node_ids"][item["node"]]
    return items


def checked(graph: Any, place: int, about: dict[str, Any]) -> int:
    """Return the number of nodes of a graph; a wrong graph ends the script in one line."""
    if not isinstance(graph, dict):
        refuse(place, f"is {cut(graph)}: a graph is an object such as {EXAMPLE}")
    for key, value in graph.items():
        if key not in KEYS:
            refuse(place, f"has {key!r}, which is none of {', '.join(KEYS)}")
        if key not in ("num_nodes", "id") and not isinstance(value, list):
            refuse(place, f"has {cut(value)} for {key!r}: a list is needed")
    edges = graph.get("edges", [])
    for edge in edges:
        if not is_edge(edge):
            rule = "an edge is the numbers of two nodes, from 0 on"
            refuse(place, f"has the edge {cut(edge)}: {rule}")
    size = count(graph, place)
    check_numbers(graph, place, size)
    check_rows(graph, place, "node", size, about)
    check_rows(graph, place, "edge", len(edges), about)
    return size


def refuse(place: int, reason: str) -> NoReturn:
    """End the script with one line about a graph."""
    sys.exit(f"graph {place} {reason}")


def is_edge(value: Any) -> bool:
    """Return whether a value is a pair of numbers of nodes."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    return all(type(end) is int and end >= 0 for end in value)


def check_numbers(graph: dict[str, Any], place: int, size: int) -> None:
    """End the script where a graph names a node that it does not have."""
    has = f"its nodes are {size}, numbered from 0"
    for edge in graph.get("edges", []):
        if max(edge) >= size:
            refuse(place, f"has the edge {edge}, but {has}")
    for node in graph.get("nodes", []):
        if type(node) is not int or not 0 <= node < size:
            refuse(place, f"asks for the node {cut(node)}, but {has}")
    ids = graph.get("node_ids", range(size))
    if len(ids) != size:
        refuse(place, f"has {len(ids)} node_ids for its {size} nodes: each needs one")


def check_rows(
    graph: dict[str, Any], place: int, kind: str, length: int, about: dict[str, Any]
) -> None:
    """End the script where nodes or edges lack labels or features that the model needs."""
    name, width = f"{kind}_labels", about[f"{kind}_features"]
    reads_degrees = kind == "node" and about["degree_labels"]
    needed = about[name] != [None] and not reads_degrees
    given = len(graph.get(name, []))
    if given != length and (needed or name in graph):
        refuse(place, f"has {given} {name} for its {length} {kind}s: each needs one, or null")
    rows = graph.get(f"{kind}_features", [] if width else [[]] * length)
    if len(rows) != length or not all(is_row(row, width) for row in rows):
        each = f"for each of its {length} {kind}s"
        refuse(place, f"needs {width} features, all of them numbers, {each}")


def is_row(value: Any, width: int) -> bool:
    """Return whether a value is a list of so many finite numbers."""
    return isinstance(value, list) and len(value) == width and all(map(is_number, value))


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return type(value) in (int, float) and abs(value) < 1e300


def count(graph: dict[str, Any], place: int) -> int:
    """Return the number of nodes of a graph."""
    for name in ("node_labels", "node_features"):
        if graph.get(name):
            return len(graph[name])
    largest = max((max(edge) for edge in graph.get("edges", [])), default=-1)
    size = graph.get("num_nodes", largest + 1)
    if type(size) is not int or size < 0:
        refuse(place, f"has {cut(size)} for 'num_nodes': a whole number is needed")
    return size


def warn_of_strangers(graphs: list[Any], about: dict[str, Any]) -> None:
    """Name on stderr the labels that the model does not know."""
    for kind in ("edge",) if about["degree_labels"] else ("node", "edge"):
        name = f"{kind}_labels"
        known = {plain(label) for label in about[name]}
        strangers = {}
        for graph in graphs:
            for label in graph.get(name, []):
                if plain(label) not in known:
                    strangers[plain(label)] = cut(label)
        if not strangers:
            continue
        shown = ", ".join(list(strangers.values())[:5])
        if len(strangers) > 5:
            shown += f" and {len(strangers) - 5} more"
        sys.stderr.write(f"{kind} labels that the model does not know count for nothing: {shown}\n")


def cut(value: Any) -> str:
    """Return a value as JSON has it, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def plain(label: Any) -> Any:
    """Return a label as something that a dictionary can have as a key."""
    if isinstance(label, list):
        return tuple(plain(part) for part in label)
    return json.dumps(label, sort_keys=True) if isinstance(label, dict) else label


def described(answer: Any, about: dict[str, Any]) -> dict[str, Any]:
    """Return what the model says about one item."""
    names = about["names"]
    if not isinstance(answer, list):  # a single value
        return {"prediction": answer}
    by_name = dict(zip(names, answer, strict=True))
    if about["task"] == "values":
        return {"prediction": by_name}
    if about["task"] == "classes":
        prediction = names[answer.index(max(answer))]
    else:
        prediction = [name for name, share in by_name.items() if share > 0.5]
    return {"prediction": prediction, "probability": by_name}


def check(about: dict[str, Any], model: Any, device: str) -> None:
    """Print how far predictions are from check.json; exit with 1 if more than rounding."""
    stored = json.loads((HERE / "check.json").read_text(encoding="utf-8"))
    inputs, items = pack(stored["graphs"], about)
    with torch.no_grad():
        found = model(**{name: value.to(device) for name, value in inputs.items()}).cpu()
    apart = float((found - torch.tensor(stored["expected"], dtype=torch.float64)).abs().max())
    sys.stdout.write(
        f"{len(items)} predictions differ by at most {apart:.1e} from those of the export\n"
    )
    if not apart <= stored["tolerance"]:
        sys.exit(
            f"that is more than {stored['tolerance']:.1e}: "
            "this is not the same model, or torch differs"
        )


if __name__ == "__main__":
    main()
