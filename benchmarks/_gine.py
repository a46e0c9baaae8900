"""The peer of fleets: PyG's GIN with edge labels, trained one model after another as its users do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks._timing import timed
from edgnn.io import to_pyg
from edgnn.io.datasets import Dataset

_Array = np.ndarray[Any, Any]
_AT_ONCE = 2
#: The paper's settings for graph sets.
LEARNING_RATE, WEIGHT_DECAY, BATCH_SIZE, HIDDEN, LAYERS = 1e-4, 5e-4, 8, 64, 2


def gine(
    inputs: int, edge_labels: int, outputs: int, batch_norm: bool = False, hidden: int = HIDDEN
) -> nn.Module:
    """Return PyG's GIN with edge labels: a sum of all layers' states per graph, then one linear map."""
    from torch_geometric.nn import GINEConv, global_add_pool

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [inputs] + [hidden] * LAYERS
            self.convolutions = nn.ModuleList(
                GINEConv(
                    nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden)),
                    edge_dim=edge_labels,
                )
                for width in widths[:-1]
            )
            self.norms = nn.ModuleList(
                nn.BatchNorm1d(hidden) if batch_norm else nn.Identity() for _ in range(LAYERS)
            )
            self.head = nn.Linear(sum(widths), outputs)

        def forward(self, data: Any) -> Tensor:
            states = [data.x]
            for convolution, norm in zip(self.convolutions, self.norms, strict=True):
                states.append(
                    norm(torch.relu(convolution(states[-1], data.edge_index, data.edge_attr)))
                )
            result: Tensor = self.head(
                global_add_pool(torch.cat(states, 1), data.batch, data.num_graphs)
            )
            return result

    return Model()


def train_gine(
    model: nn.Module,
    data: list[Any],
    training: _Array,
    validation: _Array,
    epochs: int,
    device: str,
) -> list[float]:
    """Train one PyG model as its users do and return the validation loss of each epoch."""
    from torch_geometric.loader import DataLoader

    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    batches = DataLoader([data[item] for item in training], BATCH_SIZE, shuffle=True)
    held_out = DataLoader([data[item] for item in validation], len(validation))
    losses = []
    for _ in range(epochs):
        model.train()
        for batch in batches:
            batch = batch.to(device)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch), batch.y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for batch in held_out:
                batch = batch.to(device)
                losses.append(float(nn.functional.cross_entropy(model(batch), batch.y)))
    return losses


def as_pyg(dataset: Dataset) -> list[Any]:
    """Return a graph set as PyG's own data sets come: one-hot labels and the class, nothing else to collate."""
    from torch_geometric.data import Data

    assert dataset.targets is not None
    return [
        Data(
            x=graph.x,
            edge_index=graph.edge_index,
            edge_attr=graph.edge_attr,
            y=torch.tensor([target]),
        )
        for graph, target in zip(
            to_pyg(dataset.graphs, one_hot=True), dataset.targets.tolist(), strict=True
        )
    ]


class GineModels:
    """Models of one set that are trained one after another.

    Parameters
    ----------
    dataset : Dataset
        A graph set.
    splits : sequence
        Training, validation and test positions, per model.
    batch_norm : bool
        Whether they normalize.
    epochs, timed_epochs : int
        How long a training is, and how much of it is really done.
    device : str
        Where.
    """

    name: ClassVar[str] = "PyG GINEConv, one model after another"

    def __init__(
        self,
        dataset: Dataset,
        splits: Sequence[tuple[_Array, _Array, _Array]],
        *,
        batch_norm: bool,
        epochs: int,
        timed_epochs: int,
        device: str,
    ) -> None:
        self.dataset, self.splits, self.batch_norm, self.device = (
            dataset,
            splits,
            batch_norm,
            device,
        )
        self.epochs, self.timed_epochs = epochs, timed_epochs
        self.data, self.times = as_pyg(dataset), list[float]()
        self._train(0, 1)

    @property
    def seconds(self) -> float:
        """The median time of one model, counted for all epochs."""
        return median(self.times)

    def train_some(self) -> None:
        """Train the next two models, and keep their times."""
        for _ in range(_AT_ONCE):
            taken, _ = timed(
                partial(self._train, len(self.times) % len(self.splits), self.timed_epochs),
                self.device,
            )
            self.times.append(taken * self.epochs / self.timed_epochs)

    def _train(self, split: int, epochs: int) -> None:
        graphs = self.dataset.graphs
        model = gine(
            len(graphs.node_vocabulary),
            len(graphs.edge_vocabulary),
            len(self.dataset.class_names),
            self.batch_norm,
        )
        train_gine(model, self.data, *self.splits[split][:2], epochs, self.device)
