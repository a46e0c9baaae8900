"""ModuleConv: a plain torch module as a layer, one set of its weights per member."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from edgnn.errors import ModelError
from edgnn.graphs import ListedBy, Structure
from edgnn.nn._conv import Conv, States, own_rows
from edgnn.nn._edges import Edges, ListedEdges, OneHot
from edgnn.nn._noise import Noise
from edgnn.nn._parameters import Generators
from edgnn.nn.ops import with_halo


class ModuleConv(Conv):
    r"""A layer whose sum is any ``torch.nn.Module``.

    The module is made by ``module(in_dim, out_dim, num_relations)`` and called as
    ``module(x, edges)``, for one member at a time, with the states of all nodes and their edges:
    what node ``edges.source[i]`` sends to node ``edges.target[i]`` over the relation
    ``edges.relation[i]``, a number of label and direction from 0 to ``num_relations``, which stands
    for labels that are not known. It returns the next states, before bias, activation, batch norm
    and dropout, which the layer adds. A node's state may depend on its own and on those that send
    to it, on no others.

    Every parameter is stacked along a leading axis for members. Buffers that are saved with the
    weights (such as running statistics) are refused: members would share them.

    Parameters
    ----------
    in_dim, out_dim, num_edge_labels : int
        As of every layer.
    module : type
        The class of the module; it may state the attributes of :class:`~edgnn.nn.Conv` that are
        facts: ``scheme`` and ``reads_labels``.
    **options
        As of :class:`~edgnn.nn.GNNConv`.

    Shapes
    ------
    x : (N, in_dim) → (N, out_dim);  with members, (M, N, in_dim) → (M, N, out_dim)
    """

    relations: ListedBy = "sources"  # type: ignore[misc]

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        num_edge_labels: int,
        *,
        module: type[nn.Module],
        **options: Any,
    ) -> None:
        super().__init__(in_dim, out_dim, num_edge_labels, **options)
        self._module_class = module
        self.module = self._drawn(None)
        for name, _ in self.module.named_buffers():
            raise ModelError(
                f"the layer {module.__name__} has buffers ({name}), which members of a fleet "
                "cannot have; use batch_norm=True of the model, or make them parameters"
            )
        self.reset_parameters()

    @property
    def num_relations(self) -> int:
        """Number of edge labels times directions."""
        return self.num_edge_labels * self.num_sides

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights by making new modules; a member's depend on its generator alone."""
        super().reset_parameters(generators)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        fresh = self._drawn(generators)
        with torch.no_grad():
            for own, new in zip(self.module.parameters(), fresh.parameters(), strict=True):
                own.copy_(new)

    def _drawn(self, generators: Generators) -> nn.Module:
        """Return a new module with a member's weights from each generator."""
        drawn_from = [None] * (self.members or 1) if generators is None else generators
        return _stacked([self._new(generator) for generator in drawn_from], self.members)

    def _new(self, generator: torch.Generator | None) -> nn.Module:
        sizes = (self.in_dim, self.out_dim, self.num_relations)
        if generator is None:
            return self._module_class(*sizes)
        # the module draws from torch's own generator, which is set back afterwards
        seed = int(torch.randint(2**62, (), generator=generator))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self._module_class(*sizes)

    def plain_sum(self, x: Tensor | OneHot, edges: Edges) -> Tensor:
        """Return the sum inside the activation, member by member."""
        x = x.dense(next(self.parameters()).dtype) if isinstance(x, OneHot) else x
        states = x.expand(self.members or 1, -1, -1)
        return torch.stack(self._sums(states, [edges] * len(states)))

    def _sum(
        self, x: States, structure: Structure, noise: Noise | None, mask: Tensor | None
    ) -> Tensor:
        some = next(self.parameters(), torch.empty(0))
        x = with_halo(self._entering(x, structure, noise, some.dtype), structure.halo)
        sources = structure.sources
        assert sources is not None
        blocks = ListedEdges.of_blocks(sources, self.num_edge_labels, both=self.direction == "both")
        members = self.members or 1
        edges = blocks if len(blocks) == members else blocks * members
        sums = self._sums(x.expand(members, -1, -1), edges)
        total = sums[0] if self.members is None and x.dim() == 2 else torch.stack(sums)
        return own_rows(total, structure)

    def _sums(self, states: Tensor, edges: Sequence[Any]) -> list[Tensor]:
        """Call the module with the states and edges of every member."""
        calls = zip(self._calls(), states, edges, strict=True)
        return [call(state, listed) for call, state, listed in calls]

    def _calls(self) -> Iterator[Any]:
        """Yield, for every member, a function that calls the module with the member's weights."""
        if self.members is None:
            yield self.module
            return
        weights = dict(self.module.named_parameters())
        for number in range(self.members):
            own = {name: weight[number] for name, weight in weights.items()}

            def call(x: Tensor, edges: Any, own: dict[str, Tensor] = own) -> Any:
                return functional_call(self.module, own, (x, edges))

            yield call


def _stacked(modules: list[nn.Module], members: int | None) -> nn.Module:
    """Return a module whose parameters are those of all modules along a leading axis."""
    if members is None:
        return modules[0]
    stacked = copy.deepcopy(modules[0])
    for name, _ in modules[0].named_parameters():
        owner, _, own = name.rpartition(".")
        parts = [module.get_parameter(name).detach() for module in modules]
        setattr(stacked.get_submodule(owner), own, nn.Parameter(torch.stack(parts)))
    return stacked
