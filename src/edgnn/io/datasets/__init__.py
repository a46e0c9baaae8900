"""Named data: found, fetched, verified, cached; with targets, published splits and provenance."""

from edgnn.io.datasets._cache import cache_root
from edgnn.io.datasets._dataset import Dataset, encode_classes
from edgnn.io.datasets._doubts import doubts
from edgnn.io.datasets._load import load_dataset
from edgnn.io.datasets._locate import Location, locate
from edgnn.io.datasets._origin import (
    loadable_origin,
    molecule_options,
    origin_of,
    reading_options,
    stored_texts,
)
from edgnn.io.datasets._registry import Entry, find, find_or_tu, is_name, names
from edgnn.io.datasets._statistics import (
    Statistic,
    class_counts,
    label_counts,
    statistics,
    stored_both_ways,
    summary,
)
from edgnn.io.datasets._target_file import named_nodes, node_numbers

__all__ = [
    "Dataset",
    "Entry",
    "Location",
    "Statistic",
    "cache_root",
    "class_counts",
    "doubts",
    "encode_classes",
    "find",
    "find_or_tu",
    "is_name",
    "label_counts",
    "load_dataset",
    "loadable_origin",
    "locate",
    "molecule_options",
    "named_nodes",
    "names",
    "node_numbers",
    "origin_of",
    "reading_options",
    "statistics",
    "stored_both_ways",
    "stored_texts",
    "summary",
]
