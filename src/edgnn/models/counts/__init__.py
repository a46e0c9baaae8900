"""Counts of what graphs are made of, how alike they are by these, and learners on them."""

from edgnn.models.counts._blend import blend_shares
from edgnn.models.counts._boosting import Boosting, FittedBoosting
from edgnn.models.counts._conformal import Conformal
from edgnn.models.counts._features import Standard
from edgnn.models.counts._forest import FittedForest, Forest
from edgnn.models.counts._kernel_ridge import Solution, solve, solve_with_centers
from edgnn.models.counts._labelings import CYCLES, Labeling
from edgnn.models.counts._parts import Counts, pair_counts
from edgnn.models.counts._problem import Problem
from edgnn.models.counts._representation import Columns, Represented, View, default_views
from edgnn.models.counts._ridge_learner import CountRidge, FittedRidge
from edgnn.models.counts._similarity import log_cosine, tanimoto
from edgnn.models.counts._sparse import FittedSparse, SparseLinear
from edgnn.models.counts._stored import pack_fitted, unpack_fitted
from edgnn.models.counts._table_learners import (
    FittedTable,
    TableLearner,
    held_out_folds,
    select_columns,
)
from edgnn.models.counts._trees import Trees

__all__ = [
    "CYCLES",
    "Boosting",
    "Columns",
    "Conformal",
    "CountRidge",
    "Counts",
    "FittedBoosting",
    "FittedForest",
    "FittedRidge",
    "FittedSparse",
    "FittedTable",
    "Forest",
    "Labeling",
    "Problem",
    "Represented",
    "Solution",
    "SparseLinear",
    "Standard",
    "TableLearner",
    "Trees",
    "View",
    "blend_shares",
    "default_views",
    "held_out_folds",
    "log_cosine",
    "pack_fitted",
    "pair_counts",
    "select_columns",
    "solve",
    "solve_with_centers",
    "tanimoto",
    "unpack_fitted",
]
