"""Learners on tables of counts: forest, boosting, and sparse linear models."""

from edgnn.models.counts._boosting import Boosting, FittedBoosting
from edgnn.models.counts._forest import FittedForest, Forest
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
    "Boosting",
    "FittedBoosting",
    "FittedForest",
    "FittedSparse",
    "FittedTable",
    "Forest",
    "SparseLinear",
    "TableLearner",
    "Trees",
    "held_out_folds",
    "pack_fitted",
    "select_columns",
    "unpack_fitted",
]
