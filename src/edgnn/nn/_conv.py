"""Conv: what all layers share, and the facts that each states about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from edgnn._rules import RATE, Rules, check
from edgnn.errors import GraphError, ModelError
from edgnn.graphs import CSR, Cells, ListedBy, Multiplicity, Structure
from edgnn.nn._activation import Activation, activation_of
from edgnn.nn._batch_norm import BatchNorm
from edgnn.nn._edges import Edges, OneHot
from edgnn.nn._noise import Noise, dropout
from edgnn.nn._parameters import Generators, parameter

#: The color refinements that bound what a layer can tell apart, weakest first.
Scheme = Literal["node", "separate", "joint"]

_RULES: Rules = {"dropout": RATE.or_none("never"), "input_dropout": RATE}

#: Weights with the labels, per member, that their leading rows belong to.
LabelRows = list[tuple[Tensor, Tensor]]


@dataclass(frozen=True, eq=False)
class SummedStates:
    """States with their sums over neighbors at hand, which a layer then need not compute.

    Parameters
    ----------
    H, AH : Tensor or CSR
        The states, and their sums over neighbors.
    one_hot : bool
        Whether a row of ``H`` has at most one entry.
    cells : Cells, optional
        The neighbors' labels counted per relation.
    reach : Tensor or CSR, optional
        The states of all columns, where a structure has more of them than rows.
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
        """Return the states of all columns as a tensor, members' blocks along a leading axis."""
        H = self.all
        if isinstance(H, Tensor):
            return H
        rows, columns = H.shape
        blocks, width = H.blocks, columns // H.blocks
        below = replace(H, indices=H.indices % width, shape=(rows, width), blocks=1).to_dense(dtype)
        return below if blocks == 1 else below.view(blocks, rows // blocks, width)


#: States as a layer takes them.
States = Tensor | SummedStates


class Conv(nn.Module, ABC):
    """A layer: sizes, bias, activation, batch norm, dropout, and the facts that others ask for.

    A subclass implements ``_sum``, and :meth:`plain_sum` to be exported. Its facts are class
    attributes; no other code knows layers by name.

    Attributes
    ----------
    scheme : {"node", "separate", "joint"}
        The color refinement that bounds what the layer can tell apart.
    reads_labels : bool
        Whether it looks at edge labels.
    relations : {False, "targets", "sources"}
        How the structures that it takes list edges by label and direction.
    reads_sums : bool
        Whether all that it reads of other nodes are the sums of their states and of edge labels:
        then states may come as :class:`SummedStates`, and constants need no sparse product.
    averages : bool
        Whether it averages over the neighbors of a relation.
    embeds_nodes : bool
        Whether a model embeds node labels before it, also where that is not asked for.
    own_options : tuple of str
        The options of a model (``edge_embedding``, ``bases``, ``cells``) that it takes.
    """

    scheme: ClassVar[Scheme] = "joint"
    reads_labels: ClassVar[bool] = True
    relations: ClassVar[ListedBy] = False
    reads_sums: ClassVar[bool] = False
    averages: bool = False
    embeds_nodes: ClassVar[bool] = False
    own_options: ClassVar[tuple[str, ...]] = ()

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
        multiplicity: Multiplicity | None = "once",
        members: int | None = None,
    ) -> None:
        super().__init__()
        check({"dropout": dropout, "input_dropout": input_dropout}, _RULES, ModelError)
        self.in_dim, self.out_dim = in_dim, out_dim
        self.num_edge_labels, self.edge_features = num_edge_labels, edge_features
        self.activation = activation_of(activation)
        self.dropout, self.input_dropout = dropout, input_dropout
        self.direction, self.multiplicity, self.members = direction, multiplicity, members
        self.bias = parameter(out_dim, members=members) if bias else None
        self.norm = BatchNorm(out_dim, members=members) if batch_norm else None

    @classmethod
    def options_of(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return which of a model's options are the layer's own."""
        return {name: options[name] for name in cls.own_options if name in options}

    @property
    def num_sides(self) -> int:
        """Number of directions in which edges count."""
        return 2 if self.direction == "both" else 1

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights."""
        if self.norm is not None:
            self.norm.reset_parameters()

    def takes_constants(self, cells: Cells | None) -> bool:
        """Return whether the layer, applied to constant states, is a product of constants.

        Parameters
        ----------
        cells : Cells, optional
            The neighbors' labels per relation, where they are counted.
        """
        return self.reads_sums

    def label_rows(self, node: Tensor | None, edge: Tensor) -> LabelRows:
        r"""Return weights that belong to labels, with a choice of labels for their leading rows.

        Parameters
        ----------
        node : Tensor, optional
            Chosen node labels, where the states that enter start with one-hot node labels.
        edge : Tensor
            Chosen edge labels.

        Shapes
        ------
        node (M, L), edge (M, \|Z\|)
        """
        return []

    def forward(
        self,
        x: States,
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
        structure = self._checked_structure(x, structure, edge_type, edge_index)
        state = self.activation(self._biased(x, structure, noise, mask))
        if self.norm is not None:
            state = self.norm(state, mask)
        if self.dropout is None:
            return state
        return dropout(state, self.dropout, self.training, noise, structure.nodes)

    def plain_forward(self, x: Tensor | OneHot, edges: Edges) -> Tensor:
        """Return the next states without dropout, in torch's own operations alone.

        This is the layer as exported programs compute it, and the reference for :meth:`forward`.
        All weights have a leading axis for members.

        Shapes
        ------
        x : (M, N, in_dim) → (M, N, out_dim)
        """
        total = self.plain_sum(x, edges)
        if self.bias is not None:
            total = total + self.bias.unsqueeze(-2)
        state = self.activation(total)
        return state if self.norm is None else self.norm(state)

    def plain_sum(self, x: Tensor | OneHot, edges: Edges) -> Tensor:
        """Return the sum inside the activation, without the bias, in torch's own operations."""
        raise ModelError(
            f"a layer of the type {type(self).__name__} has no exported form: it has to implement "
            "plain_sum(x, edges)"
        )

    def prepare_export(self) -> None:
        """Make this layer, a copy, ready for ``torch.export``, which wants constants as buffers."""

    def _biased(
        self, x: States, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        """Return the sum inside the activation."""
        total = self._sum(x, structure, noise, mask)
        return total if self.bias is None else total + self.bias.unsqueeze(-2)

    @abstractmethod
    def _sum(
        self, x: States, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        """Return the sum inside the activation, without the bias."""

    def _entering(
        self,
        x: States,
        structure: Structure,
        noise: Noise | None,
        dtype: torch.dtype,
    ) -> Tensor:
        """Return the states that enter as a tensor, after input dropout."""
        if isinstance(x, SummedStates):
            x = x.dense(dtype)
        if not (self.training and self.input_dropout > 0):
            return x
        return dropout(x, self.input_dropout, True, noise, structure.nodes, own_rate=False)

    def _checked_structure(
        self,
        x: States,
        structure: Structure | Tensor | None,
        edge_type: Tensor | None,
        edge_index: Tensor | None,
    ) -> Structure:
        """Return the structure to sum over; arguments that do not fit are an error."""
        if (structure is None) == (edge_index is None):
            raise ModelError(
                "a layer takes a structure or an edge_index, one of them: conv(x, structure), "
                "conv(x, edge_index, edge_type)"
            )
        listed = edge_index if structure is None else structure
        if not isinstance(listed, Tensor | Structure):
            raise GraphError(
                f"a layer sums over a Structure or an edge_index, not over {_a(listed)}: "
                "conv(x, Structure.of(graphs)), conv(x, data.edge_index, data.edge_type)"
            )
        self._check_states(x, listed)
        if isinstance(listed, Tensor):
            assert isinstance(x, Tensor)
            listed = self._structure(x, listed, edge_type)
        elif edge_type is not None:
            raise GraphError(
                "a structure has the labels of its edges already: leave out edge_type, or call "
                "conv(x, edge_index, edge_type)"
            )
        self._check(listed)
        return listed

    def _check_states(self, x: States, listed: Structure | Tensor) -> None:
        if isinstance(x, SummedStates) and isinstance(listed, Structure):
            return
        if not isinstance(x, Tensor):
            raise TypeError(
                f"a layer takes the states of all nodes as one tensor, not {_a(x)}: "
                f"conv(x, …) with x of the shape (nodes, {self.in_dim})"
            )
        has_rows = x.dim() >= 2 and x.shape[-1] == self.in_dim
        if not has_rows or not x.is_floating_point():
            raise ModelError(
                f"the layer takes states of {self.in_dim} real numbers per node, "
                f"x is {tuple(x.shape)} of {str(x.dtype)[6:]}"
            )

    def _structure(self, x: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Structure:
        if edge_type is None and self.reads_labels and self.num_edge_labels > 1:
            raise ModelError(
                f"edge_type is missing: the layer has {self.num_edge_labels} edge labels; "
                "call conv(x, edge_index, edge_type)"
            )
        return Structure.from_edge_index(
            edge_index,
            edge_type,
            num_nodes=x.shape[-2],
            num_edge_labels=self.num_edge_labels,
            dtype=torch.float64 if x.dtype == torch.float64 else torch.float32,
            direction=self.direction,
            multiplicity=self.multiplicity or "once",
            relations=self.relations,
        )

    def _check(self, structure: Structure) -> None:
        """Raise where a structure does not fit the layer."""
        if self.direction != structure.direction:
            raise GraphError(
                f"the layer has direction={self.direction!r}, the structure "
                f"{structure.direction!r}: build one of them with the other's direction"
            )
        # layers that list edges by label count them one by one, whatever the lists of neighbors
        reads_neighbors = not self.relations and self.multiplicity is not None
        if reads_neighbors and self.multiplicity != structure.multiplicity:
            raise GraphError(
                f"the layer has multiplicity={self.multiplicity!r}, the structure "
                f"{structure.multiplicity!r}: build one of them with the other's multiplicity"
            )
        if self.relations == "sources" and structure.sources is None:
            raise GraphError(
                "the structure does not list edges by source: build it with "
                'Structure.of(graphs, relations="sources")'
            )
        if self.relations == "targets" and structure.relations is None:
            raise GraphError(
                "the structure does not list neighbors per relation: build it with "
                "Structure.of(graphs, relations=True)"
            )

    def _check_labels(self, structure: Structure) -> None:
        if structure.num_edge_labels != self.num_edge_labels:
            raise GraphError(
                f"the layer was made for {self.num_edge_labels} edge labels, the structure has "
                f"{structure.num_edge_labels}: read the graphs with like=, or make the layer anew"
            )

    def _check_features(self, structure: Structure) -> None:
        features = 0 if structure.F_in is None else structure.F_in.shape[-1]
        if features != self.edge_features:
            raise GraphError(
                f"the layer was made for {self.edge_features} edge features, "
                f"the structure has {features}"
            )

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"{self.in_dim}, {self.out_dim}, num_edge_labels={self.num_edge_labels}, "
            f"direction={self.direction!r}"
        )


def _a(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def own_rows(x: Tensor, structure: Structure) -> Tensor:
    """Return the states of a structure's rows, which come first among those of its columns."""
    rows = structure.neighbors.shape[0] // structure.neighbors.blocks
    return x if x.shape[-2] == rows else x[..., :rows, :]
