"""Small tasks to train on, and training written with torch's own parts, one model at a time."""

import numpy as np
import torch

from edgnn import load_dataset
from edgnn.graphs import Graphs
from edgnn.nn import GraphModel, Inputs
from edgnn.nn.ops import random_order
from edgnn.training import Targets

SHUFFLE = 1  # the purpose of the random numbers that shuffle


def graph_task(count=48, relations=False):
    """Return graphs of MUTAG of both classes, as inputs and targets, with the sizes of a model for them."""
    data = load_dataset("MUTAG")
    chosen = np.random.default_rng(0).permutation(len(data.graphs))[:count]
    config = {"node_labels": 7, "edge_labels": 4, "hidden": 6}
    inputs = Inputs.of(data.graphs[chosen], relations=relations)
    return config, inputs, Targets.classes(np.asarray(data.targets)[chosen], 2), data.graphs[chosen]


def node_task(nodes=40, edges=160, classes=3):
    """Return one random graph whose nodes are classed by their incoming labels."""
    random = np.random.default_rng(1)
    ends, kinds = random.integers(0, nodes, (edges, 2)), random.integers(0, 5, edges)
    labels = random.integers(0, 4, nodes)
    graphs = Graphs.from_edges(ends, num_nodes=nodes, node_labels=labels, edge_labels=kinds)
    entering = np.zeros((nodes, classes))
    np.add.at(entering, (ends[:, 1], kinds % classes), 1)
    config = {"node_labels": len(graphs.node_vocabulary), "edge_labels": 5, "hidden": 6}
    return (
        config,
        Inputs.of(graphs, relations=True),
        Targets.classes(entering.argmax(1), classes),
        graphs,
    )


def weights_of(trained, member=0):
    """Return all weights and statistics of a member as one vector."""
    return torch.cat(
        [value[member].flatten().double() for value in trained.model.state_dict().values()]
    )


def initial_model(config, graphs, member):
    """Return a GraphModel without members, drawn from the member's seed, without weights for labels it never trains on."""
    fleet = GraphModel(**config, members=1)
    fleet.seed([member.seed])
    training = graphs[torch.as_tensor(member.train)]
    node = torch.tensor(
        [[label not in training.node_label.tolist() for label in range(config["node_labels"])]]
    )
    edge = torch.tensor(
        [[label not in training.edge_label.tolist() for label in range(config["edge_labels"])]]
    )
    fleet.forget(node, edge)
    single = GraphModel(**config)
    single.load_state_dict({name: value[0] for name, value in fleet.state_dict().items()})
    return single.double()


def plain_training(config, graphs, y, member, settings):
    """Train one model as anybody would with torch: shuffle, step, keep the weights of the best validation loss."""
    model, y = initial_model(config, graphs, member), torch.as_tensor(y)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.optimizer]
    optimizer = kind(model.parameters(), lr=member.learning_rate, weight_decay=member.weight_decay)
    train, seed = torch.as_tensor(member.train), torch.tensor([member.seed])
    best, best_loss, history = None, float("inf"), []
    for epoch in range(1, settings.max_epochs + 1):
        model.train()
        order = torch.argsort(random_order(seed, len(train), SHUFFLE, epoch)[0])
        total = 0.0
        for batch in train[order].split(settings.batch_size):
            loss = torch.nn.functional.cross_entropy(model(graphs[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            if settings.clip_norm is not None:
                norm = torch.cat([weight.grad.flatten() for weight in model.parameters()]).norm()
                for weight in model.parameters():
                    weight.grad.mul_(min(1.0, settings.clip_norm / float(norm)))
            optimizer.step()
            total += float(loss.detach()) * len(batch)
        model.eval()
        with torch.no_grad():
            valid = float(
                torch.nn.functional.cross_entropy(
                    model(graphs[torch.as_tensor(member.valid)]), y[member.valid]
                )
            )
        history.append((total / len(train), valid))
        if valid < best_loss:
            best, best_loss = (
                {name: value.clone() for name, value in model.state_dict().items()},
                valid,
            )
    return torch.cat([value.flatten() for value in best.values()]), history
