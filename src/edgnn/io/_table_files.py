"""Table files as batches of columns: CSV text and Parquet, read piece by piece through pyarrow."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from edgnn._deadline import checked
from edgnn._files import Path_, open_binary, open_regular, too_large, unpack_limit
from edgnn._optional import optional
from edgnn._words import one_line, short
from edgnn.errors import EdgnnError, FormatError
from edgnn.io._frames import Frame
from edgnn.io._separated import delimiter_of

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv", ".txt")
ENDINGS = (*TEXT, *(f"{ending}.gz" for ending in TEXT), *PARQUET)

_BLOCKS = (2**18, 2**24)  # bytes read at a time, and where a row is longer than that
_LONGEST_HEADER = 2**20
_ROWS = 2**16
_END = b"\x00end"
_RAGGED = re.compile(r"Row #(\d+): Expected \d+ columns, got (\d+)(.*)", re.DOTALL)


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow, or a module of it."""
    return optional(module, "reading and writing tables")


def open_table(
    path: Path_ | Frame, delimiter: str | None = None, max_bytes: int | None = None
) -> Table:
    """Open the table in ``path``: text or Parquet, as its suffix says, or a data frame."""
    if isinstance(path, Frame):
        return FrameTable(path)
    path = Path(path)
    if path.name.lower().endswith(PARQUET):
        return ParquetTable(path, max_bytes)
    if path.name.lower().removesuffix(".gz").endswith(TEXT):
        return TextTable(path, delimiter, max_bytes)
    raise FormatError(path, f"the name of a table ends in one of {', '.join(ENDINGS)}")


class Table(ABC):
    """A table file: its column names, its columns in batches, and errors that name the line."""

    path: Path | Frame
    names: list[str]
    typed: bool  #: whether columns have types of their own; if not, everything is text

    @cached_property
    def position(self) -> dict[str, int]:
        """Where each named column stands."""
        return {name: place for place, name in reversed([*enumerate(self.names)])}

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Generator[Any]:
        """Yield record batches of the chosen columns."""

    @abstractmethod
    def line(self, row: int) -> int | None:
        """Return the line (in Parquet the record) of a row, which counts from 0."""

    def error(self, rule: str, row: int) -> FormatError:
        """Make the error of one row."""
        return FormatError(self.path, rule, self.line(row))

    def _check_names(self) -> None:
        for place, name in enumerate(self.names):
            if name and self.position[name] != place:
                raise FormatError(
                    self.path,
                    f"the column {short(name)} stands twice; give each column its own name",
                    self.line(-1),
                )


class ParquetTable(Table):
    """A Parquet file."""

    path: Path
    typed = True

    def __init__(self, path: Path, max_bytes: int | None) -> None:
        self.path = path
        with open_regular(path) as stream, _decoding(path):
            file = arrow("pyarrow.parquet").ParquetFile(stream)
            self.names = file.schema_arrow.names
        self._limit = unpack_limit(path.stat().st_size, max_bytes)
        self._check_names()

    def batches(self, columns: Sequence[str]) -> Generator[Any]:
        """Yield record batches of the chosen columns."""
        parquet = arrow("pyarrow.parquet")
        unpacked = 0
        with open_regular(self.path) as stream, _decoding(self.path):
            file = parquet.ParquetFile(stream)
            self._check_claims(file.metadata)
            for batch in file.iter_batches(batch_size=_ROWS, columns=list(columns)):
                unpacked += batch.nbytes
                self._check_size(unpacked)
                chosen = batch.select(list(columns))
                chosen.validate(full=True)
                yield chosen

    def line(self, row: int) -> int | None:
        """Return the number of the record."""
        return row + 1 if row >= 0 else None

    def _check_claims(self, metadata: Any) -> None:
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        self._check_size(sum(group.total_byte_size for group in groups))

    def _check_size(self, unpacked: int) -> None:
        if unpacked > self._limit:
            raise too_large(self.path, self._limit)


class FrameTable(Table):
    """A data frame."""

    typed = True

    def __init__(self, frame: Frame) -> None:
        self.path = self._frame = frame
        self.names = frame.names
        self._check_names()

    def batches(self, columns: Sequence[str]) -> Generator[Any]:
        """Yield the chosen columns at once."""
        arrays = [self._array(name) for name in columns]
        yield arrow().RecordBatch.from_arrays(arrays, names=list(columns))

    def line(self, row: int) -> int | None:
        """Return the line that a row would have in a CSV file."""
        return row + 2

    def _array(self, name: str) -> Any:
        pa = arrow()
        try:
            return pa.array(self._frame.column(name))
        except (pa.ArrowException, OverflowError) as error:
            rule = f"the values of the column {short(name)} are not of one type"
            raise FormatError(self.path, f"{rule} ({_first_line(str(error))})") from None


class TextTable(Table):
    """A text file whose first line names the columns.

    CSV with quotation marks, of any one-character delimiter.
    """

    typed = False

    def __init__(self, path: Path, delimiter: str | None, max_bytes: int | None) -> None:
        self.path, self._max_bytes = path, max_bytes
        with open_binary(path, max_bytes) as stream:
            header = self._header(stream)
        self._delimiter = delimiter_of(header, path, delimiter)
        try:
            self.names = next(csv.reader([header], delimiter=self._delimiter, strict=True), [])
        except csv.Error as error:
            raise FormatError(
                path, f"the column names cannot be read ({one_line(error)})", 1
            ) from None
        if not self.names:
            raise FormatError(path, "the first line is blank; it must name the columns", 1)
        self._check_names()

    def batches(self, columns: Sequence[str]) -> Generator[Any]:
        """Yield record batches of the chosen columns, as text.

        An empty cell without quotation marks is null.
        """
        done = 0
        for block in _BLOCKS:
            seen = 0
            try:
                for batch in self._read(columns, block):
                    seen += len(batch)
                    if seen > done:
                        yield batch.slice(len(batch) - (seen - done))
                        done = seen
            except _LongRowError:
                continue
            return
        raise self.error(
            f"a row is longer than {_BLOCKS[-1]:,} bytes; is a quotation mark not closed?", done
        )

    def _read(self, columns: Sequence[str], block: int) -> Iterator[Any]:
        pa = arrow()
        reader = arrow("pyarrow.csv")
        wanted = [str(self.position[name]) for name in columns]
        with open_binary(self.path, self._max_bytes) as stream:
            self._header(stream)
            try:
                yield from self._without_end(
                    reader.open_csv(
                        io.BufferedReader(_Ended(stream, self._end_row()), block),
                        read_options=reader.ReadOptions(
                            column_names=list(map(str, range(len(self.names)))),
                            block_size=block,
                            use_threads=False,
                        ),
                        parse_options=reader.ParseOptions(
                            delimiter=self._delimiter, newlines_in_values=True
                        ),
                        convert_options=reader.ConvertOptions(
                            column_types=dict.fromkeys(wanted, pa.large_string()),
                            include_columns=wanted,
                            null_values=[""],
                            strings_can_be_null=True,
                            quoted_strings_can_be_null=False,
                        ),
                        memory_pool=pa.system_memory_pool(),
                    )
                )
            except pa.ArrowException as error:
                if "straddl" in str(error):
                    raise _LongRowError from None
                raise self._explained(str(error)) from None

    def line(self, row: int) -> int | None:
        """Return the line a row starts on, by going through the file once more.

        -1 is the header.
        """
        if row < 0:
            return 1
        with open_binary(self.path, self._max_bytes) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
            records = csv.reader(text, delimiter=self._delimiter)
            try:
                next(records)
                start = records.line_num
                for record in checked(records):
                    if record:
                        if row == 0:
                            return start + 1
                        row -= 1
                    start = records.line_num
            except csv.Error:
                pass
        return None

    def _header(self, stream: BinaryIO) -> str:
        line = stream.readline(_LONGEST_HEADER + 1)
        if not line:
            raise FormatError(self.path, "the file is empty; its first line must name the columns")
        if len(line) > _LONGEST_HEADER:
            raise FormatError(
                self.path,
                f"the first line is longer than {_LONGEST_HEADER:,} bytes; "
                "it must name the columns",
                1,
            )
        try:
            header = line.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise FormatError(self.path, "the text is not UTF-8; convert it first", 1) from None
        if "\r" in header:
            raise FormatError(
                self.path, "lines end with a bare carriage return; they must end with a newline", 1
            )
        return header

    def _end_row(self) -> bytes:
        return b"\n" + self._delimiter.encode().join([_END] * len(self.names)) + b"\n"

    def _without_end(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Take off the row that was put behind the file.

        Where it is not, an open quotation mark has swallowed it.
        """
        rows = 0
        last = None
        for batch in batches:
            rows += len(batch)
            if last is not None:
                yield last
            last = batch
        if not last or last.column(0)[-1].as_py() != _END.decode():
            raise self.error("a quotation mark that is opened here is not closed", rows - 1)
        yield last.slice(0, len(last) - 1)

    def _explained(self, message: str) -> FormatError:
        ragged = _RAGGED.search(message)
        if ragged is not None:
            row, values, text = int(ragged[1]) - 1, ragged[2], ragged[3]
            rule = f"the row has {values} values, but the header names {len(self.names)} columns"
            if '"' in text:
                rule += "; is a quotation mark left open?"
            return self.error(rule, row)
        if "UTF8" in message:
            return FormatError(
                self.path, "the text is not UTF-8; convert it first", self._undecodable_line()
            )
        return FormatError(
            self.path, f"the text cannot be read as a table ({_first_line(message)})"
        )

    def _undecodable_line(self) -> int | None:
        with open_binary(self.path, self._max_bytes) as stream:
            for number, line in enumerate(stream, 1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return number
        return None


class _LongRowError(Exception):
    """A row does not fit into a block."""


class _Ended(io.RawIOBase):
    """A stream followed by a few more bytes."""

    def __init__(self, stream: BinaryIO, end: bytes) -> None:
        super().__init__()
        self._streams: list[BinaryIO] = [stream, io.BytesIO(end)]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while self._streams:
            data = self._streams[0].read(len(view))
            if data:
                view[: len(data)] = data
                return len(data)
            del self._streams[0]
        return 0


@contextmanager
def _decoding(path: Path) -> Iterator[None]:
    """Turn what pyarrow says of a damaged Parquet file into a :class:`FormatError`."""
    pa = arrow()
    try:
        yield
    except EdgnnError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise FormatError(
            path,
            "the Parquet data is damaged, "
            f"cut off or of an unknown kind ({_first_line(str(error))})",
        ) from None


def _first_line(message: str) -> str:
    return one_line(message.partition("\n")[0])
