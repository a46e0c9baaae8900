"""Conv: what all layers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from edgnn.errors import GraphError, ModelError
from edgnn.graphs import CSR, Cells, ListedBy, Multiplicity, Structure
from edgnn.nn._activation import Activation, activation_of
from edgnn.nn._batch_norm import BatchNorm
from edgnn.nn._noise import Noise, dropout
from edgnn.nn._parameters import Generators, parameter


@dataclass(frozen=True, eq=False)
class Known:
    """States that never change, with their sums over neighbors: the input of the first layer.

    ``one_hot`` says that a row has at most one entry; ``cells`` are the neighbors' entries per
    relation, where counted. ``reach`` has the states of all columns, where a structure has more of
    them than rows.
    """

    H: Tensor | CSR
    AH: Tensor | CSR
    one_hot: bool = True
    cells: Cells | None = None
    reach: Tensor | CSR | None = None

    @property
    def all(self) -> Tensor | CSR:
        """The states of all columns."""
        return self.H if self.reach is None else self.reach

    def dense(self, dtype: torch.dtype) -> Tensor:
        """Return the states of all columns as a tensor, with the blocks of members along a leading axis."""
        H = self.all
        if isinstance(H, Tensor):
            return H
        rows, columns = H.shape
        blocks, width = H.blocks, columns // H.blocks
        below = replace(H, indices=H.indices % width, shape=(rows, width), blocks=1).to_dense(dtype)
        return below if blocks == 1 else below.view(blocks, rows // blocks, width)


class Conv(nn.Module, ABC):
    """What all layers share: sizes, bias, activation, batch norm, dropout, and the call forms.

    ``relations`` says how the structures that a layer takes list edges by label and direction,
    ``reads_labels`` whether the layer looks at edge labels.
    """

    relations: ClassVar[ListedBy] = False
    reads_labels: ClassVar[bool] = True

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        num_edge_labels: int,
        *,
        edge_features: int = 0,
        activation: str | Activation = "relu",
        dropout: float | None = 0.0,
        input_dropout: float = 0.0,
        batch_norm: bool = False,
        bias: bool = False,
        direction: Literal["both", "in"] = "both",
        multiplicity: Multiplicity = "once",
        members: int | None = None,
    ) -> None:
        super().__init__()
        for name, rate in (("dropout", dropout), ("input_dropout", input_dropout)):
            if rate is not None and not 0 <= rate < 1:
                raise ModelError(f"{name}={rate}: a rate is at least 0 and below 1")
        self.in_dim, self.out_dim, self.num_edge_labels, self.edge_features = (
            in_dim,
            out_dim,
            num_edge_labels,
            edge_features,
        )
        self.activation = activation_of(activation)
        self.dropout, self.input_dropout = dropout, input_dropout
        self.direction, self.multiplicity, self.members = direction, multiplicity, members
        self.bias = parameter(out_dim, members=members) if bias else None
        self.norm = BatchNorm(out_dim, members=members) if batch_norm else None

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights."""
        if self.norm is not None:
            self.norm.reset_parameters()

    def forward(
        self,
        x: Tensor | Known,
        structure: Structure | Tensor | None = None,
        edge_type: Tensor | None = None,
        *,
        edge_index: Tensor | None = None,
        noise: Noise | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Return the next states.

        Parameters
        ----------
        x : Tensor
            States, one row per node (per column of a structure that is a part).
        structure : Structure, or Tensor
            What the layer sums over; or PyG's ``edge_index``, from which the structure is then
            built at every call.
        edge_type : Tensor, optional
            With ``edge_index``: label number of each edge; may be left out where there is one label
            only.
        edge_index : Tensor, optional
            In the place of ``structure``, by PyG's name.
        noise : Noise, optional
            Where members' dropout comes from; torch's own without it.
        mask : Tensor, optional
            Zero for rows that batch norm must leave out.
        """
        if (structure is None) == (edge_index is None):
            raise ModelError(
                "a layer takes a structure or an edge_index, one of them: conv(x, structure), conv(x, edge_index, edge_type)"
            )
        structure = edge_index if structure is None else structure
        if isinstance(x, Tensor) and (
            x.dim() < 2 or x.shape[-1] != self.in_dim or not x.is_floating_point()
        ):
            raise ModelError(
                f"the layer takes states of {self.in_dim} real numbers per node, x is {tuple(x.shape)} of {str(x.dtype)[6:]}"
            )
        if isinstance(structure, Tensor):
            assert isinstance(x, Tensor)
            structure = self._structure(x, structure, edge_type)
        assert structure is not None
        self._check(structure)
        state = self.activation(self._biased(x, structure, noise, mask))
        if self.norm is not None:
            state = self.norm(state, mask)
        return (
            state
            if self.dropout is None
            else dropout(state, self.dropout, self.training, noise, structure.nodes)
        )

    def _biased(
        self, x: Tensor | Known, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        """Return the sum inside the activation."""
        total = self._sum(x, structure, noise, mask)
        return total if self.bias is None else total + self.bias.unsqueeze(-2)

    @abstractmethod
    def _sum(
        self, x: Tensor | Known, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        """Return the sum inside the activation, but for the bias."""

    def _structure(self, x: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Structure:
        if edge_type is None and self.reads_labels and self.num_edge_labels > 1:
            raise ModelError(
                f"edge_type is missing: the layer has {self.num_edge_labels} edge labels; call conv(x, edge_index, edge_type)"
            )
        options: dict[str, Any] = {
            "direction": self.direction,
            "multiplicity": self.multiplicity,
            "relations": self.relations,
        }
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        return Structure.from_edge_index(
            edge_index,
            edge_type,
            num_nodes=x.shape[-2],
            num_edge_labels=self.num_edge_labels,
            dtype=dtype,
            **options,
        )

    def _check(self, structure: Structure) -> None:
        if self.direction != structure.direction:
            raise GraphError(
                f"the layer has direction={self.direction!r}, the structure {structure.direction!r}: "
                "build one of them with the other's direction"
            )

    def _check_features(self, structure: Structure) -> None:
        features = 0 if structure.F_in is None else structure.F_in.shape[-1]
        if features != self.edge_features:
            raise GraphError(
                f"the layer was made for {self.edge_features} edge features, the structure has {features}"
            )

    def extra_repr(self) -> str:
        """Say the sizes."""
        return f"{self.in_dim}, {self.out_dim}, num_edge_labels={self.num_edge_labels}, direction={self.direction!r}"


def own_rows(x: Tensor, structure: Structure) -> Tensor:
    """Return the states of the nodes that a structure has rows for; they come first among those of its columns."""
    rows = structure.neighbors.shape[0] // structure.neighbors.blocks
    return x if x.shape[-2] == rows else x[..., :rows, :]
