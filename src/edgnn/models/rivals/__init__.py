"""The rivals: every method of the paper's tables, and today's common choices, as scikit-learn classifiers."""

from edgnn.models.rivals._csm import SubgraphMatchingClassifier
from edgnn.models.rivals._gin import GINGraphClassifier, GINNodeClassifier
from edgnn.models.rivals._majority import MajorityClassifier
from edgnn.models.rivals._part_counts import PartCounts
from edgnn.models.rivals._rdf2vec import RDF2Vec, RDF2VecClassifier, UnseenNodeWarning
from edgnn.models.rivals._rgcn import RGCNGraphClassifier, RGCNNodeClassifier
from edgnn.models.rivals._rivals import RIVALS, Rival, rival_class
from edgnn.models.rivals._subgraphs import subgraph_counts
from edgnn.models.rivals._walks import all_walks, random_walks
from edgnn.models.rivals._wl_rdf import RDFWLClassifier
from edgnn.models.rivals._wl_subtree import WLClassifier
from edgnn.models.rivals._wlsp import WLShortestPathClassifier

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
