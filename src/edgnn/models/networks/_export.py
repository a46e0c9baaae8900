"""A fitted estimator as a folder that predicts with torch alone."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import edgnn
from edgnn._files import Path_, atomic_file, atomic_folder
from edgnn._paths import LABELS, PROGRAM, check_new_export
from edgnn._words import with_article
from edgnn.errors import ModelError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._items import Items, graphs_of
from edgnn.models._predictions import check_known, names_of_targets
from edgnn.models.networks import _export_predict
from edgnn.models.networks._export_check import (
    ProgramCheck,
    check_program,
    expected_of,
    inputs_for,
    random_items,
)
from edgnn.models.networks._export_program import program_of
from edgnn.models.networks._fleet import device_of
from edgnn.models.networks._parameters import plain
from edgnn.training import encode_value, encode_vocabulary

if TYPE_CHECKING:
    from edgnn.models.networks._base import Estimator

SCRIPT, CHECK = "predict.py", "check.json"
FORMAT = 1

_MEANING = {
    "node_label": (
        "nodes",
        "number of each node's label in node_labels; any other number is a label that is not known",
    ),
    "edge_source": ("edges", "number of the node that each edge leaves, counted over all graphs"),
    "edge_target": ("edges", "number of the node that each edge enters"),
    "edge_label": (
        "edges",
        "number of each edge's label in edge_labels; any other number is a label that is not known",
    ),
    "graph_offset": ("graphs + 1", "graph g has the nodes graph_offset[g] to graph_offset[g + 1]"),
    "nodes": ("items", "numbers of the nodes to predict"),
    "node_features": ("nodes", "a row of features per node"),
    "edge_features": ("edges", "a row of features per edge"),
}


@dataclass(frozen=True)
class Exported:
    """An exported model: its folder, files with sizes in bytes, device and check."""

    path: Path
    files: dict[str, int]
    device: str
    checked: ProgramCheck


def export(
    estimator: Estimator,
    path: Path_,
    *,
    overwrite: bool = False,
    class_names: Sequence[str] = (),
    target_names: Sequence[str] = (),
) -> Exported:
    """Write a fitted estimator as a program of torch; the folder appears once it is checked.

    Parameters
    ----------
    estimator : Estimator
        Its ``device`` is the one that the program is for.
    path : path
        A new or empty folder.
    overwrite : bool
        Whether an exported model that is there is replaced.
    class_names : sequence of str
        What class numbers mean; default: classes as they are.
    target_names : sequence of str
        Names of several labels or values; default: their numbers.
    """
    check_network(estimator)
    estimator._check_fitted("export")
    place, device = Path(path), device_of(estimator.device)
    check_new_export(place, overwrite)
    with atomic_folder(_beside(place) if overwrite else place) as folder:
        torch.export.save(_exported(estimator, device), folder / PROGRAM)
        program = _loaded(folder / PROGRAM)
        with torch.no_grad():
            checked = check_program(estimator, program, device)
        about = _about(estimator, device, checked, class_names, target_names)
        (folder / LABELS).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        (folder / CHECK).write_text(
            json.dumps(_examples(estimator, checked)) + "\n", encoding="utf-8"
        )
        shutil.copyfile(_export_predict.__file__, folder / SCRIPT)
    if overwrite:
        _put(_beside(place), place)
    files = {name: (place / name).stat().st_size for name in (PROGRAM, LABELS, SCRIPT, CHECK)}
    return Exported(place, files, str(device), checked)


def check_network(model: Any) -> None:
    """Raise where a model is no network, so that there is no program of it."""
    if not hasattr(model, "export"):
        raise ModelError(
            f"{with_article(type(model).__name__)} cannot be exported: only trained networks "
            "become programs of torch; predict with edgnn itself (edgnn predict, edgnn serve)"
        )


def _exported(estimator: Estimator, device: torch.device) -> Any:
    """Return the program that takes any number of nodes, edges and graphs."""
    example = next(random_items(estimator))
    module = program_of(estimator).to(device)
    inputs = {name: value.to(device) for name, value in _inputs(estimator, example).items()}
    nodes, edges = torch.export.Dim("nodes", min=0), torch.export.Dim("edges", min=0)
    sizes = {
        "graph_offset": torch.export.Dim("offsets", min=1),
        "nodes": torch.export.Dim("items", min=0),
    }
    sizes |= dict.fromkeys(("edge_source", "edge_target", "edge_label", "edge_features"), edges)
    shapes = {name: {0: sizes.get(name, nodes)} for name in inputs}
    try:
        with torch.no_grad(), _any_size():
            program = torch.export.export(module, (), inputs, dynamic_shapes=shapes)
    except Exception as error:  # whatever torch finds wrong, it has its own classes for it
        first = (str(error).splitlines() or [""])[0]
        raise ModelError(
            f"torch {torch.__version__} cannot export this model "
            f"({type(error).__name__}: {first}); use the torch of the constraints that edgnn is "
            "tested with, or predict with edgnn itself"
        ) from error
    program.example_inputs = None  # they would be the only pickled part of the file
    return program


def _loaded(path: Path) -> Any:
    with warnings.catch_warnings():  # torch 2.11 warns of its own doing
        warnings.filterwarnings("ignore", "The given buffer is not writable")
        return torch.export.load(path).module()


def _inputs(estimator: Estimator, items: Items) -> dict[str, Tensor]:
    return inputs_for(items, next(estimator._model.parameters()).dtype)


def _any_size() -> AbstractContextManager[Any]:
    """Let sizes of zero and one be like any other; torch would make the program refuse them."""
    from torch.fx.experimental import _config as options

    if not hasattr(options, "backed_size_oblivious"):
        return nullcontext()
    patch: Any = options.patch  # type: ignore[attr-defined]
    patched: AbstractContextManager[Any] = patch(backed_size_oblivious=True)
    return patched


def _about(
    estimator: Estimator,
    device: torch.device,
    checked: ProgramCheck,
    class_names: Sequence[str],
    target_names: Sequence[str],
) -> dict[str, Any]:
    """Return everything that a user of the program has to know, as plain values."""
    coder, encoding = estimator._coder, estimator._encoding
    inputs = _inputs(estimator, next(random_items(estimator)))
    answers = "values" if encoding.task == "values" else "probabilities"
    meaning = f"{answers} in the order of names"
    if estimator.num_members > 1:
        meaning += ", averaged over members"
    shape: list[Any] = [f"{estimator._level}s"]
    if encoding.task != "values" or not encoding.flat:
        shape.append(encoding.outputs)
    return {
        "format": FORMAT,
        "edgnn": edgnn.__version__,
        "torch": torch.__version__,
        "estimator": type(estimator).__name__,
        "level": estimator._level,
        "task": encoding.task,
        "device": str(device),
        "number_type": "float32" if estimator._single_precision else "float64",
        "inputs": {name: _input(name, value) for name, value in inputs.items()},
        "output": {"type": "float64", "shape": shape, "meaning": meaning},
        "names": _names(estimator, class_names, target_names),
        "classes": [encode_value(value) for value in encoding.classes.tolist()],
        "node_labels": encode_vocabulary(coder.node_vocabulary),
        "edge_labels": encode_vocabulary(coder.edge_vocabulary),
        "node_features": coder.node_features,
        "edge_features": coder.edge_features,
        "degree_labels": coder.degree_labels,
        "checked": {
            "graphs": checked.graphs,
            "items": checked.items,
            "difference": checked.difference,
        },
    }


def _input(name: str, value: Tensor) -> dict[str, Any]:
    size, meaning = _MEANING[name]
    return {
        "type": str(value.dtype).removeprefix("torch."),
        "shape": [size, *value.shape[1:]],
        "meaning": meaning,
    }


def _names(
    estimator: Estimator, class_names: Sequence[str], target_names: Sequence[str]
) -> list[str]:
    if estimator.task != "classes":
        return [str(name) for name in names_of_targets(estimator, target_names)]
    classes = estimator.classes_.tolist()
    if not class_names:
        return [str(value) for value in classes]
    if not set(classes) <= set(range(len(class_names))):
        raise ModelError(
            f"{len(class_names)} class_names do not name the classes {classes}: "
            "give one for each number from 0 on"
        )
    return [class_names[int(value)] for value in classes]


def _examples(estimator: Estimator, checked: ProgramCheck) -> dict[str, Any]:
    """Return a few random graphs as the script reads them, and what the estimator says of them."""
    items = next(random_items(estimator))
    if isinstance(items, Nodes):  # each once and rising, as the script answers graph by graph
        items = Nodes._of(items.graphs, torch.unique(items.index))
    outputs, expected = expected_of(estimator, items)
    tolerance = checked.tolerance * max(1.0, float(abs(outputs).max()))
    graphs = [_plain_graph(graph) for graph in graphs_of(items)]
    if isinstance(items, Nodes):
        for number, graph in enumerate(graphs):
            graph["nodes"] = _nodes_within(items, number)
    return {"graphs": graphs, "expected": expected.tolist(), "tolerance": tolerance}


def _beside(path: Path, what: str = "new") -> Path:
    return path.with_name(f".{path.name}.{what}.{os.getpid()}")


def _put(new: Path, path: Path) -> None:
    """Put a folder in the place of another one, which is gone only when the new one is there."""
    if not path.exists():
        new.replace(path)
        return
    old = _beside(path, "old")
    path.replace(old)
    new.replace(path)
    shutil.rmtree(old, ignore_errors=True)


# New data for an exported model, as the JSON that the script beside the program reads


def write_inputs(estimator: Estimator, items: Items, path: Path_) -> None:
    """Write items as the input of the ``predict.py`` of an exported estimator.

    Parameters
    ----------
    estimator : Estimator
        Fitted. What it could not predict is an error here.
    items : Graphs or Nodes
        With names, by which the script's answers are told apart.
    path : path
        The file; it appears when all is written.
    """
    check_network(estimator)
    estimator._coder.encode(graphs_of(items))
    check_known(estimator, items)
    with atomic_file(path) as stream:
        begin = b"[\n"
        for graph in _described(estimator, items):
            stream.write(begin + json.dumps(graph, ensure_ascii=False).encode())
            begin = b",\n"
        stream.write(b"[]\n" if begin == b"[\n" else b"\n]\n")


def _plain_graph(graph: Graphs) -> dict[str, Any]:
    """Return one graph as JSON."""
    found: dict[str, Any] = {
        "edges": torch.stack([graph.edge_source, graph.edge_target], dim=1).tolist(),
        "node_labels": [encode_value(value) for value in graph.node_labels],
        "edge_labels": [encode_value(value) for value in graph.edge_labels],
    }
    for name in ("node_features", "edge_features"):
        if getattr(graph, name) is not None:
            found[name] = getattr(graph, name).tolist()
    return found


def _described(estimator: Estimator, items: Items) -> Iterator[dict[str, Any]]:
    """Yield each graph with its name, and for models of nodes which nodes are meant."""
    graphs = graphs_of(items)
    labeled = estimator._coder.relabeled(graphs) if estimator._coder.identity else graphs
    for number, graph in enumerate(labeled):
        described = _plain_graph(graph)
        if graphs.graph_names is not None:
            described = {"id": _id(graphs.graph_names[number])} | described
        if isinstance(items, Nodes):
            if graph.node_names is not None:
                described["node_ids"] = [_id(name) for name in graph.node_names]
            described["nodes"] = _nodes_within(items, number)
        yield described


def _nodes_within(nodes: Nodes, number: int) -> list[int]:
    """Return which nodes of one graph are among some nodes, by their numbers within the graph."""
    owner, offset = nodes.graphs.graph_of_node, nodes.graphs.graph_offset
    numbers: list[int] = (nodes.index[owner[nodes.index] == number] - offset[number]).tolist()
    return numbers


def _id(name: Any) -> Any:
    value = plain(name)
    return value if isinstance(value, str | int | float) else str(value)
