"""Rivals: the methods of the paper's tables, and today's common choices, as classifiers."""

from edgnn.models.rivals._csm import SubgraphMatchingClassifier
from edgnn.models.rivals._ecfp import ECFPClassifier, ECFPRegressor
from edgnn.models.rivals._networks import (
    GINGraphClassifier,
    GINNodeClassifier,
    RGCNGraphClassifier,
    RGCNNodeClassifier,
)
from edgnn.models.rivals._part_counts import PartCounts
from edgnn.models.rivals._rdf2vec import RDF2VecClassifier
from edgnn.models.rivals._rdf_vectors import RDF2Vec, UnseenNodeWarning
from edgnn.models.rivals._subgraphs import subgraph_counts
from edgnn.models.rivals._walks import all_walks, random_walks
from edgnn.models.rivals._wl_rdf import RDFWLClassifier
from edgnn.models.rivals._wlsp import WLShortestPathClassifier

__all__ = [
    "ECFPClassifier",
    "ECFPRegressor",
    "GINGraphClassifier",
    "GINNodeClassifier",
    "PartCounts",
    "RDF2Vec",
    "RDF2VecClassifier",
    "RDFWLClassifier",
    "RGCNGraphClassifier",
    "RGCNNodeClassifier",
    "SubgraphMatchingClassifier",
    "UnseenNodeWarning",
    "WLShortestPathClassifier",
    "all_walks",
    "random_walks",
    "subgraph_counts",
]
