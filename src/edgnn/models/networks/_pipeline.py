"""The one pipeline behind ``fit``, training into run folders and evaluation by splits.

Parameters → data → labels as numbers → what the network reads → which items → training → result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import csr_array

from edgnn.errors import EstimatorError, TrainingError, UnknownLabelError
from edgnn.graphs import Graphs
from edgnn.models._coder import Coder, Seen, carriers
from edgnn.models._data import Data, validation_parts
from edgnn.models._finite import check_learned
from edgnn.models._items import Items, graphs_of, positions_of, read_items, with_graphs
from edgnn.models._seeds import held_out, member_seed, with_every_label
from edgnn.models._splits import Split, checked_split
from edgnn.models._targets import Encoding, class_weights, encoding_of
from edgnn.models.networks._fleet import (
    OnEpoch,
    inputs_of,
    model_config,
    raw_outputs,
    reporting,
    settings_of,
    targets_of,
)
from edgnn.nn import Inputs, LargeInputs
from edgnn.nn import Model as Network
from edgnn.training import Group, Member, Trained, train

if TYPE_CHECKING:
    from edgnn.models.networks._base import Estimator

_Array = np.ndarray[Any, Any]

_WORTH_A_THREAD = 2**17  # numbers per step and layer


@dataclass(frozen=True, eq=False)
class Part:
    """Positions of the items that one ensemble trains and validates on, and its random seed.

    ``valid`` may be empty.
    """

    train: _Array
    valid: _Array
    seed: int

    @property
    def known(self) -> _Array:
        """Positions of all items that ``fit`` is shown."""
        return np.concatenate([self.train, self.valid])


@dataclass(frozen=True, eq=False)
class Pipeline:
    """An estimator with data that is ready for training.

    Parameters
    ----------
    estimator : Estimator
        What is trained.
    parameters : dict
        Its parameters, checked.
    data : Data
        Items, targets and weights, checked.
    coder : Coder
        How labels become numbers.
    items : Graphs or Nodes
        The items with labels as numbers of the coder.
    inputs : Inputs or LargeInputs
        What the network reads of them.
    given : int, optional
        How many items come before those that were given for validation.
    """

    estimator: Estimator
    parameters: dict[str, Any]
    data: Data
    coder: Coder
    items: Items
    inputs: Inputs | LargeInputs
    given: int | None = None

    @classmethod
    def of(
        cls,
        estimator: Estimator,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: Any = None,
        group: Group | None = None,
    ) -> Pipeline:
        """Check parameters and data, number the labels, and count what the network reads.

        Of several ranks, each takes its share of the inputs later.
        """
        parameters = estimator._checked_parameters()
        data = estimator.read_training(X, y, sample_weight)
        coder = estimator._coder_for(graphs_of(data.items))
        given = None
        if validation is not None:
            given = len(data)
            X_valid, y_valid, weight = validation_parts(validation)
            more = read_items(X_valid, estimator.levels)
            data = data.followed_by(Data.read(more, y_valid, estimator.tasks, weight))
        items = with_graphs(data.items, coder.encode(graphs_of(data.items)))
        device = None if group is None else "cpu"
        inputs = inputs_of(graphs_of(items), parameters, device)
        return cls(estimator, parameters, data, coder, items, inputs, given)

    # Which items

    def part(self, train: _Array | None, valid: _Array | None, seed: int) -> Part:
        """Return what to train and validate on.

        Parameters
        ----------
        train : array of int, optional
            Positions; default: everything that was not given for validation.
        valid : array of int, optional
            Positions; default: what was given for validation, or else the fraction of ``train``
            that the estimator holds out.
        seed : int
            The random seed.
        """
        if train is None:
            train = np.arange(len(self.data) if self.given is None else self.given)
        if valid is None and self.given is not None:
            valid = np.arange(self.given, len(self.data))
        if valid is not None:
            part = Part(train, valid, seed)
        elif self.estimator.validation is None:
            part = Part(train, train[:0], seed)
        else:
            part = self._held_out(train, float(self.estimator.validation), seed)
        self.estimator._check_part(part)
        return part

    def _held_out(self, train: _Array, fraction: float, seed: int) -> Part:
        """Hold a fraction of the items out; all members of an ensemble hold out the same ones.

        Graphs that are the last to have a label are trained on, so that no label of the training
        items goes unlearned. A node that is listed several times is held out as a whole or not at
        all.
        """
        usable, y = self.data.usable[train], self.data.y[train]
        task = self.data.task
        strata = encoding_of(y, task).encode(y) if task == "classes" else None
        if isinstance(self.items, Graphs):
            kept, out = held_out(usable, strata, fraction, seed)
            kept, out = with_every_label(kept, out, self._carriers[train])
        else:
            nodes = self.items.index.cpu().numpy()[train]
            _, first, node = np.unique(nodes, return_index=True, return_inverse=True)
            once = np.isin(np.arange(len(train)), first)
            _, drawn = held_out(usable & once, strata, fraction, seed)
            apart = np.isin(node, node[drawn])
            kept, out = np.flatnonzero(~apart), np.flatnonzero(apart)
        return Part(train[kept], train[out], seed)

    @cached_property
    def _carriers(self) -> csr_array:
        return carriers(self.coder, graphs_of(self.items))

    def learned_from(self, part: Part) -> _Array:
        """Return the positions of training items with a target and a weight above zero."""
        learned: _Array = part.train[self.data.usable[part.train]]
        return learned

    def encoding(self, part: Part) -> Encoding:
        """Return how the targets are numbered, by the classes that ``fit`` is shown."""
        data = self.data
        return encoding_of(data.y[part.known] if data.task == "classes" else data.y, data.task)

    # Training

    def train(
        self,
        parts: Sequence[Part],
        encoding: Encoding,
        *,
        on_epoch: OnEpoch | None = None,
        resume: Any = None,
        initial: Network | None = None,
        group: Group | None = None,
        **changes: Any,
    ) -> Trained:
        """Train ``members`` networks for each part, all as one fleet; ``changes`` of parameters."""
        parameters = self.parameters | changes
        for part in parts:
            self._check_targets(part)
        config = model_config(parameters, self.coder, encoding, self.inputs)
        if initial is not None and initial.config.get("cells") != config.get("cells"):
            raise EstimatorError(
                "warm_start=True continues from the fitted weights, but the edges of the graphs "
                "changed since: set warm_start=False to start anew"
            )
        fleet = [
            Member(
                part.train, part.valid if len(part.valid) else None, member_seed(part.seed, number)
            )
            for part in parts
            for number in range(parameters["members"])
        ]
        data = self.data
        with _one_thread(group is None and self._is_small(parameters, len(fleet))):
            trained = train(
                data.level,
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
                f"the loss of {trained.best_epoch.count(0)} of {len(fleet)} models was NaN in "
                "every epoch: lower learning_rate, set clip_norm, or scale the features"
            )
        check_learned(trained.model.state_dict())
        return trained

    def _check_targets(self, part: Part) -> None:
        if not len(self.learned_from(part)):
            raise EstimatorError(
                f"none of the {len(part.train)} training items has a target and a weight above "
                "zero: there is nothing to learn"
            )
        if len(part.valid) and not self.data.usable[part.valid].any():
            raise EstimatorError(
                f"none of the {len(part.valid)} validation items has a target and a weight above "
                "zero: they cannot tell which epoch is best"
            )

    def _is_small(self, parameters: dict[str, Any], fleet: int) -> bool:
        graphs = graphs_of(self.items)
        items = len(graphs) if self.data.level == "graph" else graphs.num_nodes
        width = parameters["hidden"] * fleet
        return is_small(graphs.num_nodes, items, parameters["batch_size"], width)

    # Results

    def outputs(self, network: Network, group: Group | None = None) -> _Array:
        """Return every member's outputs for all items, shape (M, n, K)."""
        return raw_outputs(network, self.inputs, self.items, group)

    def predict_splits(self, splits: Sequence[Any], on_epoch: OnEpoch | None) -> list[Any]:
        """Train on all splits as one fleet; see :meth:`Estimator.predict_splits`."""
        class_weights(self.parameters.get("class_weight"), self.data.encoding)
        chosen = [checked_split(split, len(self.data), n) for n, split in enumerate(splits)]
        parts = [self.part(split.train, split.valid, split.seed) for split in chosen]
        if self.estimator.unknown == "error":
            for number, (part, split) in enumerate(zip(parts, chosen, strict=True)):
                self._refuse_unseen(part, split, number)
        results: list[dict[str, Any]] = [{} for _ in parts]
        for group in self._groups(parts):
            encoding = self.encoding(parts[group[0]])
            trained = self.train(
                [parts[number] for number in group],
                encoding,
                on_epoch=on_epoch,
                **self._weights_of(encoding),
            )
            outputs = self.outputs(trained.model)
            for place, number in enumerate(group):
                of_split = slice(
                    place * self.estimator.members, (place + 1) * self.estimator.members
                )
                results[number] = self._split_result(
                    trained, of_split, outputs[of_split], encoding, parts[number], chosen[number]
                )
        return results

    def _split_result(
        self,
        trained: Trained,
        members: slice,
        outputs: _Array,
        encoding: Encoding,
        part: Part,
        split: Split,
    ) -> dict[str, Any]:
        estimator, data = self.estimator, self.data
        result = estimator._result(outputs, self, encoding, part, split.test)
        result["best_epoch"] = trained.best_epoch[members]
        if len(part.valid):
            result["valid_loss"] = trained.best_loss[members]
        if data.task == "classes":
            learned = self.learned_from(part)
            again = estimator._result(outputs, self, encoding, part, learned)["prediction"]
            result["training_accuracy"] = float(np.mean(again == data.y[learned]))
        return result

    def _weights_of(self, encoding: Encoding) -> dict[str, Any]:
        """Leave out the weights of classes that a group of splits does not have."""
        weight = self.parameters.get("class_weight")
        if not isinstance(weight, Mapping):
            return {}
        known = encoding.classes.tolist()
        kept = {name: value for name, value in weight.items() if name in known}
        return {"class_weight": kept}

    def _groups(self, parts: list[Part]) -> list[list[int]]:
        """Group splits that are shown the same classes, for their networks have the same shape."""
        if self.data.task != "classes":
            return [list(range(len(parts)))] if parts else []
        groups: dict[bytes, list[int]] = {}
        for place, part in enumerate(parts):
            groups.setdefault(np.unique(self.data.codes[part.known]).tobytes(), []).append(place)
        return list(groups.values())

    def _refuse_unseen(self, part: Part, split: Split, number: int) -> None:
        """Raise where the test set of a split has labels that its training set lacks."""
        raw, encoded = self.data.items[split.test], self.items[split.test]
        seen = Seen.of(self.coder, self.items, self.learned_from(part))
        try:
            seen.check(self.coder, graphs_of(raw), graphs_of(encoded), "error")
        except UnknownLabelError as error:
            raise UnknownLabelError(f"test set of split {number}: {error}") from None


def is_small(nodes: int, items: int, batch_size: int | None, width: int) -> bool:
    """Return whether a step is over before a second thread has woken up.

    Parameters
    ----------
    nodes, items : int
        How many there are in all.
    batch_size : int, optional
        Items per step; default: all.
    width : int
        Numbers per node.
    """
    fraction = 1.0 if batch_size is None else min(1.0, batch_size / max(items, 1))
    return fraction * nodes * width < _WORTH_A_THREAD


@contextmanager
def _one_thread(small: bool) -> Iterator[None]:
    """Let torch use one thread for small work: on a busy machine it would wait for more."""
    before = torch.get_num_threads()
    if not small or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
