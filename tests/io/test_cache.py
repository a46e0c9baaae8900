"""The cache: complete or absent, verified on every use, fetched once, healed when damaged."""

import errno
import hashlib
import io
import json
import os
import pathlib
import random
import re
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgnn.errors import ChecksumError, DatasetError, FetchError, FormatError
from edgnn.io.datasets import (
    DATASETS,
    Entry,
    Part,
    cache_root,
    ensure,
    load_dataset,
    manifest,
)
from edgnn.io.datasets._cache import MANIFEST, recorded, unpack, verify

FILES = {
    "TOY_A.txt": b"1, 2\n2, 1\n" * 5_000,
    "TOY_graph_indicator.txt": b"1\n1\n",
    "README.txt": b"a toy\n",
}


def hashes(files):
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def toy_zip(files=FILES):
    return zipped({f"TOY/{name}": content for name, content in files.items()})


def toy(*urls):
    return [Part(urls, "TOY.zip", archive=True, keep="TOY_")]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


def beside(folder):
    return sorted(path.name for path in folder.parent.iterdir())


@pytest.fixture
def root(tmp_path):
    return tmp_path / "cache"


def fetch(root, *urls, checksums=None, **options):
    return ensure("TUDataset/TOY", toy(*urls), checksums=checksums, root=root, **options)


def test_archive_becomes_a_folder_with_a_manifest(server, root):
    url = server.add("/TOY.zip", toy_zip())
    folder = fetch(root, url, checksums=hashes(FILES))
    assert folder == root / "TUDataset" / "TOY"
    assert contents(folder) == FILES
    assert beside(folder) == ["TOY"]
    note = manifest(folder)
    assert note["files"]["README.txt"] == {
        "url": url,
        "sha256": hashes(FILES)["README.txt"],
        "size": 6,
    }
    assert set(note["files"]) == set(FILES)
    age = datetime.now(UTC) - datetime.fromisoformat(note["downloaded"])
    assert timedelta(seconds=-2) < age < timedelta(minutes=5)


def test_plain_files_of_several_parts_come_together(server, root):
    files = {"toy.nt.gz": b"\x1f\x8bgraph", "split/train.tsv": b"a\tb\n"}
    parts = [
        Part((server.url("/404"), server.add(f"/{name}", content)), name)
        for name, content in files.items()
    ]
    folder = ensure("rdf/toy", parts, checksums=hashes(files), root=root)
    assert {name: (folder / name).read_bytes() for name in files} == files
    assert {name: entry["url"] for name, entry in manifest(folder)["files"].items()} == {
        n: server.url(f"/{n}") for n in files
    }


def test_second_call_asks_nobody(server, root):
    url = server.add("/TOY.zip", toy_zip())
    for _ in range(3):
        fetch(root, url, checksums=hashes(FILES))
    assert len(server.requests) == 1


def test_read_only_copy_without_manifest_is_used_where_checksums_are_published(server, root):
    folder = root / "TUDataset" / "TOY"
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    assert fetch(root, checksums=hashes(FILES)) == folder
    assert sorted(path.name for path in root.iterdir()) == ["TUDataset"]


def test_archive_without_top_folder_and_with_other_members(server, root):
    junk = {
        "__MACOSX/TOY/._TOY_A.txt": b"x",
        "other/notes.txt": b"y",
        "TOYS.txt": b"z",
        "docs/README.md": b"w",
    }
    url = server.add("/TOY.zip", zipped(FILES | junk))
    assert contents(fetch(root, url)) == FILES


def test_files_without_checksum_are_left_out(server, root):
    wanted = hashes({name: FILES[name] for name in ("TOY_A.txt", "TOY_graph_indicator.txt")})
    folder = fetch(
        root, server.add("/TOY.zip", toy_zip(FILES | {"TOY_extra.txt": b"?"})), checksums=wanted
    )
    assert set(contents(folder)) == set(wanted) == set(recorded(folder))


def test_first_download_without_checksums_records_them_and_says_so(server, root):
    url, said = server.add("/TOY.zip", toy_zip()), []
    folder = fetch(root, url, on_first=said.append)
    (message,) = said
    assert "TUDataset/TOY" in message
    assert "recorded" in message
    assert recorded(folder) == hashes(FILES)
    fetch(root, url, on_first=said.append)
    assert (len(said), len(server.requests)) == (1, 1)


def test_published_checksums_are_not_announced_as_recorded(server, root):
    said = []
    fetch(root, server.add("/TOY.zip", toy_zip()), checksums=hashes(FILES), on_first=said.append)
    assert said == []


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize("harm", ["changed", "cut", "missing", "folder"])
def test_damaged_folder_is_fetched_again(server, root, published, harm):
    url, said = server.add("/TOY.zip", toy_zip()), []
    checksums = hashes(FILES) if published else None
    folder = fetch(root, url, checksums=checksums)
    file = folder / "TOY_A.txt"
    if harm == "changed":
        file.write_bytes(b"9" + FILES["TOY_A.txt"][1:])
    elif harm == "cut":
        file.write_bytes(FILES["TOY_A.txt"][:100])
    else:
        file.unlink()
        if harm == "folder":
            file.mkdir()
    assert fetch(root, url, checksums=checksums, on_first=said.append) == folder
    assert contents(folder) == FILES
    assert len(server.requests) == 2
    assert said == []
    assert beside(folder) == [".TOY.damaged", "TOY"]


@pytest.mark.parametrize(
    "note",
    [None, "", "{}", '{"files": {}}', '{"files": {"a": 1}}', '{"files": []}', "[1]", "\xff\x00"],
)
def test_folder_without_checksums_and_readable_manifest_is_fetched_again(server, root, note):
    url = server.add("/TOY.zip", toy_zip())
    folder = fetch(root, url)
    (folder / MANIFEST).unlink()
    if note is not None:
        (folder / MANIFEST).write_bytes(note.encode("latin-1"))
    fetch(root, url)
    assert recorded(folder) == hashes(FILES)
    assert len(server.requests) == 2


def test_damaged_folder_offline_names_the_file_and_the_way_out(server, root):
    url = server.add("/TOY.zip", toy_zip())
    folder = fetch(root, url, checksums=hashes(FILES))
    (folder / "TOY_A.txt").write_bytes(b"")
    server.pages.clear()
    for _ in range(2):
        with pytest.raises(ChecksumError) as caught:
            fetch(root, url, checksums=hashes(FILES))
        message = str(caught.value)
        assert message.startswith(f"{folder / 'TOY_A.txt'} is not the published file")
        assert "HTTP 404" in message
        assert f"delete the folder {folder}" in message
        assert beside(folder) == ["TOY"]


def test_healing_without_published_checksums_does_not_accept_other_content(server, root):
    url = server.add("/TOY.zip", toy_zip())
    folder = fetch(root, url)
    (folder / "TOY_A.txt").unlink()
    server.add("/TOY.zip", toy_zip(FILES | {"TOY_A.txt": b"2, 1\n"}))
    with pytest.raises(
        ChecksumError, match=r"TOY\.zip/TOY_A\.txt is not the published file.*delete the folder"
    ):
        fetch(root, url)


def test_wrong_archive_moves_on_to_the_good_mirror(server, root):
    bad = server.add("/bad.zip", toy_zip(FILES | {"TOY_A.txt": b"2, 1\n"}))
    good = server.add("/good.zip", toy_zip())
    folder = fetch(root, bad, good, checksums=hashes(FILES))
    assert contents(folder) == FILES
    assert {entry["url"] for entry in manifest(folder)["files"].values()} == {good}


def altered(content, place, value):
    return content[:place] + value + content[place + len(value) :]


def encrypted():
    content = zipped({"TOY/TOY_A.txt": b"secret"}, zipfile.ZIP_STORED)
    return altered(altered(content, 6, b"\x01"), content.index(b"PK\x01\x02") + 8, b"\x01")


def symbolic_link():
    info, buffer = zipfile.ZipInfo("TOY/TOY_A.txt"), io.BytesIO()
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def escaping(name):
    return lambda: zipped({"TOY/TOY_A.txt": b"1, 1\n", name: b"!"})


BAD_ARCHIVES = {
    "no zip": (lambda: b"<html>sorry</html>", "not a readable zip archive"),
    "empty": (lambda: b"", "not a readable zip archive"),
    "truncated": (lambda: toy_zip()[:-30], "not a readable zip archive"),
    "damaged": (
        lambda: altered(toy_zip(), 60, bytes(20)),
        "TOY_A.txt: the compressed data is damaged",
    ),
    "wrong crc": (
        lambda: altered(zipped({"TOY/TOY_A.txt": bytes(99)}, zipfile.ZIP_STORED), 60, b"1"),
        "Bad CRC-32",
    ),
    "bzip2": (
        lambda: zipped({"TOY/TOY_A.txt": b""}, zipfile.ZIP_BZIP2),
        "not compressed by deflate",
    ),
    "encrypted": (encrypted, "encrypted"),
    "symbolic link": (symbolic_link, "outside its folder"),
    "escapes upwards": (escaping("../TOY_evil.txt"), "outside its folder"),
    "escapes to the root": (escaping("/TOY_evil.txt"), "outside its folder"),
    "escapes by backslash": (escaping("..\\TOY_evil.txt"), "outside its folder"),
    "another set": (lambda: zipped({"OTHER/OTHER_A.txt": b"1, 1\n"}), "files named TOY_… nowhere"),
    "two folders": (
        lambda: zipped({"a/TOY_A.txt": b"1", "b/TOY_A.txt": b"2"}),
        "files named TOY_… in 2 folders",
    ),
    "bomb": (lambda: zipped({"TOY/TOY_A.txt": bytes(65 * 2**20)}), "unpacks to 68,157,440 bytes"),
    "bomb in parts": (
        lambda: zipped({f"TOY/TOY_{n}.txt": bytes(17 * 2**20) for n in range(4)}),
        "unpacks to 71,303,168 bytes",
    ),
}


@pytest.mark.parametrize("kind", list(BAD_ARCHIVES))
def test_bad_archive_is_turned_down_and_leaves_nothing(server, root, kind):
    build, reason = BAD_ARCHIVES[kind]
    bad = server.add("/bad.zip", build())
    with pytest.raises(ChecksumError, match=f"{re.escape(bad)}: .*{re.escape(reason)}"):
        fetch(root, bad)
    assert [
        path for path in root.parent.rglob("*") if path.is_file() and path.parent.name != ".locks"
    ] == []
    assert contents(fetch(root, bad, server.add("/good.zip", toy_zip()))) == FILES


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_damage_to_an_archive_is_an_error_of_ours_or_harmless(tmp_path_factory, data):
    method = data.draw(
        st.sampled_from(
            [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
        )
    )
    content = bytearray(zipped({"TOY/TOY_A.txt": b"1, 2\n" * 30, "TOY/README.txt": b"toy"}, method))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    folder = tmp_path_factory.mktemp("zip")
    (folder / "a.zip").write_bytes(content[: data.draw(st.integers(0, len(content)))])
    (folder / "into").mkdir()
    with suppress(FormatError):
        unpack(folder / "a.zip", "a.zip", folder / "into", "TOY_")
    assert sorted(path.name for path in folder.iterdir()) == ["a.zip", "into"]


@pytest.mark.parametrize("name", ["TOY_graph_indicator.txt", "README.txt"])
def test_archive_that_lacks_a_published_file_moves_on(server, root, name):
    lacking = server.add(
        "/bad.zip", toy_zip({key: value for key, value in FILES.items() if key != name})
    )
    with pytest.raises(ChecksumError, match=f"TOY.zip/{name} is missing"):
        fetch(root, lacking, checksums=hashes(FILES))
    assert (
        contents(fetch(root, lacking, server.add("/good.zip", toy_zip()), checksums=hashes(FILES)))
        == FILES
    )


def test_published_file_that_no_part_holds_is_missed(server, root):
    with pytest.raises(ChecksumError, match=r"splits\.tsv is missing"):
        fetch(
            root, server.add("/TOY.zip", toy_zip()), checksums=hashes(FILES | {"splits.tsv": b""})
        )
    assert list((root / "TUDataset").iterdir()) == []


def test_failure_leaves_no_folder_and_no_litter(server, root):
    with pytest.raises(FetchError, match=r"TOY\.zip could not be downloaded.*HTTP 404.*EDGNN_DATA"):
        fetch(root, server.url("/gone.zip"))
    assert list((root / "TUDataset").iterdir()) == []


def test_failure_of_a_later_part_leaves_no_folder(server, root):
    parts = [Part((server.add("/a", b"a"),), "a"), Part((server.url("/gone"),), "b")]
    with pytest.raises(FetchError):
        ensure("rdf/toy", parts, checksums=None, root=root)
    assert list((root / "rdf").iterdir()) == []


def test_cut_download_is_resumed_by_the_next_call(server, root):
    body = toy_zip(FILES | {"TOY_noise.txt": random.Random(0).randbytes(50_000)})
    url = server.add("/TOY.zip", body, cuts=[16_384, 16_384, 0])
    with pytest.raises(FetchError, match="cut after 32,768"):
        fetch(root, url)
    assert not (root / "TUDataset" / "TOY").exists()
    folder = fetch(root, url)
    rest = "bytes=32768-"
    assert server.ranges_of("/TOY.zip") == [None, "bytes=16384-", rest, rest]
    assert beside(folder) == ["TOY"]


SCRIPT = """
import os, signal, sys
from pathlib import Path
from edgnn.io.datasets import _cache
parts = [_cache.Part((sys.argv[1],), "TOY.zip", archive=True, keep="TOY_")]
def run(): _cache.ensure("TUDataset/TOY", parts, checksums=None, root=Path(sys.argv[2]), on_first=print)
"""


def test_kill_in_the_middle_of_unpacking_leaves_no_broken_folder(server, root):
    url = server.add("/TOY.zip", toy_zip())
    code = SCRIPT + (
        ""
        "real, seen = _cache.open_member, []\n"
        "def deadly(*args):\n"
        "    seen.append(args)\n"
        "    if len(seen) == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(*args)\n"
        "_cache.open_member = deadly\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, url, str(root)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    folder = root / "TUDataset" / "TOY"
    assert beside(folder) == [".TOY.partial"]
    assert [path.name for path in (root / "TUDataset" / ".TOY.partial" / "unpacked").iterdir()] == [
        "TOY_A.txt"
    ]
    assert contents(fetch(root, url)) == FILES
    assert beside(folder) == ["TOY"]
    assert server.ranges_of("/TOY.zip") == [None]


def test_two_processes_at_once_download_once(server, root):
    url = server.add("/TOY.zip", toy_zip(), pause=0.7)
    code = SCRIPT + "print('ready', flush=True); sys.stdin.readline(); run()"
    command = [sys.executable, "-c", code, url, str(root)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(server.requests) == 1
    assert sorted(map(bool, said)) == [False, True]
    assert contents(root / "TUDataset" / "TOY") == FILES


def test_many_threads_at_once_download_once(server, root):
    url = server.add("/TOY.zip", toy_zip(), pause=0.3)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(contents(fetch(root, url)))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [FILES] * 8
    assert len(server.requests) == 1


def test_waiting_for_another_process_ends_with_a_message(server, root):
    url = server.add("/TOY.zip", toy_zip(), stall=-1)

    def hold():
        with suppress(FetchError):
            fetch(root, url)

    holder = threading.Thread(target=hold)
    holder.start()
    while not server.requests:
        time.sleep(0.01)
    with pytest.raises(
        DatasetError,
        match=r"another process has been fetching TUDataset/TOY .*TUDataset--TOY\.lock",
    ):
        fetch(root, url, lock_timeout=0.1)
    server.released.set()
    holder.join()


def test_root_that_cannot_be_a_folder_is_one_clear_error(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DatasetError, match=r"cannot use the cache .*file.*EDGNN_CACHE") as caught:
        fetch(tmp_path / "file" / "cache", server.add("/TOY.zip", toy_zip()))
    assert not isinstance(caught.value, FetchError)
    assert server.requests == []


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere"
)
def test_root_without_write_permission_is_one_clear_error(server, root):
    root.mkdir(mode=0o500)
    with pytest.raises(
        DatasetError, match=r"cannot use the cache .*Permission denied.*EDGNN_CACHE"
    ):
        fetch(root, server.add("/TOY.zip", toy_zip()))


def test_read_only_file_system_is_one_clear_error(server, root, monkeypatch):
    def refuse(path, *args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(pathlib.Path, "mkdir", refuse)
    with pytest.raises(
        DatasetError, match=r"cannot use the cache .*Read-only file system.*EDGNN_CACHE"
    ):
        fetch(root, server.add("/TOY.zip", toy_zip()))


def test_disk_that_fills_up_while_unpacking_is_one_clear_error(server, root, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    url = server.add("/TOY.zip", toy_zip())
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(DatasetError, match=r"No space left on device.*EDGNN_CACHE"):
        fetch(root, url)
    monkeypatch.undo()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert not (root / "TUDataset" / "TOY").exists()
    assert contents(fetch(root, url)) == FILES


def test_something_else_in_place_of_the_folder_is_moved_away(server, root):
    (root / "TUDataset").mkdir(parents=True)
    (root / "TUDataset" / "TOY").write_text("mine")
    assert contents(fetch(root, server.add("/TOY.zip", toy_zip()))) == FILES
    assert (root / "TUDataset" / ".TOY.damaged").read_text() == "mine"


@pytest.mark.parametrize(
    "folder",
    ["", "..", "../TOY", "TUDataset/../../x", "/etc", "a//b", "a/.locks", "C:/x", "a\\b", "a\0b"],
)
def test_place_outside_the_cache_is_refused(root, folder):
    with pytest.raises(DatasetError, match="no place within the cache"):
        ensure(folder, [], checksums=None, root=root)
    with pytest.raises(DatasetError, match="no place within the cache"):
        Part(("http://127.0.0.1/",), folder)


def test_verify_names_the_first_file_that_differs(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    verify(tmp_path, hashes(FILES))
    verify(tmp_path, {name: value.upper() for name, value in hashes(FILES).items()})
    wrong = hashes(FILES | {"TOY_graph_indicator.txt": b"1\n2\n"})
    expected, found = (table["TOY_graph_indicator.txt"][:12] for table in (wrong, hashes(FILES)))
    with pytest.raises(ChecksumError, match=f"TOY_graph_indicator.txt .*{found}.*{expected}"):
        verify(tmp_path, wrong)
    with pytest.raises(ChecksumError, match=r"TOY_gone\.txt is missing"):
        verify(tmp_path, hashes(FILES | {"TOY_gone.txt": b""}))


def test_manifest_is_plain_json_with_final_newline(server, root):
    text = (fetch(root, server.add("/TOY.zip", toy_zip())) / MANIFEST).read_text()
    assert text.endswith("}\n")
    assert json.loads(text)["files"].keys() == FILES.keys()


def test_cache_root_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("EDGNN_CACHE", "")
    assert cache_root() == tmp_path / ".cache" / "edgnn"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_root() == tmp_path / ".cache" / "edgnn"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "edgnn"
    monkeypatch.setenv("EDGNN_CACHE", "~/own")
    assert cache_root() == tmp_path / "own"


def test_user_without_home_is_told_to_name_a_cache(monkeypatch):
    def homeless(cls):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("EDGNN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pathlib.Path, "home", classmethod(homeless))
    with pytest.raises(DatasetError, match="EDGNN_CACHE"):
        cache_root()


def test_default_cache_is_the_users(server, monkeypatch, tmp_path):
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path / "own"))
    folder = ensure("TUDataset/TOY", toy(server.add("/TOY.zip", toy_zip())), checksums=None)
    assert folder == tmp_path / "own" / "TUDataset" / "TOY"


def test_declared_size_is_the_most_a_member_can_unpack_to(tmp_path):
    content = bytearray(zipped({"TOY_A.txt": bytes(2**20)}))
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<I", 100)
    (tmp_path / "a.zip").write_bytes(content)
    (tmp_path / "into").mkdir()
    with pytest.raises(FormatError):
        unpack(tmp_path / "a.zip", "a.zip", tmp_path / "into", "TOY_")
    assert all(path.stat().st_size <= 100 for path in (tmp_path / "into").iterdir())


def test_a_data_set_of_another_package_is_loaded_by_name(server, monkeypatch, tmp_path):
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path))
    monkeypatch.delenv("EDGNN_DATA", raising=False)
    own = Entry(
        name="TOY",
        kind="tu",
        folder="TUDataset/TOY",
        parts=tuple(toy(server.add("/TOY.zip", toy_zip()))),
        sha256=hashes(FILES),
        description="two nodes",
    )
    monkeypatch.setattr(DATASETS, "_entries", {**DATASETS, own.name: own})
    data = load_dataset("toy")
    assert (data.graphs.num_nodes, data.description, data.task) == (2, "two nodes", None)
    assert load_dataset("TOY", download=False).source.startswith("cache: ")
    assert len(server.requests) == 1
