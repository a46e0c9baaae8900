"""Named data: found, fetched, verified, cached; with targets, published splits and provenance."""

from edgnn.io.datasets._dataset import Dataset
from edgnn.io.datasets._load import load_dataset
from edgnn.io.datasets._locate import Location, locate
from edgnn.io.datasets._registry import Entry, find, names
from edgnn.io.datasets._statistics import (
    Statistic,
    class_counts,
    statistics,
    stored_both_ways,
    summary,
)

__all__ = [
    "Dataset",
    "Entry",
    "Location",
    "Statistic",
    "class_counts",
    "find",
    "load_dataset",
    "locate",
    "names",
    "statistics",
    "stored_both_ways",
    "summary",
]
