"""A fitted estimator as a folder that predicts with torch alone."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import edgnn
from edgnn._files import Path_, atomic_folder
from edgnn._paths import LABELS, PROGRAM, check_new_export
from edgnn.errors import ModelError
from edgnn.graphs import Nodes
from edgnn.models._items import Items, graphs_of
from edgnn.models._model import NotFitted
from edgnn.models.networks import _export_predict
from edgnn.models.networks._export_check import (
    Checked,
    check_program,
    expected_of,
    inputs_for,
    random_items,
)
from edgnn.models.networks._export_inputs import check_network, plain_graph
from edgnn.models.networks._export_program import program_of
from edgnn.models.networks._fleet import device_of
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
    checked: Checked


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
    if not estimator.__sklearn_is_fitted__():
        raise NotFitted(
            f"this {type(estimator).__name__} is not fitted yet: call fit before export"
        )
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
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "The given buffer is not writable"
        )  # torch 2.11 tells itself so
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
    checked: Checked,
    class_names: Sequence[str],
    target_names: Sequence[str],
) -> dict[str, Any]:
    """Return everything that a user of the program has to know, as plain values."""
    coder, encoding = estimator._coder, estimator._encoding
    inputs = _inputs(estimator, next(random_items(estimator)))
    kind = {torch.float32: "float32", torch.float64: "float64"}[
        next(estimator._model.parameters()).dtype
    ]
    answers = "probabilities" if encoding.task != "values" else "values"
    return {
        "format": FORMAT,
        "edgnn": edgnn.__version__,
        "torch": torch.__version__,
        "estimator": type(estimator).__name__,
        "level": estimator._level,
        "task": encoding.task,
        "device": str(device),
        "number_type": kind,
        "inputs": {name: _input(name, value) for name, value in inputs.items()},
        "output": {
            "type": "float64",
            "shape": [f"{estimator._level}s"]
            + ([] if encoding.flat and encoding.task == "values" else [encoding.outputs]),
            "meaning": f"{answers} in the order of names"
            + (", averaged over members" if len(estimator.best_epoch_) > 1 else ""),
        },
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
    encoding = estimator._encoding
    if encoding.task != "classes":
        return (
            list(target_names)
            if len(target_names) == encoding.outputs
            else [str(n) for n in range(encoding.outputs)]
        )
    classes = encoding.classes.tolist()
    if not class_names:
        return [str(value) for value in classes]
    if not all(isinstance(value, int) and 0 <= value < len(class_names) for value in classes):
        raise ModelError(
            f"{len(class_names)} class_names do not name the classes {classes}: "
            "give one for each number from 0 on"
        )
    return [class_names[value] for value in classes]


def _examples(estimator: Estimator, checked: Checked) -> dict[str, Any]:
    """Return a few random graphs as the script reads them, and what the estimator says of them."""
    items = next(random_items(estimator))
    outputs, expected = expected_of(estimator, items)
    tolerance = checked.tolerance * max(1.0, float(abs(outputs).max()))
    graphs = [plain_graph(graph) for graph in graphs_of(items)]
    if isinstance(items, Nodes):
        place = {int(node): row for row, node in enumerate(items.index)}
        owner, offset = graphs_of(items).graph_of_node, graphs_of(items).graph_offset
        order = sorted(place)
        for number, graph in enumerate(graphs):
            graph["nodes"] = [
                node - int(offset[number]) for node in order if int(owner[node]) == number
            ]
        expected = expected[[place[node] for node in order]]
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
