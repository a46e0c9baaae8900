"""Studies made up in a moment, for the tests of their pages: models that are right as often as they are told to be."""

import hashlib
import json
from dataclasses import replace

import numpy as np

from edgnn.evaluation import Evaluation, Outcome, kfold
from edgnn.studies import Cell, CellResult, Study

COMMAND = "edgnn reproduce graphs --runs 2 --out study"
ENVIRONMENT = {
    "date": "2026-11-16T08:00:00+00:00",
    "processor": "a processor",
    "packages": {"torch": "9.9"},
}
RIGHT = {"majority": 0.6, "rgcn": 0.7, "edgnn": 0.85, "wl-subtree": 0.95}


def made_evaluation(
    right, run=0, *, seed=0, items=60, folds=10, class_names=("no", "yes"), chosen=None
):
    """One run of a model that is right about so large a share of the items."""
    truth = (np.arange(items) % 5 < 2).astype(np.int64)
    splits = [replace(split, repeat=run) for split in kfold(truth, folds, 1, seed=run)]
    random, outcomes = np.random.default_rng([seed, run]), []
    for split in splits:
        hit = random.random(len(split.test)) < right
        said = np.where(hit, truth[split.test], 1 - truth[split.test])
        sure = 0.5 + 0.5 * random.random(len(said))
        chances = np.where(said[:, None] == np.arange(2), sure[:, None], 1 - sure[:, None])
        outcomes.append(Outcome(said, chances, chosen, training_accuracy=0.9))
    return Evaluation(
        "classes", ("accuracy",), tuple(splits), truth, tuple(outcomes), (0, 1), tuple(class_names)
    )


def made_history(models=10, epochs=6, start=1.0):
    """Losses that fall."""
    losses = [start / epoch for epoch in range(1, epochs + 1)]
    rows = enumerate(losses, 1)
    return [
        {"epoch": epoch, "train_loss": [loss] * models, "valid_loss": [loss + 0.1] * models}
        for epoch, loss in rows
    ]


def make_study(
    path, right=RIGHT, datasets=("MUTAG", "PTC_FM", "PTC_MR"), runs=2, table="graphs", **more
):
    """A study whose rows are right as often as told; networks have learning curves."""
    study = Study.create(path)
    study.add_call(
        {
            "command": COMMAND,
            "date": ENVIRONMENT["date"],
            "runs": runs,
            "device": "cpu",
            "jobs": 2,
            "version": "1",
        }
    )
    for dataset in datasets:
        for place, (row, share) in enumerate(right.items()):
            for run in range(runs):
                evaluation = made_evaluation(share, run, seed=place, **more)
                history = made_history() if row in ("rgcn", "edgnn") else []
                settings = {
                    "model": row,
                    "parameters": {"hidden": 16 if dataset == "MUTAG" else 8},
                    "seed": run,
                }
                cell = Cell(table, dataset, row, run)
                study.write(
                    CellResult(
                        cell, evaluation, 1.5, 400_000_000, history, settings, ENVIRONMENT, 0.97
                    )
                )
    return study


def change_cell(path, **fields):
    """Write the file of a cell with other fields; its first line is the hash of all that follows."""
    document = json.loads(path.read_bytes())
    del document["sha256"]
    body = json.dumps(document | fields).encode()[1:]
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(f'{{"sha256": "{digest}",\n'.encode() + body)
