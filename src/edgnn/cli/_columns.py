"""Which columns of a table are read and which are not, in a line for those who train on it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgnn.io import ColumnUse

_MOST_NAMES = 8


def columns_line(uses: Sequence[ColumnUse], taken: Sequence[str] = ()) -> list[str]:
    """Return the line, or nothing where there is nothing to say.

    Parameters
    ----------
    uses : sequence of ColumnUse
        One per table.
    taken : sequence of str
        Columns that are used by others than the reader.
    """
    facts = list(_used(uses))
    unused = list(_unused(uses, taken))
    if unused:
        facts.append(f"columns not used: {', '.join(unused)}")
        options = [option for use in uses for option in _options(use, taken)]
        if options:
            facts.append(f"to use more of them: {' '.join(options)}")
    return ["; ".join(facts)] if facts else []


def _used(uses: Sequence[ColumnUse]) -> Iterator[str]:
    """Yield which columns are labels and features, for tables of nodes and edges."""
    labels = {use.of: use.label for use in uses}
    if "edge" not in labels:
        return
    yield f"node labels: {labels.get('node') or 'none'}"
    yield f"edge labels: {labels['edge'] or 'none'}"
    features = [name for use in uses for name in use.features]
    yield f"features: {_list(features) or 'none'}"


def _unused(uses: Sequence[ColumnUse], taken: Sequence[str]) -> Iterator[str]:
    """Yield the unused columns, table by table."""
    for use in uses:
        names = [name for name in use.unused if name not in taken]
        if names:
            table = f" ({use.path.name})" if len(uses) > 1 else ""
            yield f"{_list(names)}{table}"


def _options(use: ColumnUse, taken: Sequence[str]) -> Iterator[str]:
    """Yield options that would have a table's columns read as well."""

    def free(columns: Sequence[str]) -> list[str]:
        # a comma separates columns in an option, so it cannot be part of one
        return [name for name in columns if name not in taken and "," not in name]

    words, numbers = free(use.words), free(use.numbers)
    if use.label is None and words:
        yield shlex.join(["-o", f"{use.of}_label={words[0]}"])
    if numbers:
        yield shlex.join(["-o", f"{use.of}_features={','.join([*use.features, *numbers])}"])


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
