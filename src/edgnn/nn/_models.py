"""GraphModel and NodeModel: layers, readout and a linear map, assembled as in the paper."""

from __future__ import annotations

import inspect
from itertools import pairwise
from typing import Any, Literal, TypeVar

import torch
from torch import Generator, Tensor, nn

from edgnn.errors import ModelError
from edgnn.graphs import Graphs
from edgnn.graphs._csr import CSR
from edgnn.nn._conv import EdGNNConv, GNNConv, Known
from edgnn.nn._inputs import Inputs, Matrix
from edgnn.nn._noise import Noise
from edgnn.nn._parameters import Generators, Linear, normal_, parameter
from edgnn.nn._readout import Readout, input_readout, readout
from edgnn.nn._relational_conv import RelationalConv
from edgnn.ops import constant_product

ConvName = Literal["edgnn", "gnn", "joint", "rgcn"]
CONVS = ("edgnn", "gnn", "joint", "rgcn")
_KINDS: dict[str, type[GNNConv] | type[RelationalConv]] = {
    "edgnn": EdGNNConv,
    "gnn": GNNConv,
    "joint": RelationalConv,
    "rgcn": RelationalConv,
}
_Self = TypeVar("_Self", bound="Model")


class Model(nn.Module):
    """What both models share: the input, the layers, the final linear map, and the members' axis."""

    output_mean: Tensor
    output_std: Tensor
    head: Linear

    def __init__(
        self,
        node_labels: int,
        edge_labels: int,
        outputs: int,
        *,
        node_features: int = 0,
        edge_features: int = 0,
        layers: int = 2,
        hidden: int = 64,
        conv: ConvName = "edgnn",
        activation: str = "relu",
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        batch_norm: bool = False,
        bias: bool = False,
        embedding: int | None = None,
        edge_embedding: int | None = None,
        direction: Literal["both", "in"] = "both",
        bases: int | None = None,
        scaled: bool = False,
        members: int | None = None,
        last: int | None = None,
    ) -> None:
        super().__init__()
        if conv not in CONVS:
            raise ModelError(f"conv={conv!r}: choose one of {', '.join(map(repr, CONVS))}")
        for name, number in (("layers", layers), ("hidden", hidden)):
            if number < 1:
                raise ModelError(f"{name}={number}: at least 1 is needed")
        self.members, self.input_dim, self.node_labels = members, node_labels + node_features, node_labels
        self.embedding = None if embedding is None else parameter(self.input_dim, embedding, members=members)
        first = self.input_dim if embedding is None else embedding
        widths = [first] + [hidden] * (layers if last is None else layers - 1) + ([] if last is None else [last])
        options: dict[str, Any] = {
            "edge_features": 0 if conv == "gnn" else edge_features,
            "direction": direction,
            "input_dropout": input_dropout,
            "bias": bias,
            "members": members,
        }
        if conv == "edgnn":
            options["edge_embedding"] = edge_embedding
        elif conv in ("joint", "rgcn"):
            options |= {"aggregate": "sum" if conv == "joint" else "mean", "bases": bases}
        inner = {"activation": activation, "dropout": dropout, "batch_norm": batch_norm}
        self.convs: Any = nn.ModuleList()
        for number, (in_dim, out_dim) in enumerate(pairwise(widths)):
            of_layer = {"activation": "identity", "dropout": None} if last is not None and number == layers - 1 else inner
            self.convs.append(_KINDS[conv](in_dim, out_dim, edge_labels, **options, **of_layer))
        self.scaled = scaled
        if scaled:
            shape = (outputs,) if members is None else (members, outputs)
            self.register_buffer("output_mean", torch.zeros(shape))
            self.register_buffer("output_std", torch.ones(shape))
        self.config: dict[str, Any] = {}

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights, each member's from its own generator."""
        if self.embedding is not None:
            normal_(self.embedding, generators)
        for part in (*self.convs, *([self.head] if hasattr(self, "head") else [])):
            part.reset_parameters(generators)

    def seed(self, seeds: list[int]) -> None:
        """Draw the weights of every member from its own seed; a member's do not depend on the others."""
        self.reset_parameters([Generator().manual_seed(seed) for seed in seeds])

    def with_members(self: _Self, members: int | None) -> _Self:
        """Return a new model of the same shape with another number of members."""
        return type(self)(**self.config, members=members)

    @torch.no_grad()
    def forget(self, node_labels: Tensor, edge_labels: Tensor) -> None:
        r"""Set the weights of labels to zero, so that they count as no label at all.

        Training leaves them there as long as no training graph has the label.

        Parameters
        ----------
        node_labels, edge_labels : Tensor
            True for the labels to forget, per member.

        Shapes
        ------
        node_labels (M, L), edge_labels (M, \|Z\|)
        """
        for weight, forgotten in self._label_rows(node_labels, edge_labels):
            weight.masked_fill_(forgotten.view(*forgotten.shape, *[1] * (weight.dim() - forgotten.dim())), 0.0)

    def _label_rows(self, node: Tensor, edge: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return weights with what to forget among their first rows."""
        rows, first, labels = [], self.convs[0], self.node_labels
        if self.embedding is not None:
            rows.append((self.embedding[..., :labels, :], node))
        elif isinstance(first, RelationalConv):
            rows += [(first.W1[..., :labels, :], node), (first.W.movedim(-2, -3)[..., :labels, :, :], node)]
        elif isinstance(first, GNNConv):
            rows += [(first.W1[..., :labels, :], node), (first.W2[..., :labels, :], node)]
        for conv in self.convs:
            if isinstance(conv, RelationalConv):
                both = edge if conv.num_relations == edge.shape[-1] else torch.cat([edge, edge], dim=-1)
                rows.append((conv.W if conv.coefficients is None else conv.coefficients, both))
            elif isinstance(conv, EdGNNConv):
                weights = [conv.W3, conv.W4] if conv.edge_embedding is None else [conv.edge_embedding]
                rows += [(weight[..., : edge.shape[-1], :], edge) for weight in weights if weight is not None]
        return rows

    def _input(self, inputs: Inputs) -> Tensor | Known:
        if inputs.H0.shape[-1] // _blocks(inputs.H0) != self.input_dim:
            raise ModelError(
                f"the model was made for {self.input_dim} node labels and features, "
                f"the inputs have {inputs.H0.shape[-1] // _blocks(inputs.H0)}"
            )
        if self.embedding is None:
            return Known(inputs.H0, inputs.AH0, one_hot=self.input_dim == self.node_labels)
        return constant_product(inputs.H0, self.embedding)

    def _inputs(self, inputs: Inputs | Graphs) -> Inputs:
        if isinstance(inputs, Inputs):
            return inputs
        some = next(self.parameters())
        relations = isinstance(self.convs[0], RelationalConv)
        dtype = torch.float64 if some.dtype == torch.float64 else torch.float32
        return Inputs.of(inputs, direction=self.convs[0].direction, relations=relations, dtype=dtype, device=some.device)

    def _in_units(self, outputs: Tensor) -> Tensor:
        """Return outputs in the users' units."""
        if not self.scaled:
            return outputs
        return torch.addcmul(self.output_mean.unsqueeze(-2), outputs, self.output_std.unsqueeze(-2))


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
    conv : {"edgnn", "gnn", "joint", "rgcn"}
        Eq. 4; Eq. 3, which ignores edge labels; weights per label and direction with sums (as strong as the ``joint``
        refinement) or means (R-GCN).
    activation : str
        Name of :math:`\sigma`.
    dropout, input_dropout : float
        Of each layer's result; of the states entering each layer.
    batch_norm : bool
        After each activation.
    bias : bool
        Whether layers have one; the paper's have none. The final linear map always does.
    embedding, edge_embedding : int, optional
        Width of learned node and edge embeddings; one-hot without.
    readout : {"sum", "mean", "max"}
        How nodes are put together.
    include_input : bool
        Whether t = 0 is part of the readout; the authors' code leaves it out.
    direction : {"both", "in"}
        Whether outgoing edges count.
    bases : int, optional
        For ``"joint"`` and ``"rgcn"``: number of basis matrices.
    scaled : bool
        Keep a mean and a standard deviation for each output (regression), so that outputs come in the users' units.
    members : int, optional
        So many models at once.

    Shapes
    ------
    (G,) graphs → (G, outputs);  with members, (M, G, outputs)
    """

    def __init__(
        self, node_labels: int, edge_labels: int, outputs: int, *, readout: Readout = "sum", include_input: bool = True,
        members: int | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(node_labels, edge_labels, outputs, members=members, **options)
        if readout not in ("sum", "mean", "max"):
            raise ModelError(f"readout={readout!r}: choose 'sum', 'mean' or 'max'")
        self.readout, self.include_input = readout, include_input
        of_input = self.input_dim if self.embedding is None else self.embedding.shape[-1]
        width = sum(conv.out_dim for conv in self.convs) + of_input * include_input
        self.head = Linear(width, outputs, members=members)
        self.config = _config(
            self, options, node_labels=node_labels, edge_labels=edge_labels, outputs=outputs, readout=readout,
            include_input=include_input,
        )  # fmt: skip
        self.reset_parameters()

    def forward(self, inputs: Inputs | Graphs, noise: Noise | None = None) -> Tensor:
        """Return the outputs of every graph."""
        outputs: Tensor = self.head(*self._readouts(self._inputs(inputs), noise))
        return self._in_units(outputs)

    def embed(self, inputs: Inputs | Graphs) -> Tensor:
        """Return the representation :math:`f_G` of every graph."""
        inputs = self._inputs(inputs)
        parts = [part.to_dense(inputs.dtype) if isinstance(part, CSR) else part for part in self._readouts(inputs, None)]
        return torch.cat([part.expand(*parts[-1].shape[:-1], -1) for part in parts], dim=-1)

    def _readouts(self, inputs: Inputs, noise: Noise | None) -> list[Matrix]:
        x = self._input(inputs)
        parts: list[Matrix] = []
        if self.include_input:
            parts.append(input_readout(inputs, self.readout) if isinstance(x, Known) else readout(x, inputs, self.readout))
        for conv in self.convs:
            x = conv(x, inputs.structure, noise=noise, mask=inputs.mask)
            parts.append(readout(x, inputs, self.readout))
        return parts

    def _label_rows(self, node: Tensor, edge: Tensor) -> list[tuple[Tensor, Tensor]]:
        rows = super()._label_rows(node, edge)
        if self.include_input and self.embedding is None:
            rows.append((self.head.weight[..., : self.node_labels, :], node))
        return rows


class NodeModel(Model):
    """edGNN for nodes: layers, and one linear map of the last states.

    Parameters
    ----------
    head : {"linear", "conv"}
        What gives the outputs: a linear map behind the layers, or the last of the layers itself, as in the authors' code.
    **options
        As of :class:`GraphModel`, but for the readout.

    Shapes
    ------
    (N,) nodes → (N, outputs);  with members, (M, N, outputs)
    """

    def __init__(
        self, node_labels: int, edge_labels: int, outputs: int, *, head: Literal["linear", "conv"] = "linear",
        members: int | None = None, **options: Any,
    ) -> None:  # fmt: skip
        if head not in ("linear", "conv"):
            raise ModelError(f"head={head!r}: choose 'linear' or 'conv'")
        last = outputs if head == "conv" else None
        super().__init__(node_labels, edge_labels, outputs, members=members, last=last, **options)
        if head == "linear":
            self.head = Linear(self.convs[-1].out_dim, outputs, members=members)
        self.config = _config(self, options, node_labels=node_labels, edge_labels=edge_labels, outputs=outputs, head=head)
        self.reset_parameters()

    def forward(self, inputs: Inputs | Graphs, noise: Noise | None = None) -> Tensor:
        """Return the outputs of every node."""
        inputs = self._inputs(inputs)
        x = self._states(inputs, len(self.convs), noise)
        assert isinstance(x, Tensor)
        return self._in_units(self.head(x) if hasattr(self, "head") else x)

    def embed(self, inputs: Inputs | Graphs) -> Tensor:
        """Return the states of every node before the outputs are made of them."""
        inputs = self._inputs(inputs)
        x = self._states(inputs, len(self.convs) - (not hasattr(self, "head")), None)
        if not isinstance(x, Known):
            return x
        states = x.H if isinstance(x.H, Tensor) else x.H.to_dense(inputs.dtype)
        return states if self.members is None else states.expand(self.members, -1, -1)

    def _states(self, inputs: Inputs, layers: int, noise: Noise | None) -> Tensor | Known:
        x = self._input(inputs)
        for conv in self.convs[:layers]:
            x = conv(x, inputs.structure, noise=noise, mask=inputs.mask)
        return x


def _config(model: Model, options: dict[str, Any], **own: Any) -> dict[str, Any]:
    """Return all arguments of a model as plain values, defaults included."""
    defaults = {
        name: argument.default
        for name, argument in inspect.signature(Model.__init__).parameters.items()
        if argument.default is not inspect.Parameter.empty and name not in ("members", "last")
    }
    return own | defaults | options


def _blocks(matrix: Matrix) -> int:
    return matrix.blocks if isinstance(matrix, CSR) else 1
