"""Columns of a table as arrays: ids and labels by number, features and targets as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np

from edgnn._deadline import checked
from edgnn._words import short
from edgnn.errors import FormatError
from edgnn.io._common import Array, object_array
from edgnn.io._separated import decimal_comma_advice, first_decimal_comma
from edgnn.io._table_files import Table, arrow

#: Whole numbers as Python writes them; of those with 19 digits some do not fit into 64 bits.
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"


def read_columns(table: Table, columns: Sequence[Column]) -> None:
    """Go through ``table`` once and hand every column its values."""
    names = list(dict.fromkeys(column.name for column in columns))
    row = 0
    with closing(table.batches(names)) as batches:
        for batch in batches:
            arrays = {
                name: _decoded(array) for name, array in zip(names, batch.columns, strict=True)
            }
            for column in checked(columns):
                column.add(arrays[column.name], row)
            row += len(batch)


class Column(ABC):
    """What is kept of one column of a table; ``what`` says in errors what its cells are."""

    def __init__(self, table: Table, name: str, what: str) -> None:
        self.table, self.name, self.what = table, name, what

    @abstractmethod
    def add(self, array: Any, row: int) -> None:
        """Take the next values; ``row`` is the row of the first one."""

    def _wrong_type(self, found: Any, expected: str) -> FormatError:
        return FormatError(
            self.table.path,
            f"the column {short(self.name)} holds {found}, but {self.what} is {expected}",
        )

    def _cell_error(self, array: Any, position: int, row: int, expected: str) -> FormatError:
        value = array[position].as_py()
        found = "is empty" if value is None else f"holds {short(value)}"
        return self.table.error(
            f"the column {short(self.name)} {found}; {self.what} is {expected}", row + position
        )


class Keys(Column):
    """Ids or labels: text and whole numbers, for labels also other numbers and truth values."""

    def __init__(self, table: Table, name: str, what: str, *, label: bool = False) -> None:
        super().__init__(table, name, what)
        self.parts: list[Any] = []
        self.size = 0
        self.missing = 0
        self.first_missing: int | None = None
        self._label = label

    def add(self, array: Any, row: int) -> None:
        """Give the next values numbers, counted within themselves."""
        if len(array) == 0:
            return
        plain = self._label_values(array, row) if self._label else self._id_values(array)
        empty = plain.is_null().to_numpy(zero_copy_only=False)
        if self.first_missing is None and empty.any():
            self.first_missing = row + int(np.argmax(empty))
        self.missing += plain.null_count
        self.size += len(plain)
        may_be_missing = self._label and self.missing == self.size
        if self.first_missing is not None and not may_be_missing:
            raise self._missing(self.first_missing)
        part = encoded(plain)
        if not self.table.typed:
            part = arrow().DictionaryArray.from_arrays(
                part.indices, _whole_numbers(part.dictionary)
            )
        self.parts.append(part)

    def take_parts(self) -> list[Any]:
        """Return the parts, and forget them."""
        parts, self.parts = self.parts, []
        return parts

    def _missing(self, row: int) -> FormatError:
        if not self._label:
            return self.table.error(
                f"the column {short(self.name)} is empty; {self.what} is needed in every row", row
            )
        return self.table.error(
            f"the column {short(self.name)} is empty here, but not everywhere; label all rows, "
            "or none "
            '("" in quotation marks is a label, the empty text)',
            row,
        )

    def _id_values(self, array: Any) -> Any:
        pa = arrow()
        kind = array.type
        if _is_text(kind) or pa.types.is_null(kind):
            return array.cast(pa.large_string())
        if not pa.types.is_integer(kind):
            expected = "text or a number" if self._label else "text or a whole number"
            raise self._wrong_type(kind, expected)
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid:
            raise self._wrong_type(
                f"{kind} beyond 64 signed bits", "a whole number that fits"
            ) from None

    def _label_values(self, array: Any, row: int) -> Any:
        pa, compute = arrow(), arrow("pyarrow.compute")
        if pa.types.is_boolean(array.type):
            return array
        if not pa.types.is_floating(array.type):
            return self._id_values(array)
        values = array.cast(pa.float64())
        undefined = compute.is_nan(values).fill_null(False).to_numpy(zero_copy_only=False)
        if undefined.any():
            expected = "text or a number; leave the cell empty instead"
            raise self._cell_error(values, int(np.argmax(undefined)), row, expected)
        return compute.add(values, 0.0)  # -0.0 and 0.0 are one label


class Numbers(Column):
    """Numbers: a feature of every row."""

    def __init__(self, table: Table, name: str, what: str) -> None:
        super().__init__(table, name, what)
        self._parts: list[Array] = []

    def add(self, array: Any, row: int) -> None:
        """Take the next values, which must all be finite numbers."""
        single = str(array.type) in ("float", "halffloat")
        values = _as_floats(array, arrow().float32() if single else arrow().float64())
        if values is None and not _is_text(array.type):
            raise self._wrong_type(array.type, "a number")
        if values is None:
            raise self._cell_error(array, _first_failing(array), row, "a number")
        numbers = values.to_numpy(zero_copy_only=False)
        if values.null_count or not np.isfinite(numbers).all():
            position = int(np.argmax(~np.isfinite(numbers)))
            raise self._cell_error(
                array, position, row, "a finite number; fill in or drop missing values first"
            )
        self._parts.append(numbers)

    def values(self) -> Array:
        """Return all numbers, in single precision where the file has that."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0)


class Targets(Column):
    """Targets: whole numbers, numbers, truth values or text, as they come."""

    def __init__(self, table: Table, name: str, what: str) -> None:
        super().__init__(table, name, what)
        self._parts: list[Any] = []

    def add(self, array: Any, row: int) -> None:
        """Take the next values."""
        self._parts.append(array)

    def values(self) -> tuple[Array, Array]:
        """Return the targets and which of them are there.

        A missing number is NaN, missing text is ``None``.
        """
        pa, types = arrow(), arrow("pyarrow.types")
        column = pa.chunked_array(self._parts, type=None if self._parts else pa.float64())
        if not self.table.typed:
            column = _numbers_of_text(column)
        kind = column.type
        is_boolean = types.is_boolean(kind)
        is_whole = types.is_integer(kind)
        if (is_whole or is_boolean) and not column.null_count:
            return column.to_numpy(), np.ones(len(column), bool)
        if is_whole or types.is_floating(kind) or types.is_null(kind):
            numbers = column.cast(pa.float64(), safe=False).to_numpy()
            return numbers, ~np.isnan(numbers)
        if not is_boolean and not _is_text(kind):
            raise self._wrong_type(kind, "a number or text")
        texts = object_array(column.to_pylist())
        comma = first_decimal_comma(texts)
        if comma is not None:
            text = texts[comma]
            rule = f"the target {self.name!r} is {short(text)}{decimal_comma_advice(text)}"
            raise self.table.error(rule, comma)
        return texts, ~column.is_null().to_numpy().astype(bool)


def number(columns: Sequence[Keys]) -> tuple[list[Array], Any]:
    """Number the values of all ``columns`` together; return each column's numbers, and the values.

    Where one part holds text and another whole numbers, all are compared as text: of plainly
    written numbers, nothing is lost by that. Missing values have the number 0. The columns' parts
    are used up.
    """
    pa = arrow()
    counts = [len(column.parts) for column in columns]
    parts = [part for column in columns for part in column.take_parts()]
    if not parts:
        return [np.zeros(0, np.int32) for _ in columns], pa.array([], pa.int64())
    if len({part.type for part in parts}) > 1:
        text = pa.large_string()
        parts = [
            pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(text))
            for part in parts
        ]
    chunks = pa.chunked_array(parts)
    del parts
    unified = iter(chunks.unify_dictionaries(memory_pool=pa.system_memory_pool()).chunks)
    del chunks
    codes, values = [], None
    for count in counts:
        arrays = [np.zeros(0, np.int32)]
        for part in islice(unified, count):
            values = part.dictionary
            arrays.append(part.indices.fill_null(0).to_numpy())
        codes.append(np.concatenate(arrays))
    return codes, values


def encoded(values: Any) -> Any:
    """Number values by first appearance, in memory that goes back to the system once free."""
    return arrow("pyarrow.compute").dictionary_encode(
        values, memory_pool=arrow().system_memory_pool()
    )


def _whole_numbers(values: Any) -> Any:
    """Turn text into whole numbers, if all of it is plainly written ones that fit into 64 bits."""
    pa, compute = arrow(), arrow("pyarrow.compute")
    if not _is_text(values.type):
        return values
    if not compute.all(compute.match_substring_regex(values, _WHOLE)).as_py():
        return values
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        return values


def _numbers_of_text(column: Any) -> Any:
    """Turn a column of text into whole numbers or numbers, if all that is there reads so."""
    if column.null_count == len(column):
        return column.cast(arrow().float64())
    whole = _whole_numbers(column)
    numbers = _as_floats(column, arrow().float64()) if whole is column else whole
    return column if numbers is None else numbers


def _as_floats(array: Any, kind: Any) -> Any:
    """Cast to floating-point numbers; ``None`` where that is impossible."""
    pa = arrow()
    try:
        return array.cast(kind, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _first_failing(array: Any) -> int:
    """Return where the first value that is not a number is, by halving."""
    low, high = 0, len(array)
    kind = arrow().float64()
    while high - low > 1:
        middle = (low + high) // 2
        if _as_floats(array[low:middle], kind) is None:
            high = middle
        else:
            low = middle
    return low


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _decoded(array: Any) -> Any:
    return array.dictionary_decode() if arrow().types.is_dictionary(array.type) else array
