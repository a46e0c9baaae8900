"""GIN with edge labels (GINE; Xu et al. 2019, Hu et al. 2020): today's common choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgnn.models.networks import GraphClassifier, NodeClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class GINGraphClassifier(GraphClassifier):
    r"""Classify graphs with GINE layers and sums over the states of all of them.

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
