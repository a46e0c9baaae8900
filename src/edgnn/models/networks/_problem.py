"""A problem ready for training: encoded items, what a model reads of them, and the parts to train and validate on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from edgnn.errors import EstimatorError, TrainingError
from edgnn.graphs import Graphs
from edgnn.models.networks._coder import Coder, carriers
from edgnn.models.networks._data import Data
from edgnn.models.networks._fleet import (
    OnEpoch,
    inputs_of,
    model_config,
    reporting,
    settings_of,
    targets_of,
)
from edgnn.models.networks._inputs import Items, Level, graphs_of, positions_of, with_graphs
from edgnn.models.networks._parts import held_out, member_seed, with_every_label
from edgnn.models.networks._targets import Encoding, encoding_of
from edgnn.models.networks._threads import is_small, one_thread
from edgnn.nn import Inputs, LargeInputs, Model
from edgnn.training import Group, Member, Trained, train

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Part:
    """Which items one ensemble trains and validates on (by position; ``valid`` may be empty), and its seed."""

    train: _Array
    valid: _Array
    seed: int

    @property
    def known(self) -> _Array:
        """Positions of all items that ``fit`` is shown."""
        return np.concatenate([self.train, self.valid])


@dataclass(frozen=True, eq=False)
class Problem:
    """Data with labels numbered as a coder does, and the constants of the model."""

    data: Data
    coder: Coder
    items: Items
    inputs: Inputs | LargeInputs

    @classmethod
    def of(
        cls, data: Data, coder: Coder, parameters: dict[str, Any], group: Group | None = None
    ) -> Problem:
        """Encode the data and count what the model reads; of several ranks, each takes its part of that later."""
        items = with_graphs(data.items, coder.encode(graphs_of(data.items)))
        return cls(
            data,
            coder,
            items,
            inputs_of(graphs_of(items), parameters, None if group is None else "cpu"),
        )

    @cached_property
    def _carriers(self) -> csr_array:
        return carriers(self.coder, graphs_of(self.items))

    def part(self, train: _Array, share: float | None, seed: int) -> Part:
        """Hold a share of some items out for validation; all members of an ensemble hold out the same ones.

        Graphs that are the last to have a label are trained on, so that no label of the training
        items goes unlearned. A node that is listed several times is held out as a whole or not at
        all.
        """
        if share is None:
            return Part(train, train[:0], seed)
        data, y = self.data, self.data.y[train]
        strata = encoding_of(y, data.task).encode(y) if data.task == "classes" else None
        if isinstance(self.items, Graphs):
            kept, out = held_out(data.usable[train], strata, float(share), seed)
            kept, out = with_every_label(kept, out, self._carriers[train])
        else:
            _, first, node = np.unique(
                self.items.index.cpu().numpy()[train], return_index=True, return_inverse=True
            )
            once = np.isin(np.arange(len(train)), first)
            _, drawn = held_out(data.usable[train] & once, strata, float(share), seed)
            apart = np.isin(node, node[drawn])
            kept, out = np.flatnonzero(~apart), np.flatnonzero(apart)
        return Part(train[kept], train[out], seed)

    def learned_from(self, part: Part) -> _Array:
        """Return the positions of the training items that have a target and a weight above zero; the others are left out."""
        learned: _Array = part.train[self.data.usable[part.train]]
        return learned

    def train(
        self,
        level: Level,
        parameters: dict[str, Any],
        encoding: Encoding,
        parts: Sequence[Part],
        *,
        on_epoch: OnEpoch | None = None,
        resume: Any = None,
        initial: Model | None = None,
        group: Group | None = None,
    ) -> Trained:
        """Train ``members`` models for each part, all of them as one fleet; those of a part stand together."""
        data = self.data
        for part in parts:
            if not len(self.learned_from(part)):
                raise EstimatorError(
                    f"none of the {len(part.train)} training items has a target and a weight above zero: there is nothing to learn"
                )
            if len(part.valid) and not data.usable[part.valid].any():
                raise EstimatorError(
                    f"none of the {len(part.valid)} validation items has a target and a weight above zero: "
                    "they cannot tell which epoch is best"
                )
        config = model_config(parameters, self.coder, encoding, self.inputs)
        if initial is not None and initial.config.get("cells") != config.get("cells"):
            raise EstimatorError(
                "warm_start=True goes on from the fitted weights, but the edges of the graphs changed since: "
                "set warm_start=False to start anew"
            )
        fleet = [
            Member(
                part.train, part.valid if len(part.valid) else None, member_seed(part.seed, number)
            )
            for part in parts
            for number in range(parameters["members"])
        ]
        graphs = graphs_of(self.items)
        of_all = len(graphs) if level == "graph" else graphs.num_nodes
        small = is_small(
            graphs.num_nodes, of_all, parameters["batch_size"], parameters["hidden"] * len(fleet)
        )
        with one_thread(small and group is None):
            trained = train(
                level,
                config,
                self.inputs,
                targets_of(encoding, data.y, data.weight, parameters.get("class_weight")),
                fleet,
                settings_of(parameters),
                positions=positions_of(self.items),
                resume=resume,
                on_epoch=reporting(on_epoch, parameters["verbose"], parameters["max_epochs"]),
                initial=initial,
                group=group,
            )
        if not all(trained.best_epoch):
            raise TrainingError(
                f"{trained.best_epoch.count(0)} of {len(fleet)} models never had a loss that is a number: "
                "lower learning_rate, set clip_norm, or scale the features"
            )
        return trained
