"""Named data: found, fetched, verified, cached; with targets, published splits and provenance."""

from edgnn.io.datasets._cache import Part, cache_root, ensure, manifest
from edgnn.io.datasets._dataset import Dataset, positions_by_word
from edgnn.io.datasets._load import load_dataset, load_items
from edgnn.io.datasets._origin import (
    loadable_origin,
    molecule_options,
    origin_of,
    reading_options,
    stored_texts,
)
from edgnn.io.datasets._registry import (
    DATASETS,
    Entry,
    Location,
    find,
    find_or_tu,
    is_name,
    locate,
    names,
)
from edgnn.io.datasets._statistics import (
    Statistic,
    class_counts,
    label_counts,
    statistics,
    stored_both_ways,
    summary,
    term_counts,
)
from edgnn.io.datasets._target_columns import choose_columns, target_options, with_descriptors
from edgnn.io.datasets._target_file import named_nodes, node_numbers, targets_of_file
from edgnn.io.datasets._targets import are_classes, doubts, encode_targets, has_few_kinds, task_of

__all__ = [
    "DATASETS",
    "Dataset",
    "Entry",
    "Location",
    "Part",
    "Statistic",
    "are_classes",
    "cache_root",
    "choose_columns",
    "class_counts",
    "doubts",
    "encode_targets",
    "ensure",
    "find",
    "find_or_tu",
    "has_few_kinds",
    "is_name",
    "label_counts",
    "load_dataset",
    "load_items",
    "loadable_origin",
    "locate",
    "manifest",
    "molecule_options",
    "named_nodes",
    "names",
    "node_numbers",
    "origin_of",
    "positions_by_word",
    "reading_options",
    "statistics",
    "stored_both_ways",
    "stored_texts",
    "summary",
    "target_options",
    "targets_of_file",
    "task_of",
    "term_counts",
    "with_descriptors",
]
