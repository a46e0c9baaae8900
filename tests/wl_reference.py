"""Color refinement written to be obviously right: dictionaries of whole neighborhoods, no hashing, no cleverness."""

from collections import Counter


def reference(graphs, rounds, scheme, multiplicity="once", direction="both"):
    """Return the color of every node after rounds 0..rounds, as lists of lists."""
    incoming = [[] for _ in range(graphs.num_nodes)]
    outgoing = [[] for _ in range(graphs.num_nodes)]
    for source, target, label in zip(
        graphs.edge_source.tolist(),
        graphs.edge_target.tolist(),
        graphs.edge_label.tolist(),
        strict=True,
    ):
        incoming[target].append((source, label))
        if direction == "both":
            outgoing[source].append((target, label))
    colors = [graphs.node_label.tolist()]
    for _ in range(rounds):
        now = colors[-1]
        numbers = {}
        after = []
        for node in range(graphs.num_nodes):
            seen = _seen(node, incoming[node], outgoing[node], now, scheme, multiplicity)
            after.append(numbers.setdefault((now[node], seen), len(numbers)))
        colors.append(after)
    return colors


def _seen(node, incoming, outgoing, now, scheme, multiplicity):
    if scheme == "joint":
        edges = [("in", label, now[other]) for other, label in incoming] + [
            ("out", label, now[other]) for other, label in outgoing
        ]
        return frozenset(Counter(edges).items())
    neighbors = [other for other, _ in incoming + outgoing]
    if multiplicity == "once":
        neighbors = set(neighbors)
    seen = frozenset(Counter(now[other] for other in neighbors).items())
    if scheme == "node":
        return seen
    labels = [
        frozenset(Counter(label for _, label in edges).items()) for edges in (incoming, outgoing)
    ]
    return seen, labels[0], labels[1]


def same_partition(first, second):
    """Whether two colorings put the same nodes together."""
    first, second = list(first), list(second)
    return len(set(first)) == len(set(second)) == len(set(zip(first, second, strict=True)))
