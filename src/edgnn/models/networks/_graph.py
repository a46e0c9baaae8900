"""Estimators for whole graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgnn.models.networks._classifier import Classifier
from edgnn.models.networks._inputs import Level
from edgnn.models.networks._parameters import GraphParameters
from edgnn.models.networks._regressor import Regressor


@dataclass(kw_only=True, eq=False, repr=False)
class GraphClassifier(GraphParameters, Classifier):
    """Classify graphs with edGNN, with the face of scikit-learn.

    ``fit`` takes :class:`~edgnn.Graphs`, or a list of networkx graphs, PyG data, RDKit molecules or
    SMILES strings, and one class per graph (any texts, whole numbers or truth values), or a 0/1
    matrix with one column per label, NaN where one is not known. A prediction never depends on what
    else is predicted with it.

    Parameters
    ----------
    layers, hidden : int
        How many layers, and how wide.
    conv : {"edgnn", "gnn", "joint", "rgcn", "gine"}
        The layer: Eq. 4 of the paper; Eq. 3, blind to edge labels; a weight per edge label and
        direction, with sums or with means; GINE, whose nodes always have learned embeddings.
    activation : str
        ``"relu"``, ``"cosine"``, ``"tanh"`` or another of :data:`edgnn.nn.ACTIVATIONS`.
    dropout, input_dropout : float
        Rate at which entries are dropped of each layer's result, and of the states that enter each
        layer.
    batch_norm : bool
        Normalize after each activation; predictions use running statistics.
    bias : bool
        Whether layers have one.
    embedding, edge_embedding : int, optional
        Width of learned embeddings of node and edge labels; one-hot without.
    readout : {"sum", "mean", "max"}
        How the states of a graph's nodes are put together.
    include_input : bool
        Whether the input labels are part of the readout, as the paper has it.
    direction : {"both", "in"}
        Whether outgoing edges count as well.
    multiplicity : {"once", "per-edge"}
        Whether a neighbor counts once or once per edge.
    bases : int or "relations", optional
        Number of basis matrices of ``"joint"`` and ``"rgcn"``; ``"relations"``: as many as edge
        labels times directions.
    degree_labels : {"in", "out", "both", "auto"}, optional
        Put degrees in the place of node labels; ``"auto"``: in-degrees where nodes have neither
        labels nor features.
    optimizer : {"adam", "adamw"}
        With weight decay in the gradient, or apart from it.
    learning_rate, weight_decay : float
        Of the optimizer.
    batch_size : int, optional
        Graphs per step; all at once without.
    max_epochs : int
        Number of passes over the training part.
    patience : int, optional
        Stop after so many epochs without a lower validation loss. With or without it, the weights
        of the best epoch are kept.
    clip_norm : float, optional
        Largest norm of the gradient.
    class_weight : dict or "balanced", optional
        How much each class counts (1 for those a dict leaves out), or as much as makes all classes
        weigh the same.
    validation : float, optional
        Share of the training items that is held out to judge epochs, stratified by class; all
        members hold out the same ones, and never the last graph that has a label (unless each of
        them is one). Without it, the last epoch's weights are kept. ``fit(…, validation=(X, y))``
        takes its place.
    members : int
        Number of models to train at once; their probabilities are averaged. A member's seed follows
        from ``random_state`` and its number alone.
    calibrate : bool
        Scale the logits by a temperature found on the validation part.
    unknown : {"zero", "silent", "error"}
        What a prediction does with labels that the training part did not contain: let them count
        for nothing and warn once, with their number; the same without a warning; or raise
        :class:`~edgnn.errors.UnknownLabelError`.
    precision : {"float32", "float64", "bfloat16"}
        Of the arithmetic; ``"bfloat16"`` is mixed.
    device : str
        ``"cpu"``, ``"cuda"``, or ``"auto"`` for CUDA where there is one.
    warm_start : bool
        Whether another ``fit`` goes on from the fitted weights.
    random_state : int, RandomState or None
        What everything random follows from.
    verbose : int
        Write a line to stderr every so many epochs; 0 for none.

    Attributes
    ----------
    classes_ : array
        The classes, sorted; of several labels their numbers.
    history_ : list of dict
        ``epoch``, ``train_loss``, ``valid_loss`` (a number per member) and ``seconds`` of every
        epoch.
    best_epoch_ : list of int
        The epoch whose weights each member keeps.
    temperature_ : float
        What logits are divided by; 1 without calibration.

    Examples
    --------
    >>> import edgnn
    >>> data = edgnn.load_dataset("MUTAG")
    >>> classifier = edgnn.GraphClassifier(max_epochs=5, random_state=0).fit(data.graphs, data.targets)
    >>> classifier.predict_proba(data.graphs[:3]).shape
    (3, 2)
    """

    _level: ClassVar[Level] = "graph"


@dataclass(kw_only=True, eq=False, repr=False)
class GraphRegressor(GraphParameters, Regressor):
    """Predict real values of graphs with edGNN, with the face of scikit-learn.

    ``y`` is a vector, or a matrix with one column per target; NaN stands for a missing value. Each
    member standardizes targets on its own training part; predictions are in the units of ``y``.

    Parameters
    ----------
    **parameters
        As of :class:`GraphClassifier`, without ``class_weight`` and ``calibrate``.

    Attributes
    ----------
    history_, best_epoch_
        As of :class:`GraphClassifier`.
    """

    _level: ClassVar[Level] = "graph"
