"""Estimators for nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgnn.models.networks._classifier import Classifier
from edgnn.models.networks._inputs import Level
from edgnn.models.networks._parameters import NodeParameters
from edgnn.models.networks._regressor import Regressor


@dataclass(kw_only=True, eq=False, repr=False)
class NodeClassifier(NodeParameters, Classifier):
    """Classify nodes with edGNN, with the face of scikit-learn.

    ``fit(nodes, y)`` takes :class:`~edgnn.Nodes`, such as ``data.nodes[train]``, and one class per
    node. Messages run over the whole graph, also over nodes without a target; ``predict`` takes
    other nodes of the same graph, or nodes of new graphs.

    Parameters
    ----------
    head : {"linear", "conv"}
        What gives the outputs: a linear map behind the layers, or the last of the layers itself, as
        in the authors' code.
    degree_labels : {"auto", "in", "out", "both"}, optional
        Put degrees in the place of node labels, as the paper does; ``"auto"``: in-degrees where
        nodes have neither labels nor features. ``None`` takes the labels as they are.
    batch_size : int, optional
        Nodes per step. With ``None`` a step is over all nodes at once, each computed once: right up
        to millions of edges.
    fanout : int or tuple of int, optional
        With ``batch_size``: most neighbors per node that a step reads (for ``"joint"`` and
        ``"rgcn"``: per relation and direction), drawn anew at every step; all by default. One
        number for every layer that reads neighbors, or one for each, the last layer first; the
        first layer of ``"edgnn"`` reads none, for its sums are known, so two layers take one
        number. Sums are scaled up to be right in the mean. Batch norm takes the statistics of the
        nodes of the step. Validation and predictions leave nothing out.
    **parameters
        All others as of :class:`~edgnn.GraphClassifier`, without ``readout`` and ``include_input``.

    Attributes
    ----------
    classes_, history_, best_epoch_, temperature_
        As of :class:`~edgnn.GraphClassifier`.
    """

    _level: ClassVar[Level] = "node"


@dataclass(kw_only=True, eq=False, repr=False)
class NodeRegressor(NodeParameters, Regressor):
    """Predict real values of nodes with edGNN, with the face of scikit-learn.

    ``y`` is a vector, or a matrix with one column per target; NaN stands for a missing value.

    Parameters
    ----------
    **parameters
        As of :class:`NodeClassifier`, without ``class_weight`` and ``calibrate``.

    Attributes
    ----------
    history_, best_epoch_
        As of :class:`~edgnn.GraphClassifier`.
    """

    _level: ClassVar[Level] = "node"
