"""GraphModel and NodeModel: layers, readout and a linear map, assembled as in the paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor

from edgnn._rules import check
from edgnn.errors import ModelError
from edgnn.graphs import CSR, Graphs
from edgnn.nn._conv import LabelRows, SummedStates
from edgnn.nn._inputs import Inputs, Matrix
from edgnn.nn._model import RULES, Model, full_config
from edgnn.nn._noise import Noise
from edgnn.nn._parameters import Linear
from edgnn.nn.ops import sparse_product

Readout = Literal["sum", "mean", "max"]


class GraphModel(Model):
    r"""edGNN for graphs: layers, a readout of every layer, one linear map.

    .. math:: f_G = \mathrm{Concat}_{t = 0..T} \sum_{v \in V_G} f^{(t)}(v)

    The defaults are the paper's: two layers of 64, ReLU, sums over t = 0..T.

    Parameters
    ----------
    node_labels, edge_labels : int
        Number of known labels: ``len(graphs.node_vocabulary)``.
    outputs : int
        Number of classes or values.
    node_features, edge_features : int
        Number of continuous features.
    layers, hidden : int
        How many layers, and how wide.
    conv : {"edgnn", "gnn", "joint", "rgcn", "gine"}, or type
        Eq. 4; Eq. 3, which ignores edge labels; weights per label and direction with sums (as
        strong as the ``joint`` refinement) or means (R-GCN); GINE; another name of
        :data:`edgnn.registry.LAYERS`. Or a class: a :class:`Conv`, or any torch module with the
        call of :class:`ModuleConv`.
    activation : str
        Name of :math:`\sigma`.
    dropout, input_dropout : float
        Of each layer's result; of the states entering each layer.
    batch_norm : bool
        After each activation.
    bias : bool
        Whether layers have one; the paper's have none. The final linear map always does.
    embedding, edge_embedding : int, optional
        Width of learned node and edge embeddings; one-hot without, but for ``"gine"``, whose nodes
        are embedded ``hidden`` wide.
    readout : {"sum", "mean", "max"}
        How nodes are put together.
    include_input : bool
        Whether t = 0 is part of the readout; the authors' code leaves it out.
    direction : {"both", "in"}
        Whether outgoing edges count.
    bases : int, optional
        For ``"joint"`` and ``"rgcn"``: number of basis matrices.
    cells : sequence of int, optional
        For ``"joint"`` and ``"rgcn"`` on one-hot labels: the pairs of relation r and node label l
        that the first layer has weights for, as r · node_labels + l; see
        :class:`~edgnn.nn.RelationalConv`.
    scaled : bool
        Keep a mean and a standard deviation for each output (regression), so that outputs come in
        the users' units.
    members : int, optional
        So many models at once.

    Shapes
    ------
    (G,) graphs → (G, outputs);  with members, (M, G, outputs)
    """

    def __init__(
        self,
        node_labels: int,
        edge_labels: int,
        outputs: int,
        *,
        readout: Readout = "sum",
        include_input: bool = True,
        members: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(node_labels, edge_labels, outputs, members=members, **options)
        check({"readout": readout}, RULES, ModelError)
        self.readout, self.include_input = readout, include_input
        of_input = self.input_dim if self.embedding is None else self.embedding.shape[-1]
        width = sum(conv.out_dim for conv in self.convs) + of_input * include_input
        self.head = Linear(width, outputs, members=members)
        self.config = full_config(
            options,
            node_labels=node_labels,
            edge_labels=edge_labels,
            outputs=outputs,
            readout=readout,
            include_input=include_input,
        )
        self.reset_parameters()

    def forward(self, inputs: Inputs | Graphs, noise: Noise | None = None) -> Tensor:
        """Return the outputs of every graph."""
        outputs: Tensor = self.head(*self._readouts(self._inputs(inputs), noise))
        return self.in_units(outputs)

    def embed(self, inputs: Inputs | Graphs) -> Tensor:
        """Return the representation :math:`f_G` of every graph."""
        inputs = self._inputs(inputs)
        parts = [
            part.to_dense(inputs.dtype) if isinstance(part, CSR) else part
            for part in self._readouts(inputs, None)
        ]
        return torch.cat([part.expand(*parts[-1].shape[:-1], -1) for part in parts], dim=-1)

    def _readouts(self, inputs: Inputs, noise: Noise | None) -> list[Matrix]:
        x = self.entering(inputs)
        parts: list[Matrix] = []
        if self.include_input:
            if isinstance(x, SummedStates):
                parts.append(input_readout(inputs, self.readout))
            else:
                parts.append(readout(x, inputs, self.readout))
        for conv in self.convs:
            x = conv(x, inputs.structure, noise=noise, mask=inputs.mask)
            parts.append(readout(x, inputs, self.readout))
        return parts

    def _label_rows(self, node: Tensor, edge: Tensor) -> LabelRows:
        rows = super()._label_rows(node, edge)
        if self.include_input and self.embedding is None:
            rows.append((self.head.weight[..., : self.node_labels, :], node))
        return rows


class NodeModel(Model):
    """edGNN for nodes: layers, and one linear map of the last states.

    Parameters
    ----------
    head : {"linear", "conv"}
        What gives the outputs: a linear map behind the layers, or the last of the layers itself, as
        in the authors' code.
    **options
        As of :class:`GraphModel`, but for the readout.

    Shapes
    ------
    (N,) nodes → (N, outputs);  with members, (M, N, outputs)
    """

    def __init__(
        self,
        node_labels: int,
        edge_labels: int,
        outputs: int,
        *,
        head: Literal["linear", "conv"] = "linear",
        members: int | None = None,
        **options: Any,
    ) -> None:
        check({"head": head}, RULES, ModelError)
        last = outputs if head == "conv" else None
        super().__init__(node_labels, edge_labels, outputs, members=members, last=last, **options)
        if head == "linear":
            self.head = Linear(self.convs[-1].out_dim, outputs, members=members)
        self.config = full_config(
            options,
            node_labels=node_labels,
            edge_labels=edge_labels,
            outputs=outputs,
            head=head,
        )
        self.reset_parameters()

    def forward(self, inputs: Inputs | Graphs, noise: Noise | None = None) -> Tensor:
        """Return the outputs of every node."""
        inputs = self._inputs(inputs)
        x = self._states(inputs, len(self.convs), noise)
        assert isinstance(x, Tensor)
        return self.in_units(self.head(x) if hasattr(self, "head") else x)

    def embed(self, inputs: Inputs | Graphs) -> Tensor:
        """Return the states of every node before the outputs are made of them."""
        inputs = self._inputs(inputs)
        x = self._states(inputs, len(self.convs) - (not hasattr(self, "head")), None)
        if not isinstance(x, SummedStates):
            return x
        states = x.H if isinstance(x.H, Tensor) else x.H.to_dense(inputs.dtype)
        return states if self.members is None else states.expand(self.members, -1, -1)

    def _states(self, inputs: Inputs, layers: int, noise: Noise | None) -> Tensor | SummedStates:
        x = self.entering(inputs)
        for number, conv in enumerate(self.convs[:layers]):
            x = conv(x, inputs.layer(number), noise=noise, mask=inputs.mask)
        return x


def readout(x: Tensor, inputs: Inputs, kind: Readout = "sum") -> Tensor:
    """Return the sum, mean or maximum of the states of each graph's nodes.

    Zeros for a graph without nodes.

    Shapes
    ------
    x : (…, N, d) → (…, G, d)
    """
    if kind == "max":
        return _maximum(x, inputs)
    total = sparse_product(inputs.pool, x, inputs.pool_t)
    return total if kind == "sum" else total / inputs.sizes.clamp(min=1).unsqueeze(-1)


def input_readout(inputs: Inputs, kind: Readout = "sum") -> Matrix:
    """Return the readout of the inputs themselves (t = 0)."""
    if kind == "sum":
        return inputs.graph_H0
    if isinstance(inputs.H0, Tensor):
        return readout(inputs.H0, inputs, kind)
    sums = inputs.graph_H0
    if kind == "max" or not isinstance(sums, CSR) or sums.values is None:
        raise ModelError(
            f"readout={kind!r} of so many one-hot labels is not offered: give the model an "
            "embedding, or include_input=False"
        )
    fraction = 1 / inputs.sizes.clamp(min=1).to(sums.values.dtype)
    of_entries = torch.repeat_interleave(fraction.flatten(), sums.indptr.diff())
    return replace(sums, values=sums.values * of_entries)


def _maximum(x: Tensor, inputs: Inputs) -> Tensor:
    graphs = inputs.sizes.shape[-1]
    owner = _owner(inputs, graphs).unsqueeze(-1).expand(x.shape)
    result = x.new_zeros(*x.shape[:-2], graphs + 1, x.shape[-1])
    return result.scatter_reduce(-2, owner, x, "amax", include_self=False)[..., :-1, :]


def _owner(inputs: Inputs, graphs: int) -> Tensor:
    """Return the graph of every node, within its member's block; padding is one graph more."""
    pool_t = inputs.pool_t
    there = pool_t.indptr.diff() > 0
    owner = torch.full((pool_t.shape[0],), graphs, device=pool_t.indptr.device)
    if pool_t.nnz:
        listed = pool_t.indices[pool_t.indptr[:-1].clamp(max=pool_t.nnz - 1)].long() % graphs
        owner = torch.where(there, listed, owner)
    return owner if inputs.mask is None else owner.view(inputs.mask.shape)
