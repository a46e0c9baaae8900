"""A plain torch loop with the layers of edgnn.nn: one Structure per batch, built once and kept for all epochs."""

import torch
from torch import nn
from torch.nn import functional

import edgnn
from edgnn.nn import EdGNNConv, Inputs, readout

EPOCHS = 8


class MyModel(nn.Module):
    """Two layers of Eq. 4 and your own head, on what Inputs has counted."""

    def __init__(self, node_labels: int, edge_labels: int, classes: int, hidden: int = 32) -> None:
        super().__init__()
        self.conv1 = EdGNNConv(node_labels, hidden, edge_labels)
        self.conv2 = EdGNNConv(hidden, hidden, edge_labels)
        self.head = nn.Sequential(
            nn.BatchNorm1d(hidden), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
        )

    def forward(self, inputs: Inputs) -> torch.Tensor:
        x = self.conv1(
            inputs.H0, inputs.structure
        )  # H0: one row per node, its label as a one-hot vector
        x = self.conv2(x, inputs.structure)
        return self.head(readout(x, inputs, "sum"))


def main() -> None:
    torch.manual_seed(0)
    data = edgnn.load_dataset("MUTAG")
    targets, order = torch.as_tensor(data.targets), torch.randperm(len(data.graphs))
    batches = [
        (Inputs.of(data.graphs[part.tolist()]), targets[part]) for part in order[38:].split(16)
    ]
    test = Inputs.of(data.graphs[order[:38].tolist()])
    model = MyModel(len(data.graphs.node_vocabulary), len(data.graphs.edge_vocabulary), classes=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(EPOCHS):
        total = 0.0
        for number in torch.randperm(len(batches)).tolist():
            inputs, target = batches[number]
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(inputs), target)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(target)
        print(f"epoch {epoch + 1}: training loss {total / (len(order) - 38):.3f}")
    model.eval()
    with torch.no_grad():
        accuracy = (model(test).argmax(1) == targets[order[:38]]).float().mean()
    print(f"test accuracy {float(accuracy):.2f}")


if __name__ == "__main__":
    main()
