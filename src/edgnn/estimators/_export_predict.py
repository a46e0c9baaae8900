"""Predict with the model in this folder; all it needs is torch.

    python predict.py GRAPHS.json [--device cuda]

GRAPHS.json is a list of graphs, each of them an object such as

    {"node_labels": ["C", "O"], "edges": [[0, 1], [1, 0]], "edge_labels": ["single", "single"]}

with "node_features" and "edge_features", a row of numbers each, if the model was trained with them, and for a model of nodes
with "nodes", the numbers of those to predict (default: all). "num_nodes" counts the nodes of a graph that has neither labels nor
features. Labels that the model does not know count for nothing. One line of JSON is printed for each graph, or node.

    python predict.py --check

compares this machine's answers for the graphs in check.json with those of the machine that the model comes from.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Read graphs, print predictions."""
    parser = argparse.ArgumentParser(description="Predict with the exported model in this folder.")
    parser.add_argument("graphs", nargs="?", help="a JSON file: a list of graphs")
    parser.add_argument("--device", help="such as cpu or cuda; default: the one that the model was exported for")
    parser.add_argument("--check", action="store_true", help="compare with the predictions in check.json")
    words = parser.parse_args()
    if (words.graphs is None) != words.check:
        parser.error("name one file of graphs, or --check")
    about = json.loads((HERE / "labels.json").read_text(encoding="utf-8"))
    model, device = load(about, words.device)
    if words.check:
        check(about, model, device)
        return
    graphs = json.loads(Path(words.graphs).read_text(encoding="utf-8"))
    if not isinstance(graphs, list):
        sys.exit(f"{words.graphs} holds no list of graphs")
    inputs, items = pack(graphs, about)
    with torch.no_grad():
        answers = model(**{name: value.to(device) for name, value in inputs.items()}).cpu()
    for item, answer in zip(items, answers.tolist(), strict=True):
        sys.stdout.write(json.dumps(item | told(answer, about), ensure_ascii=False) + "\n")


def load(about: dict[str, Any], device: str | None = None) -> tuple[Any, str]:
    """Return the model as a function of tensors, and the device they are to be on."""
    warnings.filterwarnings("ignore", "The given buffer is not writable")  # torch 2.11 tells itself so
    program = torch.export.load(HERE / "model.pt2")
    if device is not None and device != about["device"]:
        from torch.export.passes import move_to_device_pass

        program = move_to_device_pass(program, device)
    return program.module(), device or about["device"]


def pack(graphs: list[dict[str, Any]], about: dict[str, Any]) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Return the tensors that the model takes, and the names of what it will answer for."""
    numbers = {
        kind: {plain(label): number for number, label in enumerate(about[f"{kind}_labels"])} for kind in ("node", "edge")
    }
    node_label: list[int] = []
    edge_label: list[int] = []
    ends: list[list[int]] = []
    nodes: list[int] = []
    items: list[dict[str, Any]] = []
    offset = [0]
    features: dict[str, list[Any]] = {"node": [], "edge": []}
    for place, graph in enumerate(graphs):
        edges, start, size = graph.get("edges", []), offset[-1], count(graph)
        for edge in edges:
            if len(edge) != 2 or not all(0 <= end < size for end in edge):
                sys.exit(f"graph {place} has the edge {edge}, but its {size} nodes are numbered from 0 to {size - 1}")
            ends.append([start + end for end in edge])
        for kind, length, found in (("node", size, node_label), ("edge", len(edges), edge_label)):
            labels = graph.get(f"{kind}_labels") or [None] * length
            rows = graph.get(f"{kind}_features") or [[]] * length
            if len(labels) != length or len(rows) != length or any(len(row) != about[f"{kind}_features"] for row in rows):
                width = about[f"{kind}_features"]
                sys.exit(f"graph {place} needs a label and {width} features for each of its {length} {kind}s")
            found += [numbers[kind].get(plain(label), len(numbers[kind])) for label in labels]
            features[kind] += rows
        chosen = graph.get("nodes", range(size))
        nodes += [start + node for node in chosen]
        items += [{"graph": place, "node": node} for node in chosen] if about["level"] == "node" else [{"graph": place}]
        offset.append(start + size)
    given = {"node_label": node_label, "edge_label": edge_label, "graph_offset": offset, "nodes": nodes}
    source, target = torch.tensor(ends, dtype=torch.int64).view(-1, 2).unbind(1)
    inputs = {name: torch.tensor(values, dtype=torch.int64) for name, values in given.items()}
    inputs |= {"edge_source": source.contiguous(), "edge_target": target.contiguous()}
    for kind, total in (("node", len(node_label)), ("edge", len(edge_label))):
        number = getattr(torch, about["number_type"])
        inputs[f"{kind}_features"] = torch.tensor(features[kind], dtype=number).view(total, about[f"{kind}_features"])
    return {name: inputs[name] for name in about["inputs"]}, items


def count(graph: dict[str, Any]) -> int:
    """Return the number of nodes of a graph."""
    for name in ("node_labels", "node_features"):
        if graph.get(name):
            return len(graph[name])
    return int(graph.get("num_nodes", 1 + max((max(edge) for edge in graph.get("edges", [])), default=-1)))


def plain(label: Any) -> Any:
    """Return a label as something that a dictionary can have as a key."""
    if isinstance(label, list):
        return tuple(plain(part) for part in label)
    return json.dumps(label, sort_keys=True) if isinstance(label, dict) else label


def told(answer: Any, about: dict[str, Any]) -> dict[str, Any]:
    """Return what the model says about one item."""
    names = about["names"]
    if about["task"] == "classes":
        return {"prediction": names[answer.index(max(answer))], "probability": dict(zip(names, answer, strict=True))}
    if about["task"] == "labels":
        return {"probability": dict(zip(names, answer, strict=True))}
    return {"prediction": dict(zip(names, answer, strict=True)) if isinstance(answer, list) else answer}


def check(about: dict[str, Any], model: Any, device: str) -> None:
    """Say how far the answers are from those in check.json; exit with 1 where that is more than rounding."""
    stored = json.loads((HERE / "check.json").read_text(encoding="utf-8"))
    inputs, items = pack(stored["graphs"], about)
    with torch.no_grad():
        found = model(**{name: value.to(device) for name, value in inputs.items()}).cpu()
    apart = float((found - torch.tensor(stored["expected"], dtype=torch.float64)).abs().max())
    sys.stdout.write(f"{len(items)} predictions differ by at most {apart:.1e} from those of the export\n")
    if not apart <= stored["tolerance"]:
        sys.exit(f"that is more than {stored['tolerance']:.1e}: this is not the same model, or torch differs")


if __name__ == "__main__":
    main()
