"""The paper's theorems made executable, and what a given model can and cannot tell apart."""

from edgnn.theory import pairs
from edgnn.theory._edge_embeddings import (
    CountViolation,
    EdgeEmbeddingReport,
    edge_embedding_consistent,
)
from edgnn.theory._embeddings import Embeddings, Readouts, readouts
from edgnn.theory._exact import Dense
from edgnn.theory._expressivity import ExpressivityReport, SchemeComparison, expressivity
from edgnn.theory._search import SmallestPairs, sketch, smallest_pairs
from edgnn.theory._upper_bound import UpperBoundReport, UpperBoundRound, check_upper_bound
from edgnn.theory._verify import WeightsReport, WeightsRound, verify
from edgnn.theory._weights import Layer, WLWeights, wl_weights

__all__ = [
    "CountViolation",
    "Dense",
    "EdgeEmbeddingReport",
    "Embeddings",
    "ExpressivityReport",
    "Layer",
    "Readouts",
    "SchemeComparison",
    "SmallestPairs",
    "UpperBoundReport",
    "UpperBoundRound",
    "WLWeights",
    "WeightsReport",
    "WeightsRound",
    "check_upper_bound",
    "edge_embedding_consistent",
    "expressivity",
    "pairs",
    "readouts",
    "sketch",
    "smallest_pairs",
    "verify",
    "wl_weights",
]
