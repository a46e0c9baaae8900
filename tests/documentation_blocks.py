"""The code blocks of the documentation: where they stand, in which language, and what the comment above each asks for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHELL = ("sh", "console")
KINDS = ("tested as", "not run", "file", "prints", "background")

_FENCE = re.compile(r"(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})\s*(?P<info>.*?)\s*")
_COMMENT = re.compile(r"<!--\s*(?P<kind>[a-z ]+?)\s*(?::(?P<words>.*?))?\s*-->\s*", re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page; `line` is that of its fence, from 1."""

    page: Path
    line: int
    language: str
    code: str
    notes: dict[str, str]

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.language in ("python", *SHELL) and not {"not run", "file"} & set(self.notes)

    @property
    def tested(self) -> str:
        """What the test runs: the shortened form, where there is one."""
        return self.notes.get("tested as", self.code)


def pages() -> list[Path]:
    found = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
    return sorted(page for page in found if "_build" not in page.parts)


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, also those inside a MyST directive, whose fence has braces and is none itself."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    open_directives: list[str] = []
    number = 0
    while number < len(lines):
        fence = _FENCE.fullmatch(lines[number])
        number += 1
        if fence is None:
            continue
        if open_directives and not fence["info"] and fence["ticks"].startswith(open_directives[-1]):
            open_directives.pop()
        elif fence["info"].startswith("{"):
            open_directives.append(fence["ticks"])
        else:
            end = _end(lines, number, fence["ticks"], f"{page}:{number}")
            indent = len(fence["indent"])
            code = "".join(f"{line[indent:]}\n" for line in lines[number:end])
            language = fence["info"].split(" ")[0]
            found.append(
                Block(page, number, language, code, _notes(lines[: number - 1], f"{page}:{number}"))
            )
            number = end + 1
    return found


def _end(lines: list[str], start: int, ticks: str, place: str) -> int:
    for number in range(start, len(lines)):
        if lines[number].strip().startswith(ticks) and not lines[number].strip().strip(ticks[0]):
            return number
    raise AssertionError(f"{place}: this block is never closed")


def _notes(before: list[str], place: str) -> dict[str, str]:
    """Return the comments that stand directly above a fence, by their kind."""
    notes: dict[str, str] = {}
    while before and before[-1].rstrip().endswith("-->"):
        start = max(number for number, line in enumerate(before) if "<!--" in line)
        comment = _COMMENT.fullmatch("\n".join(before[start:]).strip())
        assert comment is not None, (
            f"{place}: the comment above this block must read <!-- KIND: WORDS -->"
        )
        assert comment["kind"] in KINDS, (
            f"{place}: a comment above a block is one of {', '.join(KINDS)}, not {comment['kind']!r}"
        )
        notes[comment["kind"]] = (comment["words"] or "").strip()
        before = before[:start]
    return notes


def command_lines(code: str) -> Iterator[list[str]]:
    """Yield the words of each command of a shell block that is ours to check: edgnn, torchrun, make, pip, python and curl."""
    for line in code.replace("\\\n", " ").splitlines():
        line = line.strip().removeprefix("$ ")
        if re.match(r"(edgnn|torchrun|make|pip|python|curl) ", line):
            words = shlex.split(line, comments=True)
            ends = [
                place
                for place, word in enumerate(words)
                if word in ("|", ">", ">>", "&&", ";", "&")
            ]
            yield words[: min(ends, default=len(words))]


def command_of(words: list[str]) -> tuple[str, ...]:
    """Return what a command is without its options: edgnn wl compare, torchrun edgnn train, make demo."""
    program = words[0]
    if program == "torchrun" and "-m" in words:
        return ("torchrun", *command_of(words[words.index("-m") + 1 :]))
    plain = [word for word in words[1:] if not word.startswith("-")]
    return (program, *plain[: 2 if plain[:1] in (["wl"], ["datasets"]) and len(plain) > 1 else 1])
