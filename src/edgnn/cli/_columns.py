"""What is read of a table and what is not, in a line for those who train on it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgnn.io import ColumnUse

_MOST_NAMES = 8


def columns_line(uses: Sequence[ColumnUse], taken: Sequence[str] = ()) -> list[str]:
    """Return the line, or nothing where there is nothing to tell.

    Parameters
    ----------
    uses : sequence of ColumnUse
        One per table.
    taken : sequence of str
        Columns that are used by others than the reader.
    """
    left = {use.path.name: [name for name in use.unused if name not in taken] for use in uses}
    named = [
        f"{_list(names)} ({table})" if len(uses) > 1 else _list(names)
        for table, names in left.items()
        if names
    ]
    told = _used(uses) + ([f"columns not used: {', '.join(named)}"] if named else [])
    options = [word for use in uses for word in _options(use, taken)] if named else []
    return (
        ["; ".join(told) + (f"; to use more of them: {' '.join(options)}" if options else "")]
        if told
        else []
    )


def _used(uses: Sequence[ColumnUse]) -> list[str]:
    """Say which columns are labels and features, for nodes and edges in tables."""
    labels = {use.of: use.label for use in uses}
    if "edge" not in labels:
        return []
    features = [name for use in uses for name in use.features]
    return [f"{of} labels: {labels.get(of) or 'none'}" for of in ("node", "edge")] + [
        f"features: {_list(features) or 'none'}"
    ]


def _options(use: ColumnUse, taken: Sequence[str]) -> Iterator[str]:
    """Yield what would have a table's columns read as well."""
    words, numbers = (
        [name for name in names if name not in taken and "," not in name]
        for names in (use.words, use.numbers)
    )
    if use.label is None and words:
        yield shlex.join(["-o", f"{use.of}_label={words[0]}"])
    if numbers:
        yield shlex.join(["-o", f"{use.of}_features=" + ",".join([*use.features, *numbers])])


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
