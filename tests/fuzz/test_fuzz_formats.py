"""Damaged files of every format: they are read, or told as wrong in one line."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import edgnn
from edgnn import wl
from edgnn.evaluation import read_splits
from edgnn.io import open_structure, read_labeled
from fuzz import samples
from fuzz.mutations import (
    check_told,
    declared,
    explore,
    large_molecule,
    mutated,
    mutated_json,
    wide_table,
)

SHARE = 1 / 40


def used(found) -> None:
    """Use what was read, as far as its type and size allow."""
    graphs = found.graphs
    assert graphs.num_nodes < 10**6
    repr(found)
    len(graphs.node_labels), len(graphs.edge_labels)
    wl.refine(graphs, rounds=2)
    edgnn.Structure.of(graphs)
    for graph in graphs[:2]:
        repr(graph)


def try_bytes(name, data, options, read=read_labeled):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        check_told(lambda: used(read(path, **options)))


@pytest.mark.parametrize("name", samples.FILES)
def test_a_damaged_file_is_read_or_told(name):
    data, options = samples.FILES[name]
    try_bytes(name, data, options)

    def check(source):
        change = mutated_json if name.endswith(".json") and source.random() < 0.5 else mutated
        try_bytes(name, change(data, source), options)

    explore(check, 25, SHARE, seed=hash_of(name))


@pytest.mark.parametrize("name", ["plain.graphml", "x.rdf"])
def test_a_declared_encoding_is_read_or_told(name):
    def check(source):
        data = declared(samples.FILES[name][0], source)
        try_bytes(name, mutated(data, source) if source.random() < 0.5 else data, {})

    explore(check, 40, SHARE, seed=7)


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt"])
def test_a_wide_table_is_read_or_told(name):
    def check(source):
        try_bytes(name, wide_table(source), source.choice(({}, {"target": "c7"})))

    explore(check, 10, SHARE / 2, seed=8)


def test_a_large_molecule_is_read_or_told():
    def check(source):
        molecules = [large_molecule(source), b"CCO"]
        source.shuffle(molecules)
        data = b"\n".join(molecules) + b"\n"
        if source.random() < 0.3:
            data = mutated(data, source)
        try_bytes("x.smi", data, source.choice(({}, {"bad": "skip"}, {"hydrogens": True})))

    explore(check, 15, SHARE, seed=9)


def test_a_pipe_among_files_is_told():
    kinds = [(name, {name: data}, {}) for name, (data, _) in samples.FILES.items()]
    kinds += [("", samples.TU, {}), ("", samples.TABLES, {})]
    kinds += [("edges.csv", samples.TABLES, {"nodes": "nodes.csv", "graphs": "graphs.csv"})]

    def check(source):
        name, files, options = source.choice(kinds)
        with TemporaryDirectory() as folder:
            place = samples.put(Path(folder), files)
            pipe = place / source.choice(sorted(files))
            pipe.unlink()
            os.mkfifo(pipe)
            given = {option: place / file for option, file in options.items()}
            check_told(lambda: read_labeled(place / name, **given))
            check_told(lambda: edgnn.load_dataset(place / name, target_file=pipe))

    explore(check, 20, SHARE, seed=10)


@pytest.mark.parametrize("name", ["x.nt", "x.graphml", "molecules.csv", "x.ttl"])
def test_a_damaged_compressed_file_is_read_or_told(name):
    data, options = samples.FILES[name]

    def check(source):
        outside = source.random() < 0.5
        changed = (
            mutated(samples.packed(data), source)
            if outside
            else samples.packed(mutated(data, source))
        )
        try_bytes(f"{name}.gz", changed, options)

    explore(check, 15, SHARE, seed=hash_of(name) + 1)


def test_a_damaged_archive_is_read_or_told():
    def check(source):
        files = dict(samples.TU)
        if source.random() < 0.5:
            name = source.choice(sorted(files))
            files[name] = mutated(files[name], source)
            data = samples.zipped(files)
        else:
            data = mutated(samples.zipped(files), source)
        try_bytes("S.zip", data, {})

    explore(check, 60, SHARE, seed=1)


def test_a_damaged_parquet_file_is_read_or_told():
    data = samples.parquet_file()
    explore(lambda source: try_bytes("edges.parquet", mutated(data, source), {}), 60, SHARE, seed=2)


@pytest.mark.parametrize(
    ("files", "options"),
    [
        (samples.TU, {}),
        (samples.TABLES, {}),
        (samples.TABLES, {"node_features": ["v"], "edge_features": ["w"], "graph_target": "kind"}),
    ],
    ids=["tu", "tables", "tables with features"],
)
def test_a_folder_with_a_damaged_file_is_read_or_told(files, options):
    def check(source):
        changed = dict(files)
        name = source.choice(sorted(changed))
        changed[name] = mutated(changed[name], source)
        if source.random() < 0.1:
            del changed[source.choice(sorted(changed))]
        with TemporaryDirectory() as folder:
            place = samples.put(Path(folder), changed)
            check_told(lambda: used(read_labeled(place, **options)))
            check_told(lambda: edgnn.load_dataset(place, **options))

    explore(check, 60, SHARE * 2, seed=3)


def damaged_folder(files, header, source):
    changed = dict(files)
    name = source.choice(sorted(changed))
    if name == header and source.random() < 0.8:
        changed[name] = mutated_json(changed[name], source)
    else:
        changed[name] = mutated(changed[name], source)
    return samples.signed(changed, header) if source.random() < 0.7 else changed


def test_a_damaged_folder_of_arrays_is_read_or_told_when_verified(tmp_path):
    files = samples.arrays_folder(tmp_path / "x.graphs")

    def check(source):
        with TemporaryDirectory() as folder:
            place = samples.put(
                Path(folder) / "x.graphs", damaged_folder(files, "graphs.json", source)
            )
            check_told(lambda: used(read_labeled(place, verify=True)))
            check_told(lambda: edgnn.read(place))

    explore(check, 60, SHARE * 2, seed=4)


@pytest.mark.parametrize("options", [{}, {"direction": "in"}], ids=str)
def test_a_damaged_structure_is_opened_or_told_when_verified(tmp_path, options):
    files = samples.structure_folder(tmp_path / "s", **options)

    def check(source):
        with TemporaryDirectory() as folder:
            place = samples.put(Path(folder) / "s", damaged_folder(files, "structure.json", source))
            check_told(lambda: repr(open_structure(place, verify=True)))
            check_told(lambda: repr(open_structure(place)))

    explore(check, 40, SHARE, seed=5)


def test_a_damaged_table_of_targets_is_read_or_told():
    from edgnn.io.datasets import named_nodes, targets_of_file

    table = b"node,kind\nn0,good\nn1,bad\nn2,good\nn5,bad\n"
    data = edgnn.Dataset("small", samples.small_graphs())

    def check(source):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "targets.csv"
            path.write_bytes(mutated(table, source))
            check_told(lambda: targets_of_file(data.graphs, path, level="node"))
            check_told(lambda: targets_of_file(data.graphs, path, ("kind",), level="node"))
            check_told(lambda: named_nodes(data.graphs, path))

    explore(check, 50, SHARE, seed=6)


@pytest.mark.parametrize("name", samples.SPLITS)
def test_a_damaged_file_of_splits_is_read_or_told(tmp_path, name):
    names = [f"g{number}" for number in range(12)]
    items = edgnn.Graphs.from_edges([], sizes=[1] * 12, graph_names=names)
    data = edgnn.Dataset("small", items, np.array([0, 1] * 6), ("a", "b"))

    (tmp_path / name).write_bytes(samples.SPLITS[name])
    assert len(read_splits(tmp_path / name, data)) == 1

    def check(source):
        change = mutated_json if name.endswith(".json") and source.random() < 0.6 else mutated
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(change(samples.SPLITS[name], source))
            check_told(lambda: read_splits(path, data))

    explore(check, 50, SHARE, seed=11)


def hash_of(name: str) -> int:
    return sum(map(ord, name))
