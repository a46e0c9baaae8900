"""The rivals by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edgnn._words import suggestion_or
from edgnn.errors import EstimatorError
from edgnn.models.networks._inputs import Level


@dataclass(frozen=True)
class Rival:
    """One method.

    Attributes
    ----------
    name : str
        What ``edgnn evaluate --model`` calls it.
    says : str
        What it does, in a line.
    graph, node : str, optional
        The classes for graphs and for nodes, names in :mod:`edgnn.models.rivals`.
    """

    name: str
    says: str
    graph: str | None = None
    node: str | None = None


RIVALS = {
    rival.name: rival
    for rival in (
        Rival("majority", "the most frequent class", "MajorityClassifier", "MajorityClassifier"),
        Rival("csm", "subgraph matching kernel, SVM", "SubgraphMatchingClassifier"),
        Rival("wlsp", "Weisfeiler–Lehman shortest-path kernel, SVM", "WLShortestPathClassifier"),
        Rival("rgcn", "R-GCN", "RGCNGraphClassifier", "RGCNNodeClassifier"),
        Rival(
            "wl-rdf",
            "Weisfeiler–Lehman kernel of the subgraphs around nodes, SVM",
            node="RDFWLClassifier",
        ),
        Rival("rdf2vec", "word2vec of random walks, SVM", node="RDF2VecClassifier"),
        Rival(
            "wl-subtree",
            "Weisfeiler–Lehman color counts, kernel ridge",
            "WLClassifier",
            "WLClassifier",
        ),
        Rival("gin", "GIN with edge labels (GINE)", "GINGraphClassifier", "GINNodeClassifier"),
    )
}


def rival_class(name: str, level: Level) -> Any:
    """Return the class of a rival for graphs or for nodes."""
    from edgnn.models import rivals

    if name not in RIVALS:
        hint = suggestion_or(name, RIVALS, f"there are {', '.join(RIVALS)}")
        raise EstimatorError(f"there is no rival {name!r}; {hint}")
    found = getattr(RIVALS[name], level)
    if found is None:
        able = ", ".join(
            rival.name for rival in RIVALS.values() if getattr(rival, level) is not None
        )
        other = "whole graphs" if level == "node" else "nodes"
        raise EstimatorError(
            f"{name} classifies {other}, but the targets are those of {level}s; for these there are {able}"
        )
    return getattr(rivals, found)
