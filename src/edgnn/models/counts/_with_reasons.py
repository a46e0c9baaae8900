"""WithReasons: what a model of counts can say about its training items and its predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models._data import Data
from edgnn.models._items import graphs_of
from edgnn.models._model import Model
from edgnn.models.counts._features import number_names, numbers_of
from edgnn.models.counts._reasons import (
    Column,
    Contributions,
    Evidence,
    Rule,
    Similar,
    Weight,
    check_count,
    contributions,
    described_columns,
    most_similar,
    strongest,
)
from edgnn.models.counts._representation import Columns, Represented, View
from edgnn.models.counts._sparse import FittedSparse, SparseLinear

_Array = np.ndarray[Any, Any]


class WithReasons(Model):
    """Similar training items, rules and exact contributions, for a model that counts."""

    _fitted: dict[str, Any]
    _shares: dict[str, float]
    _columns: Columns
    _descriptors: bool
    _views: tuple[View, ...]

    def similar(self, X: Any, count: int = 5) -> list[list[Similar]]:
        """Return, for each item, the training items that it resembles most, the nearest first.

        Ridge must be among what the model has learned, and all training items be centers of it: up
        to a few thousand. The shares of all training items and the intercept add up to what ridge
        predicts.

        Parameters
        ----------
        X : Graphs, or a list of them, or of SMILES strings
            The items.
        count : int
            How many training items of each.

        Examples
        --------
        >>> from edgnn import AutoRegressor
        >>> texts = ["C" * size for size in range(1, 12)]
        >>> model = AutoRegressor("ridge", random_state=0).fit(texts, range(1, 12))
        >>> [near.name for near in model.similar(["CCCCC"], count=1)[0]]
        ['CCCCC']
        """
        count, data = check_count(count), self._kept()
        ridge = self._fitted.get("ridge")
        if ridge is None or len(ridge.centers) != len(data):
            raise EstimatorError(
                "similar items are known where ridge is among the learners and compares with every "
                "training item, up to a few thousand: this model does not"
            )
        names = graphs_of(data.items).graph_names
        _, items = self._represented(graphs_of(self.read_items(X)))
        found = []
        for positions, alike, shares in most_similar(ridge, items, count):
            rows = zip(positions.tolist(), alike.tolist(), shares, strict=True)
            found.append(
                [
                    Similar(
                        place,
                        str(place if names is None else names[place]),
                        min(similarity, 1.0),
                        data.y[place],
                        share,
                    )
                    for place, similarity, share in rows
                ]
            )
        return found

    def uses(self, learner: str) -> bool:
        """Return whether predictions are made with a learner, alone or with others."""
        return self._shares.get(learner, 0.0) > 0

    def similar_graphs(self, positions: Any) -> Graphs:
        """Return training items by their positions in similar items and rules."""
        return graphs_of(self._kept().items)[np.asarray(positions, dtype=np.int64)]

    def contributions(self, X: Any) -> Contributions:
        """Return predictions as exact sums over nodes, where a sparse model alone predicts.

        A count's weight falls on the nodes that are counted, that of a pair on both in halves;
        descriptors and features remain as a rest.

        Parameters
        ----------
        X : Graphs, or a list of them, or of SMILES strings
            The items.

        Examples
        --------
        >>> from edgnn import AutoRegressor
        >>> texts = ["C" * size for size in range(1, 12)]
        >>> model = AutoRegressor("sparse", descriptors="none", random_state=0)
        >>> parts = model.fit(texts, range(1, 12)).contributions(["CCC"])
        >>> bool(abs(parts.scores[0] - model.predict(["CCC"])) < 1e-9)
        True
        """
        if set(self._shares) != {"sparse"}:
            raise EstimatorError(
                "predictions are sums over nodes where the sparse learner alone predicts: fit with "
                "learners='sparse', or explain by leaving out (edgnn explain)"
            )
        graphs, items = self._represented(graphs_of(self.read_items(X)))
        return contributions(self._fitted["sparse"], self._columns, graphs, items)

    def find_rules(self, count: int = 20) -> list[Rule]:
        """Return the counts that speak most for a class, or for large values, strongest first.

        They are those of the sparse learner: a weighted sum of few counts. Where the model does not
        use it, it is fitted to the training items to describe them.

        Parameters
        ----------
        count : int
            How many.

        Examples
        --------
        >>> import edgnn
        >>> data = edgnn.load_dataset("MUTAG")
        >>> model = edgnn.AutoClassifier("sparse", random_state=0).fit(data.graphs, data.targets)
        >>> rule = model.find_rules(1)[0]
        >>> rule.kind, rule.effect > 0, sum(rule.by_class) == rule.items
        ('color', True, True)
        """
        count, data = check_count(count), self._kept()
        graphs, items = self._represented(graphs_of(data.items))
        table = self._columns.table(items)
        sparse = self._sparse(table, data)
        numbers = number_names(graphs, self._descriptors)
        evidence = Evidence(graphs, self._columns, items, numbers)
        chosen = strongest(sparse, table, count)
        described = described_columns(evidence, table, [weight.column for weight in chosen])
        return [
            self._rule(weight, column, holders, where, data)
            for weight, (column, holders, where) in zip(chosen, described, strict=True)
        ]

    def _represented(self, raw: Graphs) -> tuple[Graphs, Represented]:
        """Return graphs as the model numbers their labels, and what it counts of them."""
        graphs = self._coder.encode(raw)
        return graphs, self._counted(graphs, numbers_of(raw, self._descriptors))

    def _sparse(self, table: Any, data: Data) -> FittedSparse:
        if "sparse" in self._fitted:
            fitted: FittedSparse = self._fitted["sparse"]
            return fitted
        return SparseLinear().fit(
            table, data.codes, data.task, weight=data.weight, outputs=self._encoding.outputs
        )

    def _target_of(self, output: int, coefficient: float) -> tuple[Any, int]:
        """Return what a weight is for and its sign; of two classes it is for one or the other."""
        encoding = self._encoding
        if encoding.task == "values":
            return output, 1
        classes = encoding.classes.tolist()
        if encoding.task == "classes" and len(classes) == 2:
            return classes[1 if coefficient > 0 else 0], 1 if coefficient > 0 else -1
        return classes[output], 1

    def _rule(
        self,
        weight: Weight,
        column: Column,
        holders: _Array,
        where: tuple[int, str, tuple[int, ...]],
        data: Data,
    ) -> Rule:
        position, text, nodes = where
        target, sign = self._target_of(weight.output, weight.coefficient)
        names = graphs_of(data.items).graph_names
        view = "" if column.kind == "number" else self._view_name(column)
        by_class, means = self._tally(target, holders, data)
        return Rule(
            target,
            sign * weight.coefficient,
            sign * weight.coefficient * weight.deviation,
            column.kind,
            view,
            column.round,
            text,
            len(holders),
            by_class,
            *means,
            position,
            str(position if names is None else names[position]),
            nodes,
        )

    def _tally(
        self, target: Any, holders: _Array, data: Data
    ) -> tuple[tuple[int, ...], tuple[float, float]]:
        """Return how many items of each class have a part, or the means with and without it."""
        if data.task == "classes":
            counts = np.bincount(data.codes[holders], minlength=self._encoding.outputs)
            return tuple(counts.tolist()), (np.nan, np.nan)
        if data.task == "labels":
            return tuple((data.codes[holders] == 1).sum(axis=0).tolist()), (np.nan, np.nan)
        values = data.codes[:, target]
        has = np.zeros(len(values), dtype=bool)
        has[holders] = True
        known = ~np.isnan(values)
        return (), (_mean(values[has & known]), _mean(values[~has & known]))

    def _view_name(self, column: Column) -> str:
        return str(self._views[column.view].name)

    @abstractmethod
    def _kept(self) -> Data:
        """Return what was learned from; raise where it is no longer there."""

    @abstractmethod
    def _counted(self, graphs: Graphs, numbers: _Array) -> Represented:
        """Return the counts of encoded graphs, with their numbers standardized."""


def _mean(values: _Array) -> float:
    return float(values.mean()) if len(values) else float("nan")
