"""The rivals: every method of the paper's tables, and today's common choices, as scikit-learn classifiers."""

from edgnn.baselines._csm import SubgraphMatchingClassifier
from edgnn.baselines._gin import GINGraphClassifier, GINNodeClassifier
from edgnn.baselines._majority import MajorityClassifier
from edgnn.baselines._part_counts import PartCounts
from edgnn.baselines._rdf2vec import RDF2Vec, RDF2VecClassifier, UnseenNodeWarning
from edgnn.baselines._rgcn import RGCNGraphClassifier, RGCNNodeClassifier
from edgnn.baselines._rivals import RIVALS, Rival, rival_class
from edgnn.baselines._subgraphs import subgraph_counts
from edgnn.baselines._walks import all_walks, random_walks
from edgnn.baselines._wl_rdf import RDFWLClassifier
from edgnn.baselines._wl_subtree import WLClassifier
from edgnn.baselines._wlsp import WLShortestPathClassifier

__all__ = [
    "RIVALS",
    "GINGraphClassifier",
    "GINNodeClassifier",
    "MajorityClassifier",
    "PartCounts",
    "RDF2Vec",
    "RDF2VecClassifier",
    "RDFWLClassifier",
    "RGCNGraphClassifier",
    "RGCNNodeClassifier",
    "Rival",
    "SubgraphMatchingClassifier",
    "UnseenNodeWarning",
    "WLClassifier",
    "WLShortestPathClassifier",
    "all_walks",
    "random_walks",
    "rival_class",
    "subgraph_counts",
]
