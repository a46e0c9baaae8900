"""The estimators' common part: what fit learns, in which order, and what every prediction is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator

from edgnn._files import Path_
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models.networks._coder import Coder, Seen
from edgnn.models.networks._data import Data, validation_parts
from edgnn.models.networks._errors import NotFitted
from edgnn.models.networks._familiarity import Colors, Familiarity
from edgnn.models.networks._fleet import (
    LastEpoch,
    OnEpoch,
    embedded,
    inputs_of,
    model_config,
    raw_outputs,
    rebuilt,
)
from edgnn.models.networks._inputs import Items, Level, collect, graphs_of, in_pieces, with_graphs
from edgnn.models.networks._parameters import SharedParameters, check_parameters
from edgnn.models.networks._parts import root_seed
from edgnn.models.networks._problem import Part, Problem
from edgnn.models.networks._splits import SplitLike, predict_splits
from edgnn.models.networks._targets import Encoding, Task, encoding_of
from edgnn.nn import Inputs, LargeInputs, LayerKind, Model
from edgnn.training import Trained
from edgnn.wl import Coloring, refine

if TYPE_CHECKING:
    from edgnn.models.networks._answers import Predictions
    from edgnn.models.networks._export import Exported

_Array = np.ndarray[Any, Any]


class Estimator(SharedParameters, BaseEstimator, ABC):  # type: ignore[misc]
    """What the four estimators share; a subclass says its level and what its outputs mean."""

    _level: ClassVar[Level]
    _classifies: ClassVar[bool]

    _coder: Coder
    _encoding: Encoding
    _seen: Seen
    _colors: Colors | None = None
    _model: Model
    _seed: int

    # Learning

    def fit(self, X: Any, y: Any, validation: Any = None, sample_weight: Any = None) -> Self:
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
            weights are kept, in place of a share of the training items.
        sample_weight : array-like, optional
            How much each item counts.
        """
        return self._fit(X, y, validation, sample_weight)

    def _fit(
        self,
        X: Any,
        y: Any,
        validation: Any = None,
        sample_weight: Any = None,
        *,
        on_epoch: OnEpoch | None = None,
        resume: Any = None,
    ) -> Self:
        """Train; ``on_epoch`` and ``resume`` as in :func:`edgnn.training.train`."""
        parameters = self._checked_parameters()
        seed = root_seed(self.random_state)
        data = self._data(X, y, sample_weight)
        count = len(data)
        coder = self._coder_of(graphs_of(data.items))
        if validation is not None:
            data = data.followed_by(self._data(*validation_parts(validation)))
        encoding = encoding_of(data.y, data.task)
        initial = self._initial(coder, encoding, parameters)
        problem = Problem.of(data, coder, parameters)
        if validation is not None:
            part = Part(np.arange(count), np.arange(count, len(data)), seed)
        else:
            part = problem.part(np.arange(count), self.validation, seed)
        self._train(problem, parameters, encoding, part, on_epoch, resume=resume, initial=initial)
        return self

    def _train(
        self,
        problem: Problem,
        parameters: dict[str, Any],
        encoding: Encoding,
        part: Part,
        on_epoch: OnEpoch | None,
        **start: Any,
    ) -> None:
        """Train one ensemble and keep it, also where training is interrupted after some epoch."""
        self._check_part(part)
        last = LastEpoch(on_epoch)
        try:
            trained = problem.train(
                self._level, parameters, encoding, [part], on_epoch=last, **start
            )
        except KeyboardInterrupt:
            if last.epoch is not None:
                ended = parameters | {"max_epochs": last.epoch.number, "verbose": 0}
                trained = problem.train(
                    self._level, ended, encoding, [part], resume=last.epoch.state()
                )
                self._keep(trained, problem, encoding, part)
            raise
        self._keep(trained, problem, encoding, part)

    def _keep(self, trained: Trained, problem: Problem, encoding: Encoding, part: Part) -> None:
        learned, again = (
            problem.learned_from(part),
            self.warm_start and self.__sklearn_is_fitted__(),
        )
        seen = Seen.of(problem.coder, problem.items, learned)
        colors = Colors.of(problem.items, learned, trained.model.config, problem.coder.multiplicity)
        self._seen = seen.joined(self._seen) if again else seen
        self._colors = colors.joined(self._colors) if again and colors is not None else colors
        self._coder, self._encoding, self._seed = problem.coder, encoding, part.seed
        self._model, self.history_, self.best_epoch_ = (
            trained.model,
            trained.history,
            trained.best_epoch,
        )
        self._learned(problem, part)

    def _checked_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)
        check_parameters(parameters)
        return parameters

    def _data(self, X: Any, y: Any, sample_weight: Any) -> Data:
        data = Data.read(
            self._collect(X), y, sample_weight, self._level, classifier=self._classifies
        )
        if not len(data):
            raise EstimatorError(
                f"X holds no {self._level}s: there is nothing to learn (0 samples)"
            )
        return data

    def _coder_of(self, graphs: Graphs) -> Coder:
        """Learn how graphs are to be read."""
        return Coder.of(graphs, self.degree_labels, self.multiplicity)

    def _initial(
        self, coder: Coder, encoding: Encoding, parameters: dict[str, Any]
    ) -> Model | None:
        """Return the weights to start from, if ``warm_start`` says so and there are any."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        wanted = model_config(parameters, coder, encoding)
        changed = [
            name for name, value in wanted.items() if self._model.config.get(name, value) != value
        ]
        for name, same in (
            ("the labels or features of the graphs", coder.equals(self._coder)),
            ("the targets", encoding.same(self._encoding)),
            ("members", self._model.members == self.members),
            (", ".join(changed), not changed),
        ):
            if not same:
                raise EstimatorError(
                    f"warm_start=True goes on from the fitted weights, but {name} changed since: set warm_start=False to start anew"
                )
        return self._model

    def _check_part(self, part: Part) -> None:
        """Raise where a part lacks what the parameters need."""

    def _learned(self, problem: Problem, part: Part) -> None:
        """Learn what comes after training."""

    def _restore(self, fitted: dict[str, Any]) -> None:
        """Set what only some estimators have from what was stored."""

    def predict_splits(
        self,
        X: Any,
        y: Any,
        splits: Iterable[SplitLike],
        *,
        sample_weight: Any = None,
        on_epoch: OnEpoch | None = None,
    ) -> list[dict[str, Any]]:
        """Train on every split at once, as one fleet, and predict its test part; the estimator itself stays as it is.

        A split gets what a fresh estimator with ``random_state=split.seed`` predicts for
        ``X[split.test]`` after ``fit`` on ``X[split.train]`` with the split's validation part, or
        where it has none, the estimator's own share. Labels are numbered as in the whole of ``X``,
        as parts of ``Graphs`` and ``Nodes`` do; with ``degree_labels``, where a part of ``Graphs``
        has fewer degrees than the whole, ``fit`` on it therefore draws other initial weights.
        Labels that a training part lacks count for nothing, without a warning.

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
            where there is a validation part; of classes ``"training_accuracy"``, that of the
            ensemble on the items its weights were learned from.
        """
        return predict_splits(self, X, y, splits, sample_weight, on_epoch)

    @abstractmethod
    def _result(
        self, outputs: _Array, problem: Problem, encoding: Encoding, part: Part, test: _Array
    ) -> dict[str, Any]:
        """Return the predictions for the test part of a split from the outputs of its members for all items."""

    # Predicting

    def _outputs(self, X: Any) -> _Array:
        """Return every member's outputs for ``X``, shape (M, n, K)."""
        items = self._collected(X)
        if not len(items):
            return np.zeros((len(self.best_epoch_), 0, self._encoding.outputs))
        encoded = self._encoded(items)
        return raw_outputs(self._model, self._inputs(encoded), encoded)

    def embed(self, X: Any) -> _Array:
        """Return what the final linear map of the model sees of each item: the readout of a graph, the last state of a node.

        The embeddings of the members of an ensemble stand side by side.

        Shapes
        ------
        → (n, members · d)
        """
        items = self._encoded(self._collected(X))
        pieces = [
            embedded(self._model, self._inputs(piece), piece)
            for piece in in_pieces(items, len(self.best_epoch_))
        ]
        return np.concatenate(pieces)

    def familiarity(self, X: Any) -> Familiarity | None:
        """Tell how much of each item the training part contained, and so whether it is unlike what the model has learned from.

        ``None`` where it is not known: for models trained on more than five million nodes, or
        stored before it was kept.
        """
        items = self._collected(X)
        if self._colors is None:
            return None
        encoded = with_graphs(items, self._coder.encode(graphs_of(items)))
        return self._colors.familiarity(encoded, self._model.config, self._coder.multiplicity)

    def _collected(self, X: Any) -> Items:
        if not self.__sklearn_is_fitted__():
            raise NotFitted(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self._collect(X)

    def _collect(self, X: Any) -> Items:
        return collect(X, self._level)

    def _encoded(self, items: Items) -> Items:
        """Number the labels as fitted; say once how many were never seen."""
        raw = graphs_of(items)
        encoded = self._coder.encode(raw)
        self._seen.check(self._coder, raw, encoded, self.unknown)
        return with_graphs(items, encoded)

    def _inputs(self, items: Items) -> Inputs | LargeInputs:
        """Count what the model reads, as it was fitted, whatever the parameters say by now."""
        double = next(self._model.parameters()).dtype == torch.float64
        choices = {
            "precision": "float64" if double else "float32",
            "multiplicity": self._coder.multiplicity,
            "device": self.device,
        }
        return inputs_of(graphs_of(items), self._model.config | choices)

    # What a fitted estimator is made for

    @property
    def level(self) -> Level:
        """What was learned about: ``"graph"`` or ``"node"``."""
        return self._level

    @property
    def task(self) -> Task:
        """What was learned: ``"classes"``, ``"labels"`` or ``"values"``."""
        return self._encoding.task

    @property
    def encoding(self) -> Encoding:
        """What the targets are, and the classes behind their numbers."""
        return self._encoding

    @property
    def coder(self) -> Coder:
        """How the labels of the training set are numbered."""
        return self._coder

    @property
    def seen(self) -> Seen:
        """Which of these labels the model has learned from."""
        return self._seen

    @property
    def num_members(self) -> int:
        """How many models predict together."""
        return len(self.best_epoch_)

    @property
    def has_familiarity(self) -> bool:
        """Whether :meth:`familiarity` has an answer."""
        return self._colors is not None

    def predictions(self, X: Any) -> Predictions:
        """Return predictions, with probabilities and uncertainty where there are any."""
        from edgnn.models.networks._answers import predictions_of

        return predictions_of(self, X)

    def refine(self, graphs: Graphs, rounds: int | None = None) -> Coloring:
        """Return the color refinement that sees what the model sees; nodes of a color look alike.

        Parameters
        ----------
        graphs : Graphs
            In the users' own labels.
        rounds : int, optional
            Default: as many as the model has layers.
        """
        config = self._model.config
        return refine(
            graphs if self._coder.identity else self._coder.relabeled(graphs),
            config["layers"] if rounds is None else rounds,
            LayerKind.of(config["conv"]).scheme,
            multiplicity=self._coder.multiplicity,
            direction=config["direction"],
            features="ignore",
        )

    # What scikit-learn asks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    # Keeping: pickled weights are plain arrays on the CPU, whatever they were views of

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_model" in state:
            model: Model = state.pop("_model")
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
            self._model = rebuilt(
                self._level,
                config,
                members,
                {name: torch.from_numpy(part) for name, part in weights.items()},
            )

    def save(self, path: Path_, *, overwrite: bool = False) -> None:
        """Write the fitted estimator into a run folder: ``config.json``, ``model.safetensors`` and what belongs to them.

        Parameters
        ----------
        path : path
            A new or empty folder.
        overwrite : bool
            Whether a run that is there is replaced.
        """
        from edgnn.models.networks._storage import save

        save(self, path, overwrite=overwrite)

    def export(self, path: Path_, *, overwrite: bool = False) -> Exported:
        """Write the fitted estimator into a folder as a program that predicts with torch alone: ``model.pt2`` and ``predict.py``.

        The program takes graphs of any size, and is compared with the estimator on random ones
        before the folder appears. It is made for the estimator's ``device``.

        Parameters
        ----------
        path : path
            A new or empty folder.
        overwrite : bool
            Whether an exported model that is there is replaced.
        """
        from edgnn.models.networks._export import export

        return export(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: Path_, **parameters: Any) -> Self:
        """Return the estimator that :meth:`save` or ``edgnn train`` left in a folder; nothing from the files is executed.

        Parameters
        ----------
        path : path
            The folder.
        **parameters
            Parameters to change, such as ``device="cuda"``.
        """
        from edgnn.models.networks._storage import load

        return load(cls, path, parameters)
