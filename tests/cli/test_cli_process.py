from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import edgnn

HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")

LARGE = """
import os, sys
from edgnn.cli._process import set_up
if sys.argv[1] == "kept":
    set_up()
assert "torch" not in sys.modules
import torch

array, wanted = torch.ones(12 * 2**20), None
with open("/proc/self/smaps") as lines:
    for words in map(str.split, lines):
        if "-" in words[0]:
            start, stop = (int(end, 16) for end in words[0].split("-"))
        elif words[0] == "VmFlags:" and start <= array.data_ptr() < stop:
            wanted = "hg" in words
print(wanted, os.environ.get("THP_MEM_ALLOC_ENABLE"))
"""
asked = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not HUGE.exists(),
    reason="huge pages are asked for with glibc on Linux",
)


@asked
def test_large_arrays_are_to_be_laid_out_in_huge_pages(run_python):
    fresh, kept = (run_python(LARGE, mode).split() for mode in ("fresh", "kept"))
    assert fresh == ["False", "None"]
    assert kept == ["True", "1"]


@asked
def test_what_the_user_set_is_left_alone(run_python):
    assert run_python(
        LARGE, "kept", THP_MEM_ALLOC_ENABLE="0", MALLOC_MMAP_THRESHOLD_="65536"
    ).split() == ["False", "0"]


def test_systems_without_the_setting_go_on(run_python):
    without = "import ctypes; ctypes.CDLL = lambda name: object()"
    code = f"{without}\nfrom edgnn.cli._process import set_up\nset_up(); print('on')"
    assert run_python(code).split() == ["on"]


@pytest.mark.parametrize("module", ["edgnn.cli._process", "typer", "edgnn.cli._train"])
def test_ctrl_c_while_modules_are_imported_is_one_line(module):
    code = (
        "import os, signal, sys\n"
        "class Press:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Press())\n"
        "sys.argv = ['edgnn', 'datasets']\n"
        "from edgnn.cli import run\n"
        "run()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "edgnn: interrupted\n")


def test_ctrl_c_while_native_code_sets_up_its_module_is_one_line(tmp_path):
    """An exception in a call from native code is lost, or aborts the process."""
    code = (
        "import ctypes, os, signal, sys\n"
        "press = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "class Native:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'torch':\n"
        "            press()\n"
        "sys.meta_path.insert(0, Native())\n"
        "sys.argv = ['edgnn', 'train', 'MUTAG', '--out', sys.argv[1]]\n"
        "from edgnn.cli import run\n"
        "run()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "run"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "edgnn: interrupted\n")
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(os.name != "posix", reason="shells close streams so")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_nothing_to_write_to(closed, tmp_path):
    (tmp_path / "a.csv").write_text("source,target\na,b\n")
    line = f"{sys.executable} -m edgnn convert a.csv b.graphs {closed}"
    ended = subprocess.run(
        line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(edgnn.read(tmp_path / "b.graphs")) == 1
