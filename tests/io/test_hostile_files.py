"""Files that are none, and files that are wide: told at once, read in time that grows with them."""

import errno
import os
import pickle
import socket
import time
from pathlib import Path

import pytest

import edgnn
from edgnn.errors import EdgnnError, FileError, FormatError, MissingFileError
from edgnn.io import FORMATS, load_dataset, open_structure, read, read_labeled
from edgnn.io.datasets import named_nodes
from fuzz import samples
from fuzz.mutations import no_longer_than

SUFFIXES = sorted({suffix for one in FORMATS.values() for suffix in one.suffixes} | {".csv.gz", ""})


@pytest.fixture
def pipe(tmp_path):
    """Return what makes a pipe of a name; nobody writes into it."""

    def make(name):
        os.mkfifo(tmp_path / name)
        return tmp_path / name

    return make


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_pipe_in_place_of_a_file_is_told_at_once(pipe, suffix):
    with no_longer_than(20), pytest.raises(EdgnnError, match=r"this is a (pipe|file), (not|but)"):
        read(pipe(f"x{suffix}"))


@pytest.mark.parametrize("name", [one for one in FORMATS if one not in ("arrows",)])
def test_a_pipe_is_told_by_every_reader(pipe, name):
    path = pipe("x.csv")
    with no_longer_than(20), pytest.raises(EdgnnError, match=r"this is a (pipe|file), (not|but)"):
        read_labeled(path, format=name)


@pytest.mark.parametrize("option", ["nodes", "graphs", "target_file"])
def test_a_pipe_is_told_in_options_that_name_files(pipe, tmp_path, option):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    with no_longer_than(20), pytest.raises(FileError, match="this is a pipe, not a file; save"):
        load_dataset(tmp_path / "edges.csv", **{option: pipe("x.csv")})


def test_a_pipe_is_told_in_lists_of_nodes_and_in_folders(pipe, tmp_path):
    graphs = read_labeled(samples.put(tmp_path / "tu", samples.TU)).graphs
    with no_longer_than(20), pytest.raises(FileError, match="this is a pipe"):
        named_nodes(graphs, pipe("list"))
    for files, name in ((samples.TABLES, "nodes.csv"), (samples.TABLES, "edges.csv")):
        place = samples.put(tmp_path / f"with {name}", files)
        (place / name).unlink()
        os.mkfifo(place / name)
        with no_longer_than(20), pytest.raises(FileError, match="this is a pipe"):
            read(place)
    for files, header in (
        (samples.arrays_folder(tmp_path / "a.graphs"), "graphs.json"),
        (samples.structure_folder(tmp_path / "s"), "structure.json"),
    ):
        for name in files:
            place = samples.put(tmp_path / f"{header} {name}", files)
            (place / name).unlink()
            os.mkfifo(place / name)
            with no_longer_than(20), pytest.raises(EdgnnError, match="this is a pipe"):
                (read if header == "graphs.json" else open_structure)(place)


def test_devices_sockets_and_folders_are_told(tmp_path):
    with pytest.raises(FileError, match="/dev/zero: this is a device, not a file"):
        read("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        place = tmp_path / "s.csv"
        listening.bind(str(place))
        with pytest.raises(FileError, match="this is a socket, not a file"):
            read(place)
    (tmp_path / "x.graphml").mkdir()
    with pytest.raises(FileError, match="this is a folder, not a file; name a file in it") as told:
        read(tmp_path / "x.graphml", format="graphml")
    assert told.value.errno == errno.EISDIR


def test_a_link_to_a_file_is_read(tmp_path):
    (tmp_path / "x.csv").write_text("source,target\na,b\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "x.csv")
    assert read(tmp_path / "link.csv").num_edges == 1


@pytest.mark.parametrize("name", ["no.csv", "no.zip", "no.graphs", "no/such.nt", "no"])
def test_a_missing_file_is_an_error_of_ours_and_of_the_system(tmp_path, name):
    with pytest.raises(MissingFileError, match="No such file or directory") as told:
        read(tmp_path / name)
    error = told.value
    assert isinstance(error, FileNotFoundError)
    assert (error.errno, error.filename) == (errno.ENOENT, error.path)
    assert Path(error.path) in {tmp_path / name, tmp_path / name / "graphs.json"}
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.errno) == (MissingFileError, str(error), errno.ENOENT)


def test_what_the_system_refuses_is_an_error_of_ours(tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(FileError, match="symbolic links") as told:
        read(tmp_path / "loop.csv")
    assert told.value.errno == errno.ELOOP
    with pytest.raises(FileError, match="holds a zero byte"):
        read("a\0b")
    with pytest.raises(FileError, match="too long"):
        read(tmp_path / ("x" * 5_000 + ".csv"))
    if Path("/proc/self/mem").exists():
        with pytest.raises(FileError, match="/proc/self/mem"):
            read("/proc/self/mem")


# Wide files

WIDE = 95_000
NAMES = ",".join(f"c{number}" for number in range(WIDE))
ONES = ",".join(["1"] * WIDE)
FEATURES = 40_000


def cpu_seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def test_a_table_of_very_many_columns_takes_a_moment(tmp_path):
    (tmp_path / "warm.csv").write_text("source,target\na,b\n")
    edgnn.read(tmp_path / "warm.csv")
    path = tmp_path / "wide.csv"
    path.write_text(f"source,target,{NAMES}\na,b,{ONES}\n")
    assert cpu_seconds(lambda: read(path)) < 10  # it were minutes
    path.write_text(f"source,target,{NAMES},c7\na,b,{ONES},1\n")
    with pytest.raises(FormatError, match="the column 'c7' stands twice"):
        read(path)
    path.write_text(f"source,goal,{NAMES}\na,b,{ONES}\n")
    with pytest.raises(FormatError, match="there is no column 'target'") as told:
        read(path, source="source")
    assert len(str(told.value)) < 1_000


def test_the_columns_of_a_very_wide_table_are_listed_in_a_moment(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(f"source,target,{NAMES}\na,b,{ONES}\n")
    uses = []
    assert cpu_seconds(lambda: uses.extend(FORMATS["tables"].columns(path, {}))) < 10
    assert len(uses[0].unused) == WIDE
    assert uses[0].numbers[:2] == ("c0", "c1")


def test_molecules_beside_very_many_columns_take_a_moment(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(f"smiles,{NAMES}\nCCO,{ONES}\n")
    assert cpu_seconds(lambda: read(path)) < 10


def test_graphml_of_very_many_keys_takes_a_moment(tmp_path):
    keys = "".join(
        f'<key id="k{n}" for="node" attr.name="feature_{n}" attr.type="double"/>'
        for n in range(FEATURES)
    )
    path = tmp_path / "x.graphml"
    path.write_text(
        f'<graphml>{keys}<graph edgedefault="directed"><node id="a"/></graph></graphml>'
    )
    assert cpu_seconds(lambda: read(path)) < 10
