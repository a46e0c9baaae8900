"""What both models share: the input, the layers, and the members' axis."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, Self

import torch
from torch import Generator, Tensor, nn

from edgnn._words import suggestion
from edgnn.errors import ModelError
from edgnn.graphs import CSR, Graphs
from edgnn.nn._conv import Conv, Known
from edgnn.nn._gine_conv import GINEConv
from edgnn.nn._gnn_conv import EdGNNConv, GNNConv
from edgnn.nn._inputs import Inputs, Matrix
from edgnn.nn._large_inputs import LargeInputs
from edgnn.nn._parameters import Generators, Linear, glorot_, parameter
from edgnn.nn._relational_conv import RelationalConv
from edgnn.nn.ops import constant_product

ConvName = Literal["edgnn", "gnn", "joint", "rgcn", "gine"]
CONVS = ("edgnn", "gnn", "joint", "rgcn", "gine")
_KINDS: dict[str, type[Conv]] = {
    "edgnn": EdGNNConv,
    "gnn": GNNConv,
    "joint": RelationalConv,
    "rgcn": RelationalConv,
    "gine": GINEConv,
}


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
        cells: Sequence[int] | None = None,
        scaled: bool = False,
        members: int | None = None,
        last: int | None = None,
    ) -> None:
        super().__init__()
        if conv not in CONVS:
            raise ModelError(
                f"conv={conv!r}: choose one of {', '.join(map(repr, CONVS))}{suggestion(conv, CONVS)}"
            )
        for name, number in (("layers", layers), ("hidden", hidden)):
            if number < 1:
                raise ModelError(f"{name}={number}: at least 1 is needed")
        if conv == "gine" and embedding is None:
            embedding = hidden
        if cells is not None and (conv not in ("joint", "rgcn") or embedding is not None):
            raise ModelError(
                "cells are weights of the first layer of 'joint' and 'rgcn' on one-hot labels: leave them out here"
            )
        self.members, self.input_dim, self.node_labels = (
            members,
            node_labels + node_features,
            node_labels,
        )
        self.embedding = (
            None if embedding is None else parameter(self.input_dim, embedding, members=members)
        )
        first = self.input_dim if embedding is None else embedding
        widths = (
            [first]
            + [hidden] * (layers if last is None else layers - 1)
            + ([] if last is None else [last])
        )
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
            of_layer = (
                {"activation": "identity", "dropout": None}
                if last is not None and number == layers - 1
                else inner
            )
            own: dict[str, Any] = {} if number or cells is None else {"cells": cells}
            self.convs.append(
                _KINDS[conv](in_dim, out_dim, edge_labels, **options, **of_layer, **own)
            )
        self.scaled = scaled
        if scaled:
            shape = (outputs,) if members is None else (members, outputs)
            self.register_buffer("output_mean", torch.zeros(shape))
            self.register_buffer("output_std", torch.ones(shape))
        self.config: dict[str, Any] = {}

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights, each member's from its own generator."""
        if self.embedding is not None:
            glorot_(self.embedding, generators)
        for part in (*self.convs, *([self.head] if hasattr(self, "head") else [])):
            part.reset_parameters(generators)

    def seed(self, seeds: list[int]) -> None:
        """Draw the weights of every member from its own seed; a member's do not depend on the others."""
        self.reset_parameters([Generator().manual_seed(seed) for seed in seeds])

    def with_members(self, members: int | None) -> Self:
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
            weight.masked_fill_(
                forgotten.view(*forgotten.shape, *[1] * (weight.dim() - forgotten.dim())), 0.0
            )

    def _label_rows(self, node: Tensor, edge: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return weights with what to forget among their first rows."""
        rows, first, labels = [], self.convs[0], self.node_labels
        both = edge if first.direction == "in" else torch.cat([edge, edge], dim=-1)
        if self.embedding is not None:
            rows.append((self.embedding[..., :labels, :], node))
        elif isinstance(first, RelationalConv):
            rows.append((first.W1[..., :labels, :], node))
            of_label, cells = first.W.movedim(-2, -3), first.cells
            rows.append(
                (of_label[..., :labels, :, :], node)
                if cells is None
                else (first.W, node[..., cells % labels])
            )
        elif isinstance(first, GNNConv):
            rows += [(first.W1[..., :labels, :], node), (first.W2[..., :labels, :], node)]
        for conv in self.convs:
            if isinstance(conv, RelationalConv):
                of_relation = both if conv.cells is None else both[..., conv.cells // labels]
                rows.append(
                    (conv.W if conv.coefficients is None else conv.coefficients, of_relation)
                )
            elif isinstance(conv, GINEConv):
                rows.append((conv.E, both))
            elif isinstance(conv, EdGNNConv):
                weights = (
                    [conv.W3, conv.W4] if conv.edge_embedding is None else [conv.edge_embedding]
                )
                rows += [
                    (weight[..., : edge.shape[-1], :], edge)
                    for weight in weights
                    if weight is not None
                ]
        return rows

    def _input(self, inputs: Inputs) -> Tensor | Known:
        if inputs.H0.shape[-1] // _blocks(inputs.H0) != self.input_dim:
            raise ModelError(
                f"the model was made for {self.input_dim} node labels and features, "
                f"the inputs have {inputs.H0.shape[-1] // _blocks(inputs.H0)}"
            )
        if self.embedding is None:
            one_hot = self.input_dim == self.node_labels
            return Known(inputs.H0, inputs.AH0, one_hot, inputs.cells, inputs.reach)
        return constant_product(inputs.H0 if inputs.reach is None else inputs.reach, self.embedding)

    def constant_first(self, inputs: Inputs | LargeInputs) -> bool:
        """Return whether the first layer is a product of constants, and so reads no states of neighbors."""
        first = self.convs[0]
        if self.embedding is not None or first.input_dropout:
            return False
        return isinstance(first, GNNConv) or (
            isinstance(first, RelationalConv) and inputs.cells is not None
        )

    def _inputs(self, inputs: Inputs | Graphs) -> Inputs:
        if isinstance(inputs, Inputs):
            return inputs
        if isinstance(inputs, LargeInputs):
            raise ModelError(
                "LargeInputs are read some nodes at a time: call edgnn.training.outputs(model, inputs), "
                "or count everything with Inputs.of"
            )
        some = next(self.parameters())
        return Inputs.of(
            inputs,
            dtype=torch.float64 if some.dtype == torch.float64 else torch.float32,
            device=some.device,
            **input_options(self.config),
        )

    def _in_units(self, outputs: Tensor) -> Tensor:
        """Return outputs in the users' units."""
        if not self.scaled:
            return outputs
        return torch.addcmul(self.output_mean.unsqueeze(-2), outputs, self.output_std.unsqueeze(-2))


def input_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of :meth:`Inputs.of` that a model with this configuration needs."""
    return {
        "direction": config["direction"],
        "relations": _KINDS[config["conv"]].relations,
        "cells": config.get("cells"),
    }


def full_config(model: Model, options: dict[str, Any], **own: Any) -> dict[str, Any]:
    """Return all arguments of a model as plain values, defaults included."""
    defaults = {
        name: argument.default
        for name, argument in inspect.signature(Model.__init__).parameters.items()
        if argument.default is not inspect.Parameter.empty and name not in ("members", "last")
    }
    if options.get("cells") is not None:
        options = options | {"cells": [int(cell) for cell in options["cells"]]}
    return own | defaults | options


def _blocks(matrix: Matrix) -> int:
    return matrix.blocks if isinstance(matrix, CSR) else 1
