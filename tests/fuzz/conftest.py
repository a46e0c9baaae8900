"""No fuzzed input may take gigabytes: what asks for them fails here, and a failure by memory is a failure of the test."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOM = 2 * 2**30


@pytest.fixture(autouse=True)
def no_gigabytes() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    import resource

    reserved = int(re.search(r"VmData:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (reserved + _ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)
