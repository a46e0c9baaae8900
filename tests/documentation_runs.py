"""Run a page of the documentation: its blocks in order, in a folder of its own that looks like a fresh clone."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from documentation_blocks import ROOT, Block

_OF_A_CLONE = (
    "Makefile",
    "README.md",
    "benchmarks",
    "constraints.txt",
    "docs",
    "examples",
    "pyproject.toml",
)
_SECONDS = 300
#: Where the programs of this environment are.
BIN = Path(sys.executable).parent
#: What pages are run with.
SURROUNDINGS = {"OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "120"}


class PageRun:
    """The state of a page between its blocks: the folder, one Python namespace, what printed last, servers left running."""

    def __init__(self, folder: Path, programs: Path = BIN) -> None:
        self.folder, self.programs = folder, programs
        self.module = ModuleType("__main__")
        self.printed = ""
        self.servers: list[subprocess.Popen[bytes]] = []
        self.ports: dict[str, str] = {}
        for name in _OF_A_CLONE:
            if (ROOT / name).is_dir():
                shutil.copytree(
                    ROOT / name,
                    folder / name,
                    ignore=shutil.ignore_patterns("_build", "__pycache__", "*.ipynb"),
                )
            elif (ROOT / name).exists():
                shutil.copy(ROOT / name, folder / name)

    def run(self, block: Block) -> None:
        if "file" in block.notes:
            place = self.folder / block.notes["file"]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.code, encoding="utf-8")
        elif "prints" in block.notes:
            numbers = block.notes["prints"] != "numbers may differ"
            expect(self._ported(block.code), self.printed, block.place, numbers=numbers)
        elif not block.runs:
            return
        elif "background" in block.notes:
            self._serve(block)
        elif block.language == "python":
            self._python(block)
        elif block.language == "console" and "tested as" not in block.notes:
            for command, output in dialogue(block.code):
                self._shell(command, block.place)
                if output:
                    expect(self._ported(output), self.printed, block.place)
        else:
            self._shell(block.tested, block.place)

    def close(self) -> None:
        for server in self.servers:
            _end(server)

    def _python(self, block: Block) -> None:
        code = "\n" * block.line + self._ported(
            block.code
        )  # so that an error names the line of the page
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, str(block.page), "exec", dont_inherit=True), vars(self.module))
        self.printed = printed.getvalue()

    def _shell(self, code: str, place: str) -> None:
        process = self._start(["bash", "-c", f"set -euo pipefail\n{self._ported(code)}"])
        try:
            output, errors = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            _end(process)
            raise AssertionError(f"{place} took more than {_SECONDS} seconds:\n{code}") from None
        self.printed = output.decode()
        assert process.returncode == 0, (
            f"{place} ended with {process.returncode}:\n{code}\n{self.printed}\n{errors.decode()}"
        )

    def _serve(self, block: Block) -> None:
        words = shlex.split(block.tested, comments=True)
        if "--port" in words:
            del words[words.index("--port") : words.index("--port") + 2]
        server = self._start([*words, "--port", "0"])
        self.servers.append(server)
        line = server.stdout.readline().decode() if server.stdout else ""
        address = re.search(r"http://[^\s/]+:(\d+)", line)
        if address is None:
            output, errors = server.communicate(timeout=_SECONDS)
            raise AssertionError(
                f"{block.place} prints no address:\n{line}{output.decode()}\n{errors.decode()}"
            )
        self.ports[block.notes["background"]] = address[1]

    def _start(self, words: list[str]) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([*map(str, (self.programs, BIN)), os.environ["PATH"]])
        # what torchrun starts is the program of that name, too
        ranks = {"PYTHON_EXEC": str(self.programs / "python")}
        environment = os.environ | SURROUNDINGS | ranks | {"PATH": path}
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def _ported(self, text: str) -> str:
        for told, taken in self.ports.items():
            text = re.sub(rf":{told}\b", f":{taken}", text)
        return text


def dialogue(code: str) -> list[tuple[str, str]]:
    """Split a console block into commands, behind `$ `, and what each prints."""
    found: list[tuple[str, str]] = []
    going_on = False
    for line in code.splitlines():
        if line.startswith("$ "):
            found.append((line[2:] + "\n", ""))
        elif going_on:
            found[-1] = (found[-1][0] + line + "\n", "")
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
        else:
            raise AssertionError(
                f"a console block begins with a command behind '$ ', not with {line!r}"
            )
        going_on = line.endswith("\\") and not found[-1][1]
    return found


def expect(shown: str, printed: str, place: str, *, numbers: bool = True) -> None:
    """Compare what a page shows with what was printed; … stands for anything within a line, alone on a line for any lines."""
    pattern = ""
    text = printed.strip("\n") + "\n"
    if not numbers:
        shown, text = _without_numbers(shown), _without_numbers(text)
    for line in shown.strip().splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("…")) + r"[ ]*\n"
    assert re.fullmatch(pattern, text), (
        f"{place} shows\n{shown}\nbut this is what is printed:\n{printed}"
    )


def _without_numbers(text: str) -> str:
    """Write 0 for every number, and leave out what depends on how wide it is: runs of blanks, and bars."""
    return re.sub(r"[ █]+", " ", re.sub(r"\d[\d,]*(\.\d+)?(e[-+]?\d+)?", "0", text))


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
