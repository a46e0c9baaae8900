"""How the folders beside this file were made: by edgnn as it was at commit 57cf2e0.

In a checkout of that commit, with this file copied anywhere::

    PYTHONPATH=CHECKOUT/src OMP_NUM_THREADS=1 python make.py FOLDER

makes ``inputs``, ``runs``, ``interrupted``, ``studies``, ``exported`` and ``expected`` in FOLDER,
in about two minutes. Later code cannot run it, nor is it meant to: see README.md.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from unittest import mock

import numpy as np

SMALL = ("--hidden", "5", "--quiet", "--seed", "3")
SMILES, PEOPLE, FAMILY = "inputs/molecules.csv", "inputs/people", "inputs/family.nt"
RELATED = (FAMILY, "--target-file", "inputs/family.tsv", "--target", "clan", "--test", "0.25")
#: Commands of ``edgnn train``, by the name of the run.
TRAINED = {
    "mutag": ("MUTAG",),
    "mutag-ensemble": (
        "MUTAG", "--members", "3", "--calibrate", "--batch-norm", "--dropout", "0.2",
        "--patience", "4", "--class-weight", "balanced",
    ),
    "tables-nodes": (PEOPLE, "--target", "group", "--dropout", "0.1"),
    "rdf-nodes": (*RELATED, "--embedding", "3", "--learning-rate", "0.02"),
    "rdf-sampled": (*RELATED, "--batch-size", "6", "--fanout", "2", "--members", "2"),
    "value": (SMILES, "--target", "weight", "--members", "2", "--readout", "mean"),
    "values": (SMILES, "--target", "weight", "--target", "atoms", "--regression"),
    "labels": (SMILES, "--target", "nitrogen", "--target", "ring", "--dropout", "0.3"),
    "kind-joint": (SMILES, "--target", "kind", "--conv", "joint", "--bias", "--test", "0.3"),
    "kind-rgcn": (
        SMILES, "--target", "kind", "--conv", "rgcn", "--set", "bases=2", "--calibrate",
        "--validation", "0.25",
    ),
    "kind-gine": (
        SMILES, "--target", "kind", "--conv", "gine", "--activation", "tanh",
        "--precision", "float64", "--direction", "in", "--degree-labels", "both",
    ),
}  # fmt: skip
#: Those that are also kept as they are after four of eight epochs.
INTERRUPTED = ("mutag", "mutag-ensemble", "tables-nodes", "rdf-sampled", "value", "labels",
               "kind-joint", "kind-rgcn", "kind-gine")  # fmt: skip
STUDY = ("reproduce", "graphs", "--datasets", "MUTAG", "--runs", "1", "--jobs", "1", "--quiet")


def strange_graphs():
    """Return ten small graphs with labels of many types, and features."""
    import edgnn

    labels = ["C", 7, ("a", 1), None, 2.5]
    nodes, edges, kinds = [], [], []
    for number in range(10):
        size, first = 3 + number % 4, len(nodes)
        nodes += [labels[(number + place) % 5] for place in range(size)]
        edges += [(first + place, first + (place + 1) % size) for place in range(size)]
        kinds += [("one", 2)[(number * place) % 2] for place in range(size)]
    return edgnn.Graphs.from_edges(
        edges, sizes=[3 + number % 4 for number in range(10)], node_labels=nodes, edge_labels=kinds,
        node_features=[[(place % 7) / 7.0, (place % 3) - 1.0] for place in range(len(nodes))],
    )  # fmt: skip


def items_of(source, level):
    """Return the graphs of a source, or all of their nodes."""
    import edgnn

    if source == "strange":
        graphs = strange_graphs()
    else:
        graphs = edgnn.load_dataset(source).graphs
    return graphs if level == "graph" else graphs.nodes


def write_inputs():
    Path("inputs/people").mkdir(parents=True)
    rows = ["id,smiles,kind,weight,atoms,nitrogen,ring"]
    for length in range(1, 9):
        for end, mass, kind in (
            ("O", 16, "alcohol"),
            ("N", 14, "amine"),
            ("c1ccccc1", 72, "benzene"),
        ):
            atoms = length + (6 if kind == "benzene" else 1)
            flags = f"{int(kind == 'amine')},{int(kind == 'benzene')}"
            rows.append(
                f"m{len(rows)},{'C' * length}{end},{kind},{12.5 * length + mass},{atoms},{flags}"
            )
    Path(SMILES).write_text("\n".join(rows) + "\n")
    groups = ["" if number % 3 == 0 else ("été", "hiver")[number % 2] for number in range(24)]
    people = "".join(f"p{n},{'ab'[n % 5 == 0]},{group}\n" for n, group in enumerate(groups))
    Path(PEOPLE, "nodes.csv").write_text("node,label,group\n" + people)
    edges = [f"p{n},p{(n + 1) % 24},{'knows' if n % 2 else 'likes'}\n" for n in range(24)]
    edges += [f"p{n},p{(n * 7 + 3) % 24},sees\n" for n in range(0, 24, 2)]
    Path(PEOPLE, "edges.csv").write_text("source,target,label\n" + "".join(edges))
    triples = [
        f"<x:p{n}> <x:parent> <x:p{2 * n + 1 + side}> .\n" for n in range(15) for side in (0, 1)
    ]
    triples += [f"<x:p{n}> <x:{'likes' if n % 3 else 'owns'}> <x:t{n % 4}> .\n" for n in range(31)]
    Path(FAMILY).write_text("".join(triples))
    clans = "".join(f"x:p{n}\t{('red', 'green', 'blue')[n % 3]}\n" for n in range(28))
    Path("inputs/family.tsv").write_text("person\tclan\n" + clans)


def command(*words):
    """Run ``edgnn`` in this process and return its exit code."""
    from edgnn.cli import main

    with mock.patch.object(sys, "argv", ["edgnn", *words]):
        try:
            main()
        except SystemExit as ended:
            return ended.code or 0
    return 0


def train(name, out, epochs, interrupted_after=None):
    """Train a run; where asked for, as if Ctrl-C were pressed in some epoch."""
    from edgnn.cli._progress import Progress

    def pressed(self, epoch):
        if epoch.number == interrupted_after:
            raise KeyboardInterrupt

    with mock.patch.object(Progress, "epoch", pressed):
        code = command("train", *TRAINED[name], "--out", out, "--max-epochs", str(epochs), *SMALL)
    assert code == (130 if interrupted_after else 0), (name, code)


def fit_in_python():
    """Save estimators of classes and with options that the command line does not have."""
    from edgnn import GraphClassifier, NodeRegressor
    from edgnn.baselines import (
        GINGraphClassifier,
        GINNodeClassifier,
        RGCNGraphClassifier,
        RGCNNodeClassifier,
    )

    quick = {"hidden": 5, "max_epochs": 5, "random_state": 3}
    mutag, people, strange = (items_of(source, "graph") for source in ("MUTAG", PEOPLE, "strange"))
    words = np.where(mutag.sizes.numpy() > 17, "large one", "small")
    halves = np.array(["even", "odd"], dtype=object)[np.arange(24) % 2]
    made = {
        "python-rgcn-graphs": (RGCNGraphClassifier(embedding=4, **quick), mutag, words),
        "python-gin-graphs": (GINGraphClassifier(**quick), mutag, words == "small"),
        "python-rgcn-nodes": (RGCNNodeClassifier(**quick), people.nodes, halves),
        "python-gin-nodes": (GINNodeClassifier(**quick), people.nodes, halves),
        "python-node-values": (NodeRegressor(**quick), people.nodes, np.arange(24) / 7.0),
        "python-strange": (
            GraphClassifier(
                class_weight={"x": 2.0, "long name": 1.0}, members=2, validation=None,
                edge_embedding=3, embedding=2, multiplicity="per-edge", **quick,
            ),
            strange,
            np.array(["x", "long name"])[np.arange(10) % 2],
        ),
    }  # fmt: skip
    for name, (estimator, items, targets) in made.items():
        estimator.fit(items, targets).save(f"runs/{name}")


def write_predictions():
    """Write what every run says; for those of the command line also as ``edgnn predict`` does."""
    from edgnn.estimators import load_model

    for run in sorted(Path("runs").iterdir()):
        estimator, name = load_model(run), run.name
        if name in TRAINED:
            source = TRAINED[name][0]
            assert command("predict", f"runs/{name}", source, "--out", f"expected/{name}.csv") == 0
        else:
            source = (
                "strange" if name.endswith("strange") else "MUTAG" if "graphs" in name else PEOPLE
            )
        level = "node" if "node" in type(estimator).__name__.lower() else "graph"
        items = items_of(source, level)
        said = {"source": source, "level": level, "prediction": estimator.predict(items).tolist()}
        if hasattr(estimator, "classes_"):
            said["classes"] = [np.asarray(part).tolist() for part in estimator.classes_]
            said["probability"] = np.round(estimator.predict_proba(items), 8).tolist()
        said["familiarity"] = np.round(estimator.familiarity(items).share, 8).tolist()
        Path(f"expected/{name}.json").write_text(json.dumps(said) + "\n")


def make_studies():
    from edgnn.experiments import _workers

    assert command(*STUDY, "--out", "studies/finished") == 0
    compute, cells = _workers.compute_together, []

    def pressed(tasks):
        cells.append(tasks)
        if len(cells) == 3:
            raise KeyboardInterrupt
        return compute(tasks)

    with mock.patch.object(_workers, "compute_together", pressed):
        models = "majority,edgnn,wl-subtree,ridge"
        assert command(*STUDY, "--models", models, "--out", "studies/half") == 130


def export_program():
    """Export a run; without the lines of source, with their paths, that torch notes for errors."""
    import torch

    write = torch.export.save

    def without_places(program, path):
        for module in program.graph_module.modules():
            for node in getattr(getattr(module, "graph", None), "nodes", ()):
                node.meta.pop("stack_trace", None)
        write(program, path)

    with mock.patch.object(torch.export, "save", without_places):
        assert command("export", "runs/kind-rgcn", "--out", "exported/kind-rgcn") == 0
    assert command("convert", SMILES, "inputs/graphs.json", "--for", "runs/kind-rgcn") == 0
    words = [sys.executable, "exported/kind-rgcn/predict.py", "inputs/graphs.json"]
    assert os.system(f"{' '.join(words)} > expected/exported.jsonl") == 0


def without_places():
    """Make paths relative to this folder, and drop locks."""
    here = f"{Path.cwd()}/"
    for path in sorted(Path().rglob("*")):
        if path.name == ".edgnn.lock":
            path.unlink()
        elif path.name == "config.json":
            path.write_text(path.read_text().replace(here, ""))
        elif path.is_file() and path.name != "make.py":
            assert here.encode() not in path.read_bytes(), path


def main(folder):
    os.environ.pop("EDGNN_DATA", None)  # MUTAG is embedded
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    for name in ("inputs", "runs", "interrupted", "studies", "exported", "expected"):
        shutil.rmtree(name, ignore_errors=True)
        Path(name).mkdir()
    from edgnn.training import _environment

    _environment._processor = lambda: "a processor"
    write_inputs()
    for name in TRAINED:
        train(name, f"runs/{name}", 6)
    fit_in_python()
    for name in INTERRUPTED:
        train(name, f"interrupted/{name}", 8, interrupted_after=4)
        shutil.copytree(f"interrupted/{name}", f"resumed/{name}")
        assert command("train", "--out", f"resumed/{name}", "--resume", "--quiet") == 0
        shutil.copy(f"resumed/{name}/model.safetensors", f"expected/{name}.safetensors")
    shutil.rmtree("resumed")
    write_predictions()
    make_studies()
    export_program()
    without_places()


if __name__ == "__main__":
    main(sys.argv[1])
