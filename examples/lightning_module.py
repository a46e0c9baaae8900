"""An edGNN as a LightningModule: Lightning has the loop, this file says what a step is."""

import lightning
import torch
from torch.nn import functional
from torch.utils.data import DataLoader

import edgnn

EPOCHS = 8


class LightningEdGNN(lightning.LightningModule):
    """A GraphModel (the paper's: layers, readout, linear map) with its loss and its optimizer."""

    def __init__(self, graphs: edgnn.Graphs, classes: int) -> None:
        super().__init__()
        sizes = len(graphs.node_vocabulary), len(graphs.edge_vocabulary)
        self.model = edgnn.nn.GraphModel(*sizes, classes, hidden=32, batch_norm=True)

    def step(self, batch: tuple[edgnn.Graphs, torch.Tensor], name: str) -> torch.Tensor:
        graphs, target = batch
        outputs = self.model(graphs)
        loss = functional.cross_entropy(outputs, target)
        self.log(f"{name}_loss", loss, batch_size=len(target), prog_bar=True)
        self.log(
            f"{name}_accuracy", (outputs.argmax(1) == target).float().mean(), batch_size=len(target)
        )
        return loss

    def training_step(self, batch: tuple[edgnn.Graphs, torch.Tensor], index: int) -> torch.Tensor:
        return self.step(batch, "train")

    def validation_step(self, batch: tuple[edgnn.Graphs, torch.Tensor], index: int) -> torch.Tensor:
        return self.step(batch, "valid")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=5e-3)


def loader(
    graphs: edgnn.Graphs, targets: torch.Tensor, chosen: torch.Tensor, *, shuffle: bool
) -> DataLoader:
    """Batches of graphs: indexing Graphs with several numbers gives one packed collection."""

    def batch(numbers: list[int]) -> tuple[edgnn.Graphs, torch.Tensor]:
        return graphs[numbers], targets[numbers]

    return DataLoader(chosen.tolist(), batch_size=16, shuffle=shuffle, collate_fn=batch)


def main() -> None:
    lightning.seed_everything(0, verbose=False)
    data = edgnn.load_dataset("MUTAG")
    targets, order = torch.as_tensor(data.targets), torch.randperm(len(data.graphs))
    train = loader(data.graphs, targets, order[38:], shuffle=True)
    valid = loader(data.graphs, targets, order[:38], shuffle=False)
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(LightningEdGNN(data.graphs, classes=2), train, valid)
    print(f"validation accuracy {float(trainer.callback_metrics['valid_accuracy']):.2f}")


if __name__ == "__main__":
    main()
