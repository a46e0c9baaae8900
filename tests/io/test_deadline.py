"""A reader stops when the time it was given is over, in the middle of a file of any format."""

import pickle
import threading

import pytest

import edgnn
from edgnn.errors import DeadlineError, EdgnnError
from edgnn.io import Deadline
from fuzz import samples

EDGES = b"source,target\na,b\nb,c\n"


class Steps(Deadline):
    """A deadline that counts how often it is looked at, and ends at a given look."""

    def __init__(self, most=10**9):
        super().__init__(1_000)
        self.most, self.seen = most, 0

    @property
    def left(self):
        self.seen += 1
        return 1.0 if self.seen <= self.most else -1.0


LARGE = {
    "x.nt": (b"", lambda n: b"<x:a> <x:p> <x:%d> .\n" % n, b"", 120_000),
    "x.nq": (b"", lambda n: b"<x:a> <x:p> <x:%d> <x:g> .\n" % n, b"", 60_000),
    "x.ttl": (b"@prefix x: <x:> .\n", lambda n: b"x:a x:p x:b%d .\n" % n, b"", 90_000),
    "x.rdf": (
        samples.XML.partition(b"  <x:Person")[0],
        lambda n: b'<rdf:Description rdf:about="&x;b%d"><x:age>3</x:age></rdf:Description>\n' % n,
        b"</rdf:RDF>",
        30_000,
    ),
    "x.graphml": (
        samples.GRAPHML.partition(b"    <node")[0].replace(b'<key id="d2"', b'<key id="d3"'),
        lambda n: b'<node id="%d"/>\n' % n,
        b"</graph></graphml>",
        20_000,
    ),
    "x.json": (
        b'{"links": [], "nodes": [{"id": -1}',
        lambda n: b',\n{"id": %d}' % n,
        b"]}",
        20_000,
    ),
    "x.smi": (b"", lambda n: b"CCO\n", b"", 30),
    "molecules.csv": (b"name,smiles\n", lambda n: b"%d,CCO\n" % n, b"", 30),
    "edges.csv": (b"source,target\n", lambda n: b"%d,a\n" % n, b"", 400_000),
    "x.sdf": (b"", lambda n: samples.SDF, b"", 20),
}


@pytest.fixture(params=LARGE)
def large(request, tmp_path):
    start, row, end, count = LARGE[request.param]
    path = tmp_path / request.param
    path.write_bytes(start + b"".join(map(row, range(count))) + end)
    return path


def test_a_long_file_is_left_in_the_middle(large):
    with Steps() as whole:
        edgnn.read(large)
    assert whole.seen > 5
    with Steps(most=whole.seen * 3 // 4), pytest.raises(DeadlineError, match="the time is over"):
        edgnn.read(large)


@pytest.mark.parametrize("files", [samples.TU, samples.TABLES], ids=["tu", "tables"])
def test_folders_are_left_in_the_middle(tmp_path, files):
    samples.put(tmp_path, files)
    with Steps() as whole:
        edgnn.read(tmp_path)
    with Steps(most=whole.seen - 1), pytest.raises(DeadlineError):
        edgnn.read(tmp_path)


def test_archives_and_parquet_are_left_in_the_middle(tmp_path):
    (tmp_path / "x.zip").write_bytes(samples.zipped(samples.TU))
    (tmp_path / "x.parquet").write_bytes(samples.parquet_file())
    for name in ("x.zip", "x.parquet"):
        with Steps() as whole:
            edgnn.read(tmp_path / name)
        with Steps(most=whole.seen - 1), pytest.raises(DeadlineError):
            edgnn.read(tmp_path / name)


def test_molecules_given_in_python_are_left_in_the_middle():
    with Steps(most=5), pytest.raises(DeadlineError):
        edgnn.from_smiles(["C"] * 20)


def test_a_large_molecule_is_left_when_the_time_is_over():
    with Deadline(0.01), pytest.raises(DeadlineError):
        edgnn.from_smiles(["C1" + "C" * 1_500 + "C1"], max_atoms=5_000)


def test_the_earliest_of_nested_deadlines_counts(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(EDGES)
    with Deadline(0), Deadline(1_000), pytest.raises(DeadlineError):
        edgnn.read(path)
    with Deadline(1_000) as outer, pytest.raises(DeadlineError), Deadline(0):
        edgnn.read(path)
    with outer:
        assert edgnn.read(path).num_edges == 2
    assert edgnn.read(path).num_edges == 2


def test_another_thread_can_end_the_time_and_has_none_of_its_own(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(EDGES)
    read = []
    with Deadline(1_000) as deadline:
        other = threading.Thread(target=lambda: (deadline.end(), read.append(edgnn.read(path))))
        other.start()
        other.join()
        assert len(read) == 1
        with pytest.raises(DeadlineError):
            edgnn.read(path)


def test_the_error_is_one_of_ours_and_travels():
    error = pickle.loads(pickle.dumps(DeadlineError("the time is over")))
    assert isinstance(error, EdgnnError)
    assert str(error) == "the time is over"
