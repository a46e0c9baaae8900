"""The paper's equations written to be obviously right: one vertex and one edge at a time, in float64."""

import torch

from edgnn.graphs import UNKNOWN
from edgnn.nn import BatchNorm


def edges_of(graphs):
    return list(
        zip(
            graphs.edge_source.tolist(),
            graphs.edge_target.tolist(),
            graphs.edge_label.tolist(),
            strict=True,
        )
    )


def neighbors_of(graphs, direction="both", multiplicity="once"):
    """Return N(v) of every vertex: a set, or with multiplicity="per-edge" one entry per edge."""
    listed = [[] for _ in range(graphs.num_nodes)]
    for source, target, _ in edges_of(graphs):
        listed[target].append(source)
        if direction == "both":
            listed[source].append(target)
    return [sorted(set(row)) if multiplicity == "once" else row for row in listed]


def node_inputs(graphs):
    """Return H⁰: the one-hot label, nothing for the reserved one, with the features beside it."""
    known = [value for value in graphs.node_vocabulary if value is not UNKNOWN]
    rows = torch.zeros(graphs.num_nodes, len(known), dtype=torch.float64)
    for node, label in enumerate(graphs.node_label.tolist()):
        if label < len(known):
            rows[node, label] = 1
    return (
        rows
        if graphs.node_features is None
        else torch.cat([rows, graphs.node_features.double()], dim=1)
    )


def eq3(conv, graphs, x):
    """Return f(v) W1 + Σ_{u ∈ N(v)} f(u) W2 + b inside the activation, for every v."""
    neighbors = neighbors_of(graphs, conv.direction, conv.multiplicity or "once")
    return torch.stack(
        [conv.activation(_own_and_neighbors(conv, v, neighbors[v], x)) for v in range(len(x))]
    )


def eq4(conv, graphs, x):
    """Return Eq. 3 with Σ f_E(u,v) W3 over entering and Σ f_E(v,u) W4 over leaving edges added."""
    neighbors, edges = (
        neighbors_of(graphs, conv.direction, conv.multiplicity or "once"),
        edges_of(graphs),
    )
    rows = []
    for v in range(len(x)):
        total = _own_and_neighbors(conv, v, neighbors[v], x)
        for e, (source, target, label) in enumerate(edges):
            if target == v:
                total = total + _f_E(conv, graphs, e, label) @ conv.W3
            if source == v and conv.direction == "both":
                total = total + _f_E(conv, graphs, e, label) @ conv.W4
        rows.append(conv.activation(total))
    return torch.stack(rows)


def relational(conv, graphs, x):
    """Return Σ_r over edges of relation r into v (and, behind them, out of v), summed or averaged, plus f(v) W1 + b."""
    labels, weights = conv.num_edge_labels, conv.relation_weights()
    features = graphs.edge_features
    rows = []
    for v in range(len(x)):
        total = x[v] @ conv.W1
        received = {}
        for e, (source, target, label) in enumerate(edges_of(graphs)):
            for side, (here, there) in enumerate([(target, source), (source, target)]):
                if here != v or (side == 1 and conv.direction == "in"):
                    continue
                if label < labels:
                    received.setdefault(label + side * labels, []).append(x[there])
                if features is not None:
                    width = conv.edge_features
                    total = (
                        total
                        + features[e].double() @ conv.W_features[side * width : (side + 1) * width]
                    )
        for relation, states in received.items():
            together = sum(states) if conv.aggregate == "sum" else sum(states) / len(states)
            total = total + together @ weights[relation]
        rows.append(conv.activation(total if conv.bias is None else total + conv.bias))
    return torch.stack(rows)


def randomized(module, seed=0):
    """Return the module in float64 with every weight and statistic drawn anew, biases and batch norms too."""
    generator = torch.Generator().manual_seed(seed)
    module.double()
    for parameter in module.parameters():
        parameter.data.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    for part in module.modules():
        if isinstance(part, BatchNorm):
            part.running_mean.copy_(
                torch.randn(part.running_mean.shape, generator=generator, dtype=torch.float64)
            )
            part.running_var.copy_(
                torch.rand(part.running_var.shape, generator=generator, dtype=torch.float64) + 0.5
            )
    return module


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def states(graphs, width, seed=0):
    return normal(graphs.num_nodes, width, seed=seed)


def _own_and_neighbors(conv, v, neighbors, x):
    total = x[v] @ conv.W1
    for u in neighbors:
        total = total + x[u] @ conv.W2
    return total if conv.bias is None else total + conv.bias


def _f_E(conv, graphs, e, label):
    width = conv.num_edge_labels if conv.edge_embedding is None else conv.edge_embedding.shape[-1]
    if label >= conv.num_edge_labels:
        of_label = torch.zeros(width, dtype=torch.float64)
    elif conv.edge_embedding is None:
        of_label = torch.eye(width, dtype=torch.float64)[label]
    else:
        of_label = conv.edge_embedding[label]
    return (
        of_label
        if graphs.edge_features is None
        else torch.cat([of_label, graphs.edge_features[e].double()])
    )
