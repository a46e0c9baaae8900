"""``--memory``: sizes as people write them, and a ceiling that ends in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

import edgnn
from edgnn.cli._memory import ceiling, mapped_bytes, parse_size
from edgnn.errors import EdgnnError, TrainingError
from edgnn.io import write_arrays

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits the memory of a process"
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GiB", 2**31),
        ("2G", 2**31),
        ("500MB", 500_000_000),
        ("500 mib", 500 * 2**20),
        ("1.5k", 1536),
        ("123", 123),
        ("7b", 7),
        ("1TB", 10**12),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "GiB", "2XB", "1e9", "nan", "٣G", "9" * 30, "2GiBB", "1,5G", "99999999TB"],
)
def test_what_is_no_size_is_told(text):
    with pytest.raises(EdgnnError, match="give a size such as 2GiB"):
        parse_size(text)


def run_code(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@linux
def test_more_than_the_ceiling_is_told_and_the_limit_is_lifted_afterwards():
    said = run_code(
        """
import numpy, torch, resource
from edgnn.cli._memory import ceiling
from edgnn.errors import EdgnnError
before = resource.getrlimit(resource.RLIMIT_DATA)
for take in (lambda: torch.zeros(2**28), lambda: numpy.zeros(2**28).sum(), lambda: bytearray(2**30), lambda: [0] * 2**27):
    try:
        with ceiling("700MiB"):
            kept = torch.zeros(2**20)
            take()
        print("it worked")
    except EdgnnError as error:
        print(error)
print(resource.getrlimit(resource.RLIMIT_DATA) == before, len(torch.zeros(2**28)))
"""
    ).splitlines()
    assert len(said) == 5
    assert all(
        line.startswith("this needs more than --memory 700MiB; to fix it: a higher --memory")
        for line in said[:4]
    )
    assert said[4] == f"True {2**28}"


@linux
def test_a_ceiling_below_the_program_itself_says_how_much_that_takes():
    with (
        pytest.raises(
            EdgnnError,
            match=r"--memory 10MB: the program itself takes \d+ MiB; give at least \d+MiB",
        ),
        ceiling("10MB"),
    ):
        pass


@linux
def test_other_errors_and_no_ceiling_pass_as_they_are():
    with pytest.raises(TrainingError, match="something else"), ceiling("100GiB"):
        raise TrainingError("something else")
    with pytest.raises(MemoryError), ceiling(None):
        raise MemoryError


@linux
def test_the_memory_of_a_device_is_not_what_the_ceiling_is_about():
    with pytest.raises(TrainingError, match="CUDA out of memory"), ceiling("100GiB"):
        raise TrainingError(
            "out of memory: lower batch_size, hidden or members (CUDA out of memory. Tried to allocate 80 GiB)",
            kind="memory",
        )
    with pytest.raises(EdgnnError, match="more than --memory 100GiB"), ceiling("100GiB"):
        raise TrainingError(
            "out of memory: lower batch_size, hidden or members (can't allocate memory)",
            kind="memory",
        )


def test_mapped_data_is_not_counted(tmp_path):
    write_arrays(edgnn.load_dataset("MUTAG").graphs, tmp_path / "x.graphs")
    assert mapped_bytes(tmp_path / "x.graphs") > 8 * (3371 + 3 * 7442)
    assert [
        mapped_bytes(other) for other in (None, "MUTAG", tmp_path, "a\0b", tmp_path / "no")
    ] == [0] * 5


@linux
def test_a_training_beyond_its_ceiling_is_one_line(tmp_path):
    words = [
        "train",
        "MUTAG",
        "--out",
        "run",
        "--memory",
        "600MiB",
        "--hidden",
        "4096",
        "--layers",
        "4",
        "--max-epochs",
        "1",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "edgnn", *words, "-q"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("edgnn: this needs more than --memory 600MiB; to fix it: ")
