"""Columns of a table of molecules, or properties of an SD file, as features of whole graphs."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from edgnn._words import preview, short, suggestion
from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.io._separated import decimal_comma_advice, has_decimal_comma, number_in


class DescriptorColumns:
    """Numbers of molecules that stand beside them.

    Parameters
    ----------
    names : sequence of str
        What the columns are called.
    places : sequence of int
        Where their cells are among those of a record.
    """

    def __init__(self, names: Sequence[str], places: Sequence[int]) -> None:
        repeated = [name for place, name in enumerate(names) if name in names[:place]]
        if repeated:
            raise GraphError(f"descriptors= names the column {repeated[0]!r} twice")
        self.names = tuple(names)
        self._places = list(places)
        self._values = array("d")

    @classmethod
    def among(cls, columns: Sequence[str], names: Sequence[str]) -> DescriptorColumns:
        """Return those of these names among all columns of a source."""
        called = [column.casefold() for column in columns]
        for name in names:
            if name.casefold() not in called:
                raise GraphError(
                    f"there is no column {name!r}, which descriptors= names; the columns are "
                    f"{preview(columns, 20) or 'none'}{suggestion(name, columns)}"
                )
        exact = {column: place for place, column in reversed(list(enumerate(columns)))}
        return cls(names, [exact.get(name, called.index(name.casefold())) for name in names])

    def read(self, cells: Sequence[str]) -> tuple[list[float], str]:
        """Return the numbers of a record, or none and the reason."""
        numbers = []
        for name, place in zip(self.names, self._places, strict=True):
            cell = cells[place]
            number = number_in(cell)
            if number is None or not isfinite(number):
                return [], _reason(name, cell)
            numbers.append(number)
        return numbers, ""

    def keep(self, numbers: Sequence[float]) -> None:
        """Append what :meth:`read` returned."""
        self._values.extend(numbers)

    def added_to(self, graphs: Graphs) -> Graphs:
        """Return the graphs of all molecules that were kept, with their features."""
        if not self.names:
            return graphs
        values: Any = np.array(self._values).reshape(len(graphs), len(self.names))
        return graphs.with_graph_features(values, self.names)


def _reason(name: str, cell: str) -> str:
    if not cell:
        return f"the descriptor {name!r} is empty; fill it in or leave the molecule out"
    if has_decimal_comma(cell):
        return f"the descriptor {name!r} is {short(cell)}{decimal_comma_advice(cell)}"
    return f"the descriptor {name!r} is {short(cell)}, but must be a finite number"
