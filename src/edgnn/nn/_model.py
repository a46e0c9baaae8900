"""What both models share: the input, the layers, and the members' axis."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, Self

import torch
from torch import Generator, Tensor, nn

from edgnn._rules import Rules, check, one_of, whole
from edgnn.errors import ModelError
from edgnn.graphs import CSR, Graphs
from edgnn.nn._conv import LabelRows, SummedStates
from edgnn.nn._inputs import Inputs, Matrix
from edgnn.nn._large_inputs import LargeInputs
from edgnn.nn._layer_kind import ConvLike, LayerKind
from edgnn.nn._parameters import Generators, Linear, glorot_, parameter
from edgnn.nn.ops import constant_product

RULES: Rules = {
    "layers": whole(1),
    "hidden": whole(1),
    "readout": one_of("sum", "mean", "max"),
    "head": one_of("linear", "conv"),
}


class Model(nn.Module):
    """What both models share: the input, the layers, the final linear map, the members' axis."""

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
        conv: ConvLike = "edgnn",
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
        check({"layers": layers, "hidden": hidden}, RULES, ModelError)
        kind = LayerKind.of(conv)
        if kind.cls.embeds_nodes and embedding is None:
            embedding = hidden
        if cells is not None:
            _check_cells(kind, embedding)
        self.members, self.node_labels = members, node_labels
        self.input_dim = node_labels + node_features
        self.embedding = None
        widths = [self.input_dim, *[hidden] * layers]
        if embedding is not None:
            self.embedding = parameter(self.input_dim, embedding, members=members)
            widths[0] = embedding
        options: dict[str, Any] = {
            **kind.options,
            **kind.cls.options_of({"edge_embedding": edge_embedding, "bases": bases}),
            "edge_features": edge_features if kind.reads_labels else 0,
            "direction": direction,
            "multiplicity": None,  # the inputs decide
            "input_dropout": input_dropout,
            "bias": bias,
            "members": members,
        }
        inner = {"activation": activation, "dropout": dropout, "batch_norm": batch_norm}
        of_layers = [options | inner for _ in range(layers)]
        if cells is not None:
            of_layers[0]["cells"] = cells
        if last is not None:  # the last layer gives the outputs themselves
            widths[-1] = last
            of_layers[-1] |= {"activation": "identity", "dropout": None, "batch_norm": False}
        sizes = zip(pairwise(widths), of_layers, strict=True)
        self.convs: Any = nn.ModuleList(
            kind.cls(in_dim, out_dim, edge_labels, **of_layer)
            for (in_dim, out_dim), of_layer in sizes
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
        for conv in self.convs:
            conv.reset_parameters(generators)
        if hasattr(self, "head"):
            self.head.reset_parameters(generators)

    def seed(self, seeds: list[int]) -> None:
        """Draw the weights of every member from its own seed, whatever the other members."""
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
            behind = [1] * (weight.dim() - forgotten.dim())
            weight.masked_fill_(forgotten.view(*forgotten.shape, *behind), 0.0)

    def _label_rows(self, node: Tensor, edge: Tensor) -> LabelRows:
        """Return weights with what to forget among their first rows."""
        rows: LabelRows = []
        labels: Tensor | None = node
        if self.embedding is not None:
            rows.append((self.embedding[..., : self.node_labels, :], node))
            labels = None
        for conv in self.convs:
            rows += conv.label_rows(labels, edge)
            labels = None  # what enters later layers are states
        return rows

    def entering(self, inputs: Inputs) -> Tensor | SummedStates:
        """Return the states before the first layer."""
        width = inputs.H0.shape[-1] // _blocks(inputs.H0)
        if width != self.input_dim:
            raise ModelError(
                f"the model was made for {self.input_dim} node labels and features, "
                f"the inputs have {width}"
            )
        if self.embedding is None:
            one_hot = self.input_dim == self.node_labels
            return SummedStates(inputs.H0, inputs.AH0, one_hot, inputs.cells, inputs.reach)
        return constant_product(inputs.H0 if inputs.reach is None else inputs.reach, self.embedding)

    def constant_first(self, inputs: Inputs | LargeInputs) -> bool:
        """Return whether the first layer is a product of constants: it reads no neighbors then."""
        first = self.convs[0]
        if self.embedding is not None or first.input_dropout:
            return False
        constant: bool = first.takes_constants(inputs.cells)
        return constant

    def _inputs(self, inputs: Inputs | Graphs) -> Inputs:
        if isinstance(inputs, Inputs):
            return inputs
        if isinstance(inputs, LargeInputs):
            raise ModelError(
                "LargeInputs are read some nodes at a time: call "
                "edgnn.training.outputs(model, inputs), or count everything with Inputs.of"
            )
        if not isinstance(inputs, Graphs):
            raise TypeError(
                f"a model takes Graphs or Inputs, not a {type(inputs).__name__}: put several "
                "graphs together with Graphs.concat"
            )
        some = next(self.parameters())
        return Inputs.of(
            inputs,
            dtype=torch.float64 if some.dtype == torch.float64 else torch.float32,
            device=some.device,
            **input_options(self.config),
        )

    def in_units(self, outputs: Tensor) -> Tensor:
        """Return outputs in the users' units."""
        if not self.scaled:
            return outputs
        return torch.addcmul(self.output_mean.unsqueeze(-2), outputs, self.output_std.unsqueeze(-2))


def _check_cells(kind: LayerKind, embedding: int | None) -> None:
    if "cells" not in kind.cls.own_options or embedding is not None:
        raise ModelError(
            "cells are weights of the first layer of 'joint' and 'rgcn' on one-hot labels: "
            "leave them out here"
        )


def input_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of :meth:`Inputs.of` that a model with this configuration needs."""
    return {
        "direction": config["direction"],
        "relations": LayerKind.of(config["conv"]).relations,
        "cells": config.get("cells"),
    }


def full_config(options: dict[str, Any], **own: Any) -> dict[str, Any]:
    """Return all arguments of a model as plain values, defaults included."""
    defaults = {
        name: argument.default
        for name, argument in inspect.signature(Model.__init__).parameters.items()
        if argument.default is not inspect.Parameter.empty and name not in ("members", "last")
    }
    options = options | {"conv": LayerKind.of(options.get("conv", defaults["conv"])).name}
    if options.get("cells") is not None:
        options = options | {"cells": [int(cell) for cell in options["cells"]]}
    return own | defaults | options


def _blocks(matrix: Matrix) -> int:
    return matrix.blocks if isinstance(matrix, CSR) else 1
