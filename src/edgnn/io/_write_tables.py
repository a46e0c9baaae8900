"""Graphs as a folder of tables: edges, nodes and graphs, in Parquet or CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from torch import Tensor

from edgnn._files import Path_, atomic_folder
from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.io._common import check_distinct
from edgnn.io._table_files import arrow

_PART = 2**16
_Slice = Callable[[int, int], Any]


def write_tables(
    graphs: Graphs,
    folder: Path_,
    *,
    format: Literal["parquet", "csv"] = "parquet",
    targets: Any = None,
) -> None:
    """Write graphs as tables in a new folder, which :func:`read_tables` reads without options.

    Edges have the columns ``source``, ``target``, ``label``, ``graph``, ``feature_0``, …, nodes
    ``node``, ``label``, ``graph``, ``feature_0``, …, graphs ``graph`` and ``target``, as far as
    there is something to write. The graph column and table are left out for a single graph without
    name and target. Nodes and graphs without names are numbered from 0.

    Parameters
    ----------
    graphs : Graphs
        What to write.
    folder : path
        A place where nothing is yet.
    format : {"parquet", "csv"}
        Parquet keeps whole numbers, numbers and text apart, and the precision of features. CSV does
        not: text that reads as a whole number comes back as one, other numbers as text. In both,
        labels and names of other or mixed types become text; two of them with the same text are an
        error.
    targets : array-like, optional
        One target, or one row of them, per graph.
    """
    if format not in ("parquet", "csv"):
        raise GraphError(f"format={format!r}: choose 'parquet' or 'csv'")
    graphs = graphs.to("cpu")
    edges, nodes, collection = _columns(graphs, format, targets)
    with atomic_folder(folder) as unfinished:
        _write(unfinished / f"edges.{format}", edges, graphs.num_edges)
        _write(unfinished / f"nodes.{format}", nodes, graphs.num_nodes)
        if collection:
            _write(unfinished / f"graphs.{format}", collection, len(graphs))


def _columns(
    graphs: Graphs, kind: str, targets: Any
) -> tuple[dict[str, _Slice], dict[str, _Slice], dict[str, _Slice]]:
    """Return the columns of the three tables, each as a function of the rows to give."""
    if graphs.node_names is None:
        first = graphs.graph_offset[:-1].repeat_interleave(graphs.sizes).numpy()
        names = arrow().array(np.arange(graphs.num_nodes) - first)
    else:
        names = _array(graphs.node_names.tolist(), "node name")
    edges = {
        "source": _taken(names, graphs.edge_source),
        "target": _taken(names, graphs.edge_target),
    }
    nodes = {"node": _taken(names, None)}
    if not graphs.edge_vocabulary.constant:
        edges["label"] = _taken(
            _array(list(graphs.edge_vocabulary), "edge label", label=True), graphs.edge_label
        )
    if not graphs.node_vocabulary.constant:
        nodes["label"] = _taken(
            _array(list(graphs.node_vocabulary), "node label", label=True), graphs.node_label
        )
    collection: dict[str, _Slice] = {}
    if len(graphs) != 1 or graphs.graph_names is not None or targets is not None:
        ids = _graph_ids(graphs)
        edges["graph"] = _taken(ids, graphs.graph_of_node[graphs.edge_source])
        nodes["graph"] = _taken(ids, graphs.graph_of_node)
        collection = {"graph": _taken(ids, None), **_target_columns(targets, len(graphs))}
    edges |= _feature_columns(graphs.edge_features, kind)
    nodes |= _feature_columns(graphs.node_features, kind)
    return edges, nodes, collection


def _graph_ids(graphs: Graphs) -> Any:
    if graphs.graph_names is None:
        return arrow().array(np.arange(len(graphs)))
    names = graphs.graph_names.tolist()
    again = [name for name, count in Counter(names).items() if count > 1]
    if again:
        raise GraphError(
            f"the graph name {again[0]!r} stands twice, but tables tell graphs by their names; "
            "rename one"
        )
    return _array(names, "graph name")


def _taken(values: Any, ids: Tensor | None) -> _Slice:
    if ids is None:
        return lambda start, stop: values[start:stop]
    numbers = ids.numpy()
    return lambda start, stop: values.take(arrow().array(numbers[start:stop]))


def _feature_columns(features: Tensor | None, kind: str) -> dict[str, _Slice]:
    if features is None:
        return {}
    matrix = features.numpy()
    # in text, single precision is written in full, so that it reads back as the same number
    precision = np.float64 if kind == "csv" else matrix.dtype
    return {
        f"feature_{place}": _converted(matrix[:, place], precision)
        for place in range(matrix.shape[1])
    }


def _converted(values: np.ndarray[Any, Any], precision: Any) -> _Slice:
    return lambda start, stop: arrow().array(np.ascontiguousarray(values[start:stop], precision))


def _target_columns(targets: Any, size: int) -> dict[str, _Slice]:
    if targets is None:
        return {}
    values = targets.cpu().numpy() if isinstance(targets, Tensor) else np.asarray(targets)
    if values.ndim not in (1, 2) or len(values) != size:
        raise GraphError(
            f"targets must be one value, or one row, per graph: {size} of them, "
            f"not shape {values.shape}"
        )
    columns = {"target": values}
    if values.ndim == 2:
        columns = {f"target_{number}": column for number, column in enumerate(values.T)}
    return {name: _taken(_target_array(column.tolist()), None) for name, column in columns.items()}


def _target_array(values: list[Any]) -> Any:
    pa = arrow()
    try:
        array = pa.array(values)
    except (pa.ArrowException, UnicodeError, OverflowError) as error:
        raise GraphError(
            f"targets must be numbers, truth values or text, all of one kind ({error})"
        ) from None
    if pa.types.is_nested(array.type) or pa.types.is_binary(array.type):
        raise GraphError(f"targets must be numbers, truth values or text, not {array.type}")
    return array


def _array(values: Sequence[Any], what: str, *, label: bool = False) -> Any:
    """Make an Arrow array of whole numbers or of text (of labels also of numbers, of truth values).

    Mixed values become text.
    """
    pa = arrow()
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not _is_uniform(values, label):
        texts = [str(value) for value in values]
        check_distinct(values, texts, what)
        values = texts
    is_text = bool(values) and isinstance(values[0], str)
    try:
        return pa.array(values, pa.large_string() if is_text else None)
    except UnicodeEncodeError as error:
        raise GraphError(
            f"the {what} {error.object!r} is no valid text: it holds half a surrogate pair"
        ) from None


def _is_uniform(values: Sequence[Any], label: bool) -> bool:
    """Return whether values are of one type that a column can have."""
    kinds = {type(value) for value in values}
    if kinds == {int}:
        return all(-(2**63) <= value < 2**63 for value in values)
    return kinds == {str} or (label and kinds in ({float}, {bool}))


def _write(path: Path, columns: dict[str, _Slice], rows: int) -> None:
    with path.open("wb") as stream:
        schema = _batch(columns, 0, 0).schema
        with _writer(stream, schema, path.suffix) as writer:
            for start in range(0, rows, _PART):
                writer.write_batch(_batch(columns, start, min(rows, start + _PART)))


def _writer(stream: BinaryIO, schema: Any, suffix: str) -> Any:
    if suffix == ".csv":
        return arrow("pyarrow.csv").CSVWriter(stream, schema)
    return arrow("pyarrow.parquet").ParquetWriter(stream, schema)


def _batch(columns: dict[str, _Slice], start: int, stop: int) -> Any:
    arrays = [column(start, stop) for column in columns.values()]
    return arrow().RecordBatch.from_arrays(arrays, names=list(columns))
