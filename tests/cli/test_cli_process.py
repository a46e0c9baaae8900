from __future__ import annotations

import platform
from pathlib import Path

import pytest

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
