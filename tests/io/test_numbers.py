from __future__ import annotations

import io
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgnn import _files
from edgnn.errors import FormatError
from edgnn.io import _numbers

WHOLE = re.compile(rb"[+-]?[0-9]+")
REAL = re.compile(
    rb"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf(inity)?)", re.IGNORECASE
)


def read(data, kind="int", columns=None):
    return _numbers.read_columns(io.BytesIO(data), "file.txt", kind, columns)


def read_slowly(data, kind, columns):
    """Return the rows, or the number of the first line that breaks a rule."""
    lines = [line.strip(b" \t\r") for line in data.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    rows = []
    for number, line in enumerate(lines, 1):
        fields = [field.strip(b" \t\r") for field in line.split(b",")]
        columns = len(fields) if columns is None else columns
        pattern, convert = (WHOLE, int) if kind == "int" else (REAL, float)
        if (
            not line
            or len(fields) != columns
            or not all(pattern.fullmatch(field) for field in fields)
        ):
            return number
        row = [convert(field) for field in fields]
        if kind == "int" and not all(-(2**63) <= value < 2**63 for value in row):
            return number
        rows.append(row)
    return rows


LARGE = [
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"123456789012345678",
    b"00000000000000000001",
]
UNUSUAL = [
    b"+1",
    b" 2\t",
    b"1.5",
    b"-.5e-3",
    b"nan",
    b"-Inf",
    b"1e999",
    b"infinity",
    b"-0.0",
    b"0.1",
    b"1.",
]
WRONG = [
    b"",
    b"-",
    b"1-2",
    b"1 2",
    b"1e",
    b"1_0",
    b"0x1",
    b"a",
    b"\xc2\xb2",
    b"\0",
    b"\x0c",
    b"infinit",
    b"naninf",
    b"1.2.3",
]
FIELDS = st.integers(-20, 20).map(lambda value: b"%d" % value) | st.sampled_from(
    LARGE + UNUSUAL + WRONG
)
GOOD = st.integers(-(10**6), 10**6).map(lambda value: b"%d" % value)
ENDS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b" \n", b"\n\n"])


@st.composite
def texts(draw):
    width = draw(st.integers(1, 3))
    fields = draw(st.sampled_from([GOOD, FIELDS, GOOD | FIELDS]))
    lines = draw(st.lists(st.lists(fields, min_size=width, max_size=width), max_size=6))
    data = b"".join(b",".join(line) + draw(ENDS) for line in lines)
    return data + draw(st.sampled_from([b"", b"", b"\n", b" \n\r\n ", b"7", b"\n7\n"]))


@settings(max_examples=300)
@given(
    texts()
    | st.text("012,-+ .eE\n\n\r\tnaif", max_size=30).map(str.encode)
    | st.binary(max_size=12),
    st.sampled_from(["int", "float"]),
    st.none() | st.integers(1, 3),
    st.integers(1, 12) | st.just(2**20),
)
@example(b"1\n\n\n\n\n2\n", "int", None, 2)
@example(b"\n\n\n1\n", "int", 1, 1)
@example(b"1\n2", "int", 1, 1)
@example(b"1\n-", "int", 1, 2**20)
@example(b"1_0", "int", 1, 2**20)
@example(b"1_0.5", "float", 1, 2**20)
@example(b"1, +\n2, 3", "int", 2, 2**20)
def test_numbers_are_what_reading_line_by_line_gives(data, kind, columns, size):
    expected = read_slowly(data, kind, columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_files, "_CHUNK", size)
        if isinstance(expected, int):
            with pytest.raises(FormatError) as caught:
                read(data, kind, columns)
            assert (caught.value.path, caught.value.line) == ("file.txt", expected)
            return
        found = read(data, kind, columns)
    assert found.dtype == (np.int64 if kind == "int" else np.float64)
    assert found.shape == (len(expected), len(expected[0]) if expected else columns or 1)
    np.testing.assert_array_equal(found, np.array(expected, found.dtype).reshape(found.shape))


@given(
    st.lists(
        st.lists(st.integers(-(10**16), 10**16), min_size=2, max_size=2), min_size=1, max_size=30
    )
)
def test_ordinary_columns_take_the_fast_way(rows):
    body = "\n".join(f"{a}, {b}" for a, b in rows).encode()
    parsed = _numbers._parse(body, "int", None)
    assert parsed is not None
    assert parsed.tolist() == rows


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_floats_come_back_to_the_bit(values):
    parsed = _numbers._parse("\n".join(map(repr, values)).encode(), "float", 1)
    assert parsed is not None
    assert parsed[:, 0].tobytes() == np.array(values).tobytes()


@pytest.mark.parametrize(
    ("data", "columns", "line", "rule"),
    [
        (b"1\n2\n\n3\n", 1, 3, "the line is blank; only the end of the file may have blank lines"),
        (b"1\n \t\r\n3\n", 1, 2, "the line is blank"),
        (b"1,2\n3\n", 2, 2, "the line has 1 values, expected 2"),
        (b"1,2\n3,4,5\n", None, 2, "the line has 3 values, expected 2"),
        (b"1\n2\nthree\n", 1, 3, "'three' is not a whole number"),
        (b"1\n2.0\n", 1, 2, "'2.0' is not a whole number"),
        (b"1,\n", 2, 1, "'' is not a whole number"),
        (b"1\n99999999999999999999\n", 1, 2, "a number does not fit into 64 bits"),
        (b"1" * 5000, 1, 1, "is not a whole number"),
        ("1\n2\n".encode("utf-16"), 1, 1, r"'\xff\xfe1\x00' is not a whole number"),
        ("1\n²\n".encode("latin-1"), 1, 2, r"'\xb2' is not a whole number"),
        (b"\xef\xbb\xbf1\n", 1, 1, r"'\xef\xbb\xbf1' is not a whole number"),
        (b"1\n\x00\x00\n", 1, 2, r"'\x00\x00' is not a whole number"),
        (b"x" * 100, 1, 1, "xxx…' is not a whole number"),
    ],
)
def test_the_broken_rule_and_its_line_are_named(data, columns, line, rule):
    with pytest.raises(FormatError) as caught:
        read(data, "int", columns)
    assert caught.value.line == line
    assert rule in caught.value.rule
    assert len(str(caught.value)) < 150


def test_a_row_beyond_any_use_is_refused(monkeypatch):
    monkeypatch.setattr(_files, "_CHUNK", 1000)
    monkeypatch.setattr(_numbers, "_LONGEST_ROW", 10_000)
    assert read(b"1," * 2000 + b"1\n").shape == (1, 2001)
    with pytest.raises(FormatError, match="the line is longer than 10,000 bytes") as caught:
        read(b"1\n" + b"1," * 20_000 + b"1\n", "int", 1)
    assert caught.value.line == 2


def test_rows_of_many_pieces_are_joined_in_order():
    values = np.arange(300_000)
    data = b"".join(b"%d\n" % value for value in values)
    assert len(data) > 2**20
    assert np.array_equal(read(data)[:, 0], values)
    with pytest.raises(FormatError) as caught:
        read(data + b"x\n")
    assert caught.value.line == 300_001
