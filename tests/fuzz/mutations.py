"""Damage to files, as disks, editors and enemies do it; and the rule that what is read afterwards works or is told in a line."""

from __future__ import annotations

import copy
import json
import os
import random
import signal
import time
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgnn.errors import EdgnnError

#: Minutes that a campaign of one file of tests lasts, roughly; without it a few dozen inputs are tried, the same ones every time.
CAMPAIGN = float(os.environ.get("EDGNN_FUZZ", "0"))

_ODD = [
    b"\0",
    b"\r\n",
    b"\r",
    b"\n\n",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x80",
    b"\xc3",
    b"\xed\xa0\x80",
    "\u202e".encode(),
    "\u0085".encode(),
    "\u2028".encode(),
    "e\u0301".encode(),
    "\U0001f4a9".encode(),
    "\u0663".encode(),
    b"\x1b[31m",
    b"\x0b",
    b"\x1c",
    b"-1",
    b"0",
    b"1e999",
    b"-0.0",
    b"nan",
    b"inf",
    b"9" * 25,
    b"9" * 5000,
    b"2147483648",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"1_000",
    b"0x10",
    b"1e-400",
    b'"',
    b"'",
    b",",
    b";",
    b"\t",
    b"<",
    b">",
    b"&",
    b"&lt;",
    b"]]>",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"true",
    b"_:",
    b"@",
    b"^^",
    b"#",
    b"%",
    b"=",
    b"*",
    b" ",
    b".",
    b"[" * 3000,
    b"(" * 400,
    b"C" * 300,
    b"a" * 70_000,
    b"\x00\x00\x00\x80",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
]
_ODD_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    3.5,
    -0.0,
    1e308,
    2**31,
    2**63,
    2**64,
    -(2**63) - 1,
    10**30,
    10**400,
    "",
    "0",
    "a",
    "NaN",
    "Infinity",
    "~NaN",
    "\ud800",
    "\0",
    "../../x",
    "os.system",
    [],
    {},
    [[]],
    [None],
    [0],
    [1, 2],
    {"a": 1},
    [[1, 2], [3]],
    {"edgnn": 1},
    [-1],
    "x" * 5000,
    "\x1b[31m\u202e\n" * 80,
    [[[[[[[]]]]]]],
    [1e400],
]


def mutated(data: bytes, source: random.Random) -> bytes:
    """Return the bytes after one to four kinds of damage."""
    for _ in range(source.choice((1, 1, 1, 2, 3, 4))):
        data = source.choice(_KINDS)(data, source)
    return data


def mutated_json(data: bytes, source: random.Random) -> bytes:
    """Return a JSON document of which one to three values are replaced, taken away, repeated, or put somewhere else."""
    document = json.loads(data)
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        places = list(_places(document))
        if not places:
            break
        holder, key = source.choice(places)
        what = source.randrange(6)
        if what == 0:
            del holder[key]
        elif what == 1 and isinstance(holder, list):
            holder.insert(key, holder[key])
        elif what == 2:
            other, place = source.choice(places)
            holder[key] = copy.deepcopy(other[place])
        elif what == 3 and isinstance(holder, dict):
            holder[source.choice(("", "a", "format", "\u202e", str(key) * 2))] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(source.choice(_ODD_VALUES))
    return json.dumps(document).encode()


def check_told(call: Callable[[], Any], *also: type[Exception]) -> bool:
    """Call, and return whether it worked; a failure must be one of edgnn's errors (or ``also``), told in one line."""
    with warnings.catch_warnings(), no_longer_than(20):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            call()
        except (EdgnnError, *also) as error:
            check_line(str(error))
            return False
    return True


class HangError(BaseException):
    """It takes too long."""


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Raise where the block takes longer, as far as Python has a say."""

    def ring(number: int, frame: Any) -> None:
        raise HangError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_line(text: str) -> None:
    """Raise where a message is no single line that a terminal shows as it is."""
    assert 10 <= len(text) <= 2_000, f"a message of {len(text)} characters: {text[:300]!r}"
    strange = {
        letter
        for letter in text
        if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") or letter == "\u202e"
    }
    assert not strange, f"a message with {strange}: {text!r}"


def explore(
    check: Callable[[random.Random], None], examples: int = 25, share: float = 1.0, seed: int = 0
) -> int:
    """Call ``check`` with sources of randomness: a few by Hypothesis, which shrinks; or many, for a share of the campaign."""
    if CAMPAIGN:
        return _campaign(check, 60 * CAMPAIGN * share, seed)

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False))
    def try_it(source: random.Random) -> None:
        check(source)

    try_it()
    return examples


def _campaign(check: Callable[[random.Random], None], seconds: float, seed: int) -> int:
    end, tried, found = time.monotonic() + seconds, 0, {}
    start = int(os.environ.get("EDGNN_FUZZ_SEED", "0")) * 10**9 + seed * 10**7
    while time.monotonic() < end:
        try:
            check(random.Random(start + tried))
        except (Exception, HangError) as error:
            found.setdefault(
                _where(error), (start + tried, f"{type(error).__name__}: {str(error)[:300]}")
            )
        tried += 1
    print(f"\nCAMPAIGN {os.environ.get('PYTEST_CURRENT_TEST')} tried {tried} failures {len(found)}")  # noqa: T201
    for where, (number, text) in found.items():
        print(f"  FOUND seed {number} {where}: {text}")  # noqa: T201
    assert not found, (
        f"{len(found)} kinds of failures in {tried} inputs: {list(found.values())[:5]}"
    )
    return tried


def _where(error: BaseException) -> str:
    trace, place = error.__traceback__, "?"
    while trace is not None:
        code = trace.tb_frame.f_code
        if "edgnn" in code.co_filename and "/fuzz/" not in code.co_filename:
            place = f"{code.co_filename.rsplit('edgnn/', 1)[-1]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {place}"


@contextmanager
def no_waiting_for_the_disk() -> Iterator[None]:
    """Let files be written without waiting until the disk has them."""
    kept, os.fsync = os.fsync, lambda file: None
    try:
        yield
    finally:
        os.fsync = kept


#: What a stranger writes into the options that a run folder stores, beside odd values.
HOSTILE_OPTIONS: dict[str, list[Any]] = {
    "target_file": ["/etc/passwd", "PIPE"],
    "nodes": ["/etc/passwd", "PIPE"],
    "graphs": ["/etc/passwd", "PIPE"],
    "path": ["/etc/passwd"],
    "name": ["x"],
    "data_dir": ["/", "PIPE"],
    "like": ["x", {}],
    "format": ["tables", "rdf", "os.system", 7, None],
    "max_bytes": [10**30, -1],
    "max_atoms": [10**9],
    "delimiter": ["\0", "ab", 7],
    "smiles": ["\u202e", "x" * 5_000],
    "id": ["x", 7],
    "level": ["node"],
    "task": ["values"],
    "atom_label": ["os.system", ["charge"] * 1_000],
    "drop_predicates": [["x"] * 1_000],
    "base_iri": ["file:///etc/passwd"],
}

_ENCODINGS = [
    "shift_jis",
    "euc-jp",
    "gbk",
    "big5",
    "utf-7",
    "utf-8",
    "utf-16",
    "utf-32",
    "iso2022_kr",
    "hz",
    "cp932",
    "zlib",
    "hex",
    "rot13",
    "idna",
    "punycode",
    "unicode_escape",
    "mbcs",
    "undefined",
    "\x00",
    "x",
]


def hostile_options(options: dict[str, Any], source: random.Random) -> dict[str, Any]:
    """Return options of a reader with one to four that a stranger has put in."""
    changed = dict(options)
    for name in source.sample(sorted(HOSTILE_OPTIONS), source.randrange(1, 5)):
        changed[name] = source.choice((*HOSTILE_OPTIONS[name], *_ODD_VALUES))
    return changed


def declared(text: bytes, source: random.Random) -> bytes:
    """Return an XML document that declares an encoding, in which it is often really written."""
    encoding = source.choice(_ENCODINGS)
    body = text.partition(b"?>")[2].decode(errors="replace")
    document = f'<?xml version="1.0" encoding="{encoding}"?>{body}'
    if source.random() < 0.5:
        with suppress(LookupError, ValueError, TypeError):
            return document.encode(encoding, "replace")
    return document.encode(errors="replace")


def wide_table(source: random.Random) -> bytes:
    """Return a table of many columns, some of them twice."""
    columns = source.choice((300, 3_000, 20_000))
    stem = source.choice(("c", "feature_", "target_", "label"))
    names = [f"{stem}{number}" for number in range(min(columns, 3_000 if stem != "c" else columns))]
    if source.random() < 0.3:
        names.append(source.choice(names))
    first = source.choice((["source", "target"], ["smiles"], ["node"], ["graph", "source"], []))
    cells = source.choice((["1"], ["a"], [""], ["1.5"])) * len(names)
    rows = [["CCO"] * len(first) + cells] * source.choice((0, 1, 2))
    mark = source.choice((",", ";", "\t"))
    return "\n".join(mark.join(row) for row in [first + names, *rows]).encode() + b"\n"


def large_molecule(source: random.Random) -> bytes:
    """Return a SMILES of a ring, a chain, branches or rings in one another, of any size."""
    size = source.choice((3, 99, 900, 1_000, 1_100, 9_999, 100_000))
    text = source.choice(
        (
            f"C1{'C' * size}1",
            "C" * size,
            "C(" * size + "C" + ")" * size,
            "C1" + "C2C1" * min(size, 900) + "C2",
            "".join(f"C%{10 + n % 90}" for n in range(size)),
            "[" * size,
            "[C" + "+" * size + "]",
            ".".join("C" * size)[:50_000],
            f"C%({size})CC%({size})",
        )
    )
    return text.encode()


def _span(data: bytes, source: random.Random) -> tuple[int, int]:
    start = source.randrange(len(data) + 1)
    return start, min(len(data), start + source.choice((1, 1, 2, 4, 8, 30, 200)))


def _flip(data: bytes, source: random.Random) -> bytes:
    if not data:
        return data
    place = source.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << source.randrange(8))]) + data[place + 1 :]


def _insert(data: bytes, source: random.Random) -> bytes:
    place = source.randrange(len(data) + 1)
    return data[:place] + source.choice(_ODD) + data[place:]


def _replace(data: bytes, source: random.Random) -> bytes:
    start, stop = _span(data, source)
    return data[:start] + source.choice(_ODD) + data[stop:]


def _delete(data: bytes, source: random.Random) -> bytes:
    start, stop = _span(data, source)
    return data[:start] + data[stop:]


def _truncate(data: bytes, source: random.Random) -> bytes:
    return data[: source.randrange(len(data) + 1)]


def _repeat(data: bytes, source: random.Random) -> bytes:
    start, stop = _span(data, source)
    return data[:stop] + data[start:stop] * source.choice((1, 2, 30)) + data[stop:]


def _splice(data: bytes, source: random.Random) -> bytes:
    start, stop = _span(data, source)
    place = source.randrange(len(data) + 1)
    return data[:place] + data[start:stop] + data[place:]


def _lines(data: bytes, source: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    one, other = source.randrange(len(lines)), source.randrange(len(lines))
    lines[one], lines[other] = lines[other], source.choice((lines[one], b"", lines[other]))
    return b"".join(lines)


def _line_ends(data: bytes, source: random.Random) -> bytes:
    return data.replace(b"\n", source.choice((b"\r\n", b"\r", b"\n\n", b"\x0b", b" \n")))


def _number(data: bytes, source: random.Random) -> bytes:
    places = [place for place, letter in enumerate(data) if 48 <= letter <= 57]
    if not places:
        return data
    place = source.choice(places)
    odd = source.choice(
        (
            b"99999999999999999999",
            b"-1",
            b"1e9",
            b"4294967296",
            b"0",
            b"1000000000",
            b"3.5",
            "٣".encode(),
            b"9" * 4500,
        )
    )
    return data[:place] + odd + data[place + 1 :]


def _places(document: Any) -> Any:
    """Yield every place in a document: what holds it, and under which key."""
    items = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in list(items):
        yield document, key
        yield from _places(value)


_KINDS = (
    _flip,
    _flip,
    _insert,
    _insert,
    _replace,
    _replace,
    _delete,
    _truncate,
    _repeat,
    _splice,
    _lines,
    _line_ends,
    _number,
    _number,
)
