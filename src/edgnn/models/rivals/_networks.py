"""Rivals that are networks: GIN with edge labels (GINE), and R-GCN, for graphs and for nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgnn.errors import EstimatorError
from edgnn.graphs import Direction, Graphs
from edgnn.models._coder import Coder
from edgnn.models.networks import GraphClassifier, NodeClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class GINGraphClassifier(GraphClassifier):
    r"""Classify graphs with GINE layers (Xu et al. 2019, Hu et al. 2020) and sums of all states.

    .. math::
        f'(v) = \mathrm{ReLU}\Big(\mathrm{MLP}\Big((1 + \epsilon) f(v) + \sum_{(u,v) \in E}
        \mathrm{ReLU}(f(u) + e_{uv})\Big)\Big)

    Common settings, the same for every set: three layers of 64 on learned node embeddings, batch
    norm, Adam with the rate 1e-3, batches of 32, 100 epochs of which the one with the lowest
    validation loss is kept. Messages run along edges; sets of molecules store every bond in both
    directions. ``direction="both"`` also runs against them, with other embeddings of the edge
    labels.

    Parameters
    ----------
    **parameters
        As of :class:`~edgnn.GraphClassifier`, with other defaults.

    Attributes
    ----------
    classes_, history_, best_epoch_, temperature_
        As of :class:`~edgnn.GraphClassifier`.
    """

    conv: str = "gine"
    layers: int = 3
    hidden: int = 64
    bias: bool = True
    batch_norm: bool = True
    direction: Literal["both", "in"] = "in"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    batch_size: int | None = 32
    max_epochs: int = 100


@dataclass(kw_only=True, eq=False, repr=False)
class GINNodeClassifier(NodeClassifier):
    """Classify nodes with the layers of :class:`GINGraphClassifier` and a linear map.

    Common settings, the same for every set: two layers of 64 on learned embeddings of labels (of
    in-degrees, where nodes have none), batch norm, dropout of a half, Adam with the rate 0.01 and
    weight decay 5e-4, 200 epochs of which the one with the lowest validation loss is kept. Messages
    run along edges and against them.

    Parameters
    ----------
    **parameters
        As of :class:`~edgnn.NodeClassifier`, with other defaults.

    Attributes
    ----------
    classes_, history_, best_epoch_, temperature_
        As of :class:`~edgnn.GraphClassifier`.
    """

    conv: str = "gine"
    layers: int = 2
    hidden: int = 64
    bias: bool = True
    batch_norm: bool = True
    direction: Literal["both", "in"] = "both"
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    max_epochs: int = 200


@dataclass(kw_only=True, eq=False, repr=False)
class RGCNGraphClassifier(GraphClassifier):
    r"""Classify graphs with R-GCN (Schlichtkrull et al. 2018) and the settings of the edGNN paper.

    .. math:: f'(v) = \mathrm{ReLU}\Big(f(v) W_1
              + \sum_r \frac{1}{|N_r(v)|} \sum_{u \in N_r(v)} f(u) W_r\Big)

    Three layers of 64 on learned initial node embeddings, :math:`W_r` out of as many basis matrices
    as there are relations, Adam with the rate 1e-4, weight decay 5e-4, batches of 8, 40 epochs. A
    relation is an edge label: messages run along edges, as in the authors' implementation. Sets of
    molecules store every bond in both directions, so inverse relations would only double each;
    ``direction="both"`` adds them, for graphs whose edges run one way.

    Parameters
    ----------
    **parameters
        As of :class:`~edgnn.GraphClassifier`, with other defaults.

    Attributes
    ----------
    classes_, history_, best_epoch_, temperature_
        As of :class:`~edgnn.GraphClassifier`.
    """

    conv: str = "rgcn"
    layers: int = 3
    hidden: int = 64
    embedding: int | None = 64
    bases: int | Literal["relations"] | None = "relations"
    direction: Literal["both", "in"] = "in"
    batch_norm: bool = False
    learning_rate: float = 1e-4
    weight_decay: float = 5e-4
    batch_size: int | None = 8
    max_epochs: int = 40


@dataclass(kw_only=True, eq=False, repr=False)
class RGCNNodeClassifier(NodeClassifier):
    r"""Classify featureless nodes with two R-GCN layers, as the paper of R-GCN does.

    .. math:: f'(v) = \sigma\Big(f(v) W_1
              + \sum_r \frac{1}{|N_r(v)|} \sum_{u \in N_r(v)} f(u) W_r\Big)

    A relation is an edge label in one of both directions. Featureless means that every node is
    known by itself alone: its input is a one-hot vector of its own, so the first layer learns a row
    for every node and for every relation that the node is a neighbor over. Such a model can only
    predict nodes of the graph it was trained on. 16 hidden units, Adam with the rate 0.01, 50
    epochs, no validation set, no dropout, no bias. Weight decay, where set, is on all weights; the
    authors' code penalizes those of the first layer.

    Parameters
    ----------
    node_labels : {"identity", "given"}
        ``"identity"``: each node has a label of its own, its name (of nodes without names: its
        number in the collection), in the place of labels and features. ``"given"``: node labels,
        features and ``degree_labels`` as for
        :class:`~edgnn.NodeClassifier`, and nodes of other graphs can be predicted.
    **parameters
        As of :class:`~edgnn.NodeClassifier`, with other defaults.

    Attributes
    ----------
    classes_, history_, best_epoch_, temperature_
        As of :class:`~edgnn.GraphClassifier`.
    """

    node_labels: Literal["identity", "given"] = "identity"
    conv: str = "rgcn"
    layers: int = 2
    hidden: int = 16
    head: str = "conv"
    bases: int | Literal["relations"] | None = None
    direction: Literal["both", "in"] = "both"
    degree_labels: Direction | Literal["auto"] | None = "auto"
    dropout: float = 0.0
    learning_rate: float = 0.01
    weight_decay: float = 0.0
    max_epochs: int = 50
    validation: float | None = None

    def check_parameters(self) -> None:
        """Raise where a parameter makes no sense."""
        super().check_parameters()
        if self.node_labels == "identity" and self.degree_labels not in (None, "auto"):
            raise EstimatorError(
                f'degree_labels={self.degree_labels!r} and node_labels="identity" both replace '
                'node labels: set degree_labels=None or node_labels="given"'
            )

    def _coder_of(self, graphs: Graphs) -> Coder:
        if self.node_labels == "given":
            return super()._coder_of(graphs)
        return Coder.of(graphs, None, self.multiplicity, identity=True)
