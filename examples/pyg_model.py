"""Your own PyG model with an edGNN layer inside: batches of PyG's DataLoader, trained for a few epochs.

EdGNNConv takes (x, edge_index, edge_type) as PyG's layers do. It finds out about neighbors and edge labels at every call; two
layers of one batch share that work where the structure is built once, as here.
"""

import torch
from torch import nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import global_add_pool

import edgnn

EPOCHS = 8


class MyModel(nn.Module):
    """A PyG-style model: an embedding of atoms, two edGNN layers, a sum over the nodes of each graph, a small network."""

    def __init__(self, node_labels: int, edge_labels: int, classes: int, hidden: int = 32) -> None:
        super().__init__()
        self.edge_labels = edge_labels
        self.atoms = nn.Embedding(node_labels, hidden)
        self.conv1 = edgnn.nn.EdGNNConv(hidden, hidden, edge_labels)
        self.conv2 = edgnn.nn.EdGNNConv(hidden, hidden, edge_labels)
        self.head = nn.Sequential(
            nn.BatchNorm1d(hidden), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
        )

    def forward(self, data: Data) -> torch.Tensor:
        x = self.atoms(data.x)
        structure = edgnn.Structure.from_edge_index(
            data.edge_index,
            data.edge_type,
            num_nodes=data.num_nodes,
            num_edge_labels=self.edge_labels,
        )
        x = self.conv1(x, structure)  # the same as self.conv1(x, data.edge_index, data.edge_type)
        x = self.conv2(x, structure)
        return self.head(global_add_pool(x, data.batch, data.num_graphs))


def molecules() -> tuple[list[Data], edgnn.Graphs]:
    """MUTAG as PyG has it: an atom number per node, a bond type per edge."""
    mutag = edgnn.load_dataset("MUTAG")
    found = []
    for graph, target in zip(mutag.graphs, mutag.targets, strict=True):
        ends = torch.stack([graph.edge_source, graph.edge_target])
        found.append(
            Data(
                x=graph.node_label,
                edge_index=ends,
                edge_type=graph.edge_label,
                y=torch.tensor([int(target)]),
            )
        )
    return found, mutag.graphs


def main() -> None:
    torch.manual_seed(0)
    data, graphs = molecules()
    order = torch.randperm(len(data)).tolist()
    train, test = [data[number] for number in order[38:]], [data[number] for number in order[:38]]
    model = MyModel(len(graphs.node_vocabulary), len(graphs.edge_vocabulary), classes=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for batch in DataLoader(train, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(batch), batch.y)
            loss.backward()
            optimizer.step()
            total += loss.item() * batch.num_graphs
        print(f"epoch {epoch + 1}: training loss {total / len(train):.3f}")
    model.eval()
    with torch.no_grad():
        right = sum(
            int((model(batch).argmax(1) == batch.y).sum())
            for batch in DataLoader(test, batch_size=64)
        )
    print(f"test accuracy {right / len(test):.2f}")


if __name__ == "__main__":
    main()
