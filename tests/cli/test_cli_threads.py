from __future__ import annotations

import platform
from pathlib import Path

import pytest

HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")

STEP = """
import os, resource, sys
from edgnn.cli._threads import reuse_memory
if sys.argv[1] == "kept":
    reuse_memory()
assert "torch" not in sys.modules
import torch

def step():
    return torch.ones(12 * 2**20).sum()

for _ in range(5):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, os.environ.get("THP_MEM_ALLOC_ENABLE"))
"""
glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="settings of glibc")


@glibc
@pytest.mark.skipif(not HUGE.exists() or "[never]" in HUGE.read_text(), reason="the system has no huge pages")
def test_large_arrays_are_laid_out_in_few_pages(run_python):
    fresh, kept = (run_python(STEP, mode).split() for mode in ("fresh", "kept"))
    assert 5 * int(kept[0]) < int(fresh[0])
    assert (fresh[1], kept[1]) == ("None", "1")


@glibc
def test_what_the_user_set_is_left_alone(run_python):
    pages, huge = run_python(STEP, "kept", THP_MEM_ALLOC_ENABLE="0", MALLOC_MMAP_THRESHOLD_="65536").split()
    assert int(pages) > 5_000
    assert huge == "0"


def test_systems_without_the_setting_go_on(run_python):
    without = "import ctypes; ctypes.CDLL = lambda name: object()"
    code = f"{without}\nfrom edgnn.cli._threads import reuse_memory\nreuse_memory(); print('on')"
    assert run_python(code).split() == ["on"]
