"""A layer, a model, a format and a metric that edgnn does not have, each in one place."""

from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import matthews_corrcoef
from torch import nn

from edgnn import Graphs
from edgnn.evaluation import Metric
from edgnn.io import Format, Labeled
from edgnn.models import ClassifierModel
from edgnn.registry import LayerEntry, ModelEntry


class MaxConv(nn.Module):
    """A node takes the largest message of each feature instead of the sum."""

    scheme = "joint"  # the color refinement that bounds what it can tell apart

    def __init__(self, in_dim, out_dim, num_relations):
        super().__init__()
        self.own = nn.Linear(in_dim, out_dim)
        self.message = nn.Linear(in_dim, out_dim)
        self.relation = nn.Embedding(num_relations + 1, out_dim)  # the last: unknown labels

    def forward(self, x, edges):
        sent = self.message(x)[edges.source] + self.relation(edges.relation)
        target = edges.target.unsqueeze(1).expand_as(sent)
        received = sent.new_zeros(x.shape[0], sent.shape[1])
        return self.own(x) + received.scatter_reduce(0, target, sent, "amax", include_self=False)


MAX_LAYER = LayerEntry("max", "the largest message instead of the sum", "edgnn_plugin:MaxConv")


class NearestSize(ClassifierModel):
    """Predict the class whose mean number of nodes is nearest."""

    levels = ("graph",)

    def fit(self, X, y):
        data = self.read_training(X, y)
        self.remember(data)
        sizes, targets = data.items.sizes.double(), np.asarray(data.y)
        means = [sizes[torch.as_tensor(targets == name)].mean() for name in self.classes_]
        self.means_ = torch.stack(means)
        return self

    def predict_proba(self, X):
        sizes = self.read_items(X).sizes.double()
        return torch.softmax(-(sizes[:, None] - self.means_).abs(), dim=1).numpy()

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def get_state(self):
        return {}, {"means": self.means_}

    def set_state(self, facts, tensors):
        self.means_ = tensors["means"]


NEAREST_SIZE = ModelEntry(
    "nearest-size",
    "the class whose graphs have the nearest number of nodes",
    {"graph": {"classes": "edgnn_plugin:NearestSize"}},
    probabilities=True,
)


def read_arrows(path, *, target: bool = True):
    """Read lines such as ``active: C-single>O O-single>C``: one graph each, with its class."""
    graphs, targets = [], []
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            name, _, arrows = line.partition(":")
            targets.append(name.strip())
            graphs.append(_graph(arrows.split()))
    return Labeled(Graphs.concat(graphs), targets if target else None)


def _graph(arrows):
    triples = [arrow.replace(">", "-").split("-") for arrow in arrows]
    nodes = list(dict.fromkeys(node for source, _, end in triples for node in (source, end)))
    pairs = [(nodes.index(source), nodes.index(end)) for source, _, end in triples]
    return Graphs.from_edges(
        pairs, node_labels=nodes, edge_labels=[label for _, label, _ in triples]
    )


ARROWS = Format(
    "arrows", "one graph per line, its arrows in words", read_arrows, suffixes=(".arrows",)
)

MCC = Metric("mcc", matthews_corrcoef, higher_is_better=True)
