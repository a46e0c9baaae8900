"""Estimator: a network, or an ensemble of them, with the scikit-learn API."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from edgnn._files import Path_
from edgnn._rules import Rules, check
from edgnn._system import memory_errors
from edgnn.errors import EstimatorError, ModelError
from edgnn.graphs import Graphs
from edgnn.models._coder import Coder, Seen
from edgnn.models._familiarity import Colors, Refinement
from edgnn.models._items import Items, graphs_of, in_pieces, with_graphs
from edgnn.models._model import Model
from edgnn.models._seeds import root_seed
from edgnn.models._targets import Encoding
from edgnn.models.networks._fleet import (
    LastEpoch,
    OnEpoch,
    embedded,
    inputs_of,
    model_config,
    raw_outputs,
    rebuilt,
)
from edgnn.models.networks._parameters import RULES, SharedParameters
from edgnn.models.networks._pipeline import Part, Pipeline
from edgnn.nn import Inputs, LargeInputs, LayerKind
from edgnn.nn import Model as Network
from edgnn.training import Trained, decode_value, encode_value

if TYPE_CHECKING:
    from edgnn.models.networks._export import Exported

_Array = np.ndarray[Any, Any]


class Estimator(SharedParameters, Model):
    """What the four estimators share; a subclass says its level and what its outputs mean."""

    trains_by_epochs: ClassVar[bool] = True
    rules: ClassVar[Rules] = RULES
    _model: Network
    _seed: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if len(cls.levels) == 1:  # known before it is fitted
            cls._level = cls.levels[0]

    # Learning

    def fit(
        self,
        X: Any,
        y: Any,
        validation: Any = None,
        sample_weight: Any = None,
        *,
        on_epoch: OnEpoch | None = None,
        resume: Any = None,
    ) -> Self:
        """Train the model, or the ``members`` models, on items and their targets.

        Ctrl-C ends training with the best weights so far: the estimator is fitted, and the
        interruption is raised again.

        Parameters
        ----------
        X : Graphs or Nodes, or a list
            Lists of single ``Graphs`` or ``Nodes``, as scikit-learn hands them out; for estimators
            of graphs also lists of networkx graphs, PyG data, RDKit molecules or SMILES strings.
        y : array-like
            One target, or one row of targets, per item.
        validation : tuple, optional
            ``(X, y)`` or ``(X, y, sample_weight)`` of the items whose loss decides which epoch's
            weights are kept, in place of a fraction of the training items.
        sample_weight : array-like, optional
            How much each item counts.
        on_epoch : callable, optional
            Called after every epoch with an :class:`edgnn.training.Epoch`; training ends when it
            returns true.
        resume : dict of tensors, optional
            The ``state()`` of an epoch of the same training, to continue from.
        """
        with memory_errors():
            pipeline = Pipeline.of(self, X, y, sample_weight, validation=validation)
            part = pipeline.part(None, None, root_seed(self.random_state))
            encoding = pipeline.encoding(part)
            initial = self._initial(pipeline, encoding)
            last = LastEpoch(on_epoch)
            try:
                trained = pipeline.train(
                    [part], encoding, on_epoch=last, resume=resume, initial=initial
                )
            except KeyboardInterrupt:
                if last.epoch is not None:
                    state, done = last.epoch.state(), last.epoch.number
                    ended = pipeline.train(
                        [part], encoding, resume=state, max_epochs=done, verbose=0
                    )
                    self._keep(ended, pipeline, encoding, part)
                raise
            self._keep(trained, pipeline, encoding, part)
        return self

    def _keep(self, trained: Trained, pipeline: Pipeline, encoding: Encoding, part: Part) -> None:
        """Take what was learned; from here on the estimator is fitted."""
        continued = self._continues
        learned = pipeline.learned_from(part)
        seen = Seen.of(pipeline.coder, pipeline.items, learned)
        chosen = pipeline.items[torch.as_tensor(learned)]
        refinement = _refinement_of(trained.model.config, pipeline.coder.multiplicity)
        colors = Colors.of(chosen, refinement)
        if continued:
            seen = seen.joined(self._seen)
            colors = None if colors is None else colors.joined(self._colors)
        self._coder, self._seen, self._colors = pipeline.coder, seen, colors
        self._model, self._seed = trained.model, part.seed
        self.history_, self.best_epoch_ = trained.history, trained.best_epoch
        self._set_encoding(encoding)
        self._learned(pipeline, part)

    def check_parameters(self) -> None:
        """Raise where a parameter makes no sense."""
        try:
            LayerKind.of(self.conv)
        except ModelError as error:
            raise EstimatorError(str(error)) from None
        check(self.get_params(deep=False), self.rules, EstimatorError)

    def _coder_of(self, graphs: Graphs) -> Coder:
        """Learn how graphs are to be read."""
        return Coder.of(graphs, self.degree_labels, self.multiplicity)

    def _numbered(self, items: Items) -> Items:
        # later fits may bring labels that stand in the vocabulary only
        keeps_all = self.warm_start and not self._continues
        return items if keeps_all else super()._numbered(items)

    def _coder_for(self, graphs: Graphs) -> Coder:
        """Return how graphs are to be read; a warm start keeps the numbers of the fitted labels."""
        coder = self._coder_of(graphs)
        return self._coder if self._continues and self._coder.includes(coder) else coder

    @property
    def _continues(self) -> bool:
        return self.warm_start and self.__sklearn_is_fitted__()

    def _initial(self, pipeline: Pipeline, encoding: Encoding) -> Network | None:
        """Return the weights to start from, if ``warm_start`` asks for it and there are any."""
        if not self._continues:
            return None
        wanted = model_config(pipeline.parameters, pipeline.coder, encoding)
        changed = [
            name for name, value in wanted.items() if self._model.config.get(name, value) != value
        ]
        for name, same in (
            ("the labels or features of the graphs", pipeline.coder is self._coder),
            ("the targets", encoding.same(self._encoding)),
            ("members", self._model.members == self.members),
            (", ".join(changed), not changed),
        ):
            if not same:
                raise EstimatorError(
                    f"warm_start=True continues from the fitted weights, but {name} changed since: "
                    "set warm_start=False to start anew"
                )
        return self._model

    def _check_part(self, part: Part) -> None:
        """Raise where a part lacks what the parameters need."""

    def _learned(self, pipeline: Pipeline, part: Part) -> None:
        """Learn what comes after training."""

    def predict_splits(
        self,
        X: Any,
        y: Any,
        splits: Iterable[Any],
        *,
        sample_weight: Any = None,
        on_epoch: OnEpoch | None = None,
    ) -> list[dict[str, Any]]:
        """Train on every split at once, as one fleet, and predict its test set.

        The estimator itself stays as it is. A split gets what a fresh estimator with
        ``random_state=split.seed`` predicts for ``X[split.test]`` after ``fit`` on
        ``X[split.train]`` with the split's validation set, or where it has none, the estimator's
        own fraction. Labels are numbered as in the whole of ``X``; where a training set lacks some
        of them, or lists them in another order, ``fit`` on it alone therefore draws other initial
        weights. Labels that a training set lacks count for nothing, without a warning.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`, of all items.
        splits : iterable
            Objects with ``train``, ``valid`` (or ``None``) and ``test``, positions in ``X``, and
            ``seed``.
        on_epoch : callable, optional
            Called after every epoch of the fleet; training ends when it returns true.

        Returns
        -------
        list of dict
            For each split ``"prediction"``; ``"probability"`` and ``"classes"`` (``None`` from
            regressors); ``"best_epoch"``, one per member; ``"valid_loss"``, its validation loss,
            where there is a validation set; of classes ``"training_accuracy"``, that of the
            ensemble on the items its weights were learned from.
        """
        with memory_errors():
            pipeline = Pipeline.of(self, X, y, sample_weight)
            return pipeline.predict_splits(list(splits), on_epoch)

    @abstractmethod
    def _result(
        self, outputs: _Array, pipeline: Pipeline, encoding: Encoding, part: Part, items: _Array
    ) -> dict[str, Any]:
        """Return the predictions for some items from the outputs of the members for all items."""

    # Predicting

    def read_items(self, X: Any) -> Items:
        """Return new items as one collection; the model's coder numbers their labels."""
        return self._items_of_level(X)

    def _outputs(self, X: Any) -> _Array:
        """Return every member's outputs for ``X``, shape (M, n, K)."""
        items = self.read_items(X)
        if not len(items):
            return np.zeros((self.num_members, 0, self._encoding.outputs))
        with memory_errors():
            encoded = self._encoded(items)
            return raw_outputs(self._model, self._inputs(encoded), encoded)

    def embed(self, X: Any) -> _Array:
        """Return what the final linear map of the model sees of each item.

        That is the readout of a graph, or the last state of a node. The embeddings of the members
        of an ensemble stand side by side.

        Shapes
        ------
        → (n, members · d)
        """
        with memory_errors():
            items = self._encoded(self.read_items(X))
            pieces = [
                embedded(self._model, self._inputs(piece), piece)
                for piece in in_pieces(items, self.num_members)
            ]
        return np.concatenate(pieces)

    def _encoded(self, items: Items) -> Items:
        """Number the labels as fitted; warn once of how many were never seen."""
        raw = graphs_of(items)
        encoded = self._coder.encode(raw)
        self._seen.check(self._coder, raw, encoded, self.unknown)
        return with_graphs(items, encoded)

    def _inputs(self, items: Items) -> Inputs | LargeInputs:
        """Count what the model reads, as it was fitted, whatever the parameters are by now."""
        choices = {
            "precision": "float32" if self._single_precision else "float64",
            "multiplicity": self._coder.multiplicity,
            "device": self.device,
        }
        return inputs_of(graphs_of(items), self._model.config | choices)

    @property
    def num_members(self) -> int:
        """How many networks predict together."""
        return len(self.best_epoch_)

    def _refinement(self) -> Refinement:
        return _refinement_of(self._model.config, self._coder.multiplicity)

    @property
    def _reads_edge_labels(self) -> bool:
        return bool(self._model.convs[0].reads_labels)

    @property
    def _single_precision(self) -> bool:
        return next(self._model.parameters()).dtype != torch.float64

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    # Keeping

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return the network's arguments and weights."""
        facts = {
            "model": self._model.config,
            "members": self._model.members,
            "seed": encode_value(self._seed),
            "best_epoch": self.best_epoch_,
            "temperature": getattr(self, "temperature_", None),
        }
        weights = self._model.state_dict()
        return facts, {f"model.{name}": value for name, value in weights.items()}

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Rebuild the network."""
        self._seed, self.best_epoch_ = decode_value(facts["seed"]), facts["best_epoch"]
        weights = {name.removeprefix("model."): value for name, value in tensors.items()}
        self._model = rebuilt(self._level, facts["model"], facts["members"], weights)

    def __getstate__(self) -> dict[str, Any]:
        # pickled weights are plain arrays on the CPU, whatever they were views of
        state: dict[str, Any] = dict(super().__getstate__())
        if "_model" in state:
            model: Network = state.pop("_model")
            weights = {
                name: value.detach().cpu().numpy().copy()
                for name, value in model.state_dict().items()
            }
            state["_stored_model"] = (model.config, model.members, weights)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        stored = state.pop("_stored_model", None)
        super().__setstate__(state)
        if stored is not None:
            config, members, weights = stored
            tensors = {name: torch.from_numpy(part) for name, part in weights.items()}
            self._model = rebuilt(self._level, config, members, tensors)

    def export(self, path: Path_, *, overwrite: bool = False) -> Exported:
        """Write the fitted estimator into a folder as a program that predicts with torch alone.

        The folder holds ``model.pt2`` and ``predict.py``. The program takes graphs of any size, and
        is compared with the estimator on random ones before the folder appears. It is made for the
        estimator's ``device``.

        Parameters
        ----------
        path : path
            A new or empty folder.
        overwrite : bool
            Whether an exported model that is there is replaced.
        """
        from edgnn.models.networks._export import export

        return export(self, path, overwrite=overwrite)


def _refinement_of(config: Mapping[str, Any], multiplicity: Any) -> Refinement:
    """Return the refinement that bounds what a network of this configuration tells apart."""
    scheme = LayerKind.of(config["conv"]).scheme
    return Refinement(scheme, config["layers"], multiplicity, config["direction"])
