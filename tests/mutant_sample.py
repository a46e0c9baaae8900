"""Mutants of mutmut: ``python tests/mutant_sample.py 400`` names so many at random; without a number it tells how they ended."""

import json
import random
import sys
from collections import Counter
from pathlib import Path

from mutmut.stats import status_by_exit_code


def outcomes():
    """Return the exit code of every mutant's tests, by name; None where they were not run."""
    found = {}
    for path in sorted(Path("mutants/src").rglob("*.meta")):
        found |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def main(words):
    codes = outcomes()
    if words:
        print(*random.Random(0).sample(sorted(codes), int(words[0])), sep="\n")
        return
    counts = Counter(status_by_exit_code[code] for code in codes.values() if code is not None)
    caught = counts["killed"] + counts["timeout"] + counts["segfault"]
    print(
        f"{counts.total():,} of {len(codes):,} mutants run, {caught / counts.total():.1%} caught: {dict(counts)}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
