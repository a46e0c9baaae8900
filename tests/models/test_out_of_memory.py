"""Where memory runs out, fit and predict raise a MemoryError, whatever torch raises."""

import sys

import pytest

from edgnn import Graphs
from edgnn._system import process_memory
from edgnn.models import GraphClassifier

resource = pytest.importorskip("resource")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA is of Linux")


@pytest.fixture
def little_memory():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    used = process_memory("VmData")
    resource.setrlimit(resource.RLIMIT_DATA, (used + 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


def test_a_network_that_is_too_wide_raises_a_memory_error(little_memory):
    graphs = Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2])
    with pytest.raises(MemoryError, match="allocate"):
        GraphClassifier(hidden=10**9, random_state=0).fit(graphs, [0, 1])
