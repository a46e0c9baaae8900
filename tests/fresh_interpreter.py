"""A fresh interpreter that runs one command or piece of code after another, starting up once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_LOOP = """
import contextlib, io, json, os, sys
from edgnn.cli import main
answers = sys.stdout
for line in sys.stdin:
    task = json.loads(line)
    os.chdir(task["folder"])
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            if task["code"] is not None:
                exec(task["code"], {})
            else:
                sys.argv = ["edgnn", *task["words"]]
                main()
        except SystemExit as ended:
            code = ended.code or 0
        except Exception:
            import traceback
            code = -1
            traceback.print_exc()
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""


@dataclass(frozen=True)
class Ended:
    """How a command or a piece of code ended, and what it printed."""

    code: int
    out: str
    err: str


class FreshInterpreter:
    """Start an interpreter, warnings being errors, that imports from these folders first."""

    def __init__(self, *folders: Path) -> None:
        path = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", _LOOP],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def command(self, folder: Path, *words: object) -> Ended:
        """Run ``edgnn`` with these words in a folder."""
        return self._do(folder, words=[*map(str, words)])

    def run(self, folder: Path, code: str) -> Ended:
        """Run a piece of code in a folder."""
        return self._do(folder, code=code)

    def close(self) -> None:
        """End the interpreter."""
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()

    def _do(self, folder: Path, words: list[str] | None = None, code: str | None = None) -> Ended:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = {"folder": str(folder), "words": words, "code": code}
        print(json.dumps(task), file=self._process.stdin, flush=True)
        return Ended(*json.loads(self._process.stdout.readline()))
