from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import struct
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgnn import _files
from edgnn._files import (
    BOMB_FLOOR,
    BOMB_RATIO,
    atomic_file,
    atomic_folder,
    line_chunks,
    open_binary,
    open_member,
    open_zip,
    unpack_limit,
    zip_members,
)
from edgnn.errors import FormatError

METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


def archive_of(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def read_member(path, name="a.txt", **options):
    with (
        open_zip(path) as archive,
        open_member(archive, zip_members(archive, path)[name], path, **options) as stream,
    ):
        return stream.read()


# Reading


def test_plain_and_gzip_files_read_the_same_whatever_they_are_called(tmp_path):
    data = b"1, 2\n" * 1000
    (tmp_path / "plain.gz").write_bytes(data)
    (tmp_path / "packed.txt").write_bytes(gzip.compress(data[:2500]) + gzip.compress(data[2500:]))
    for name in ("plain.gz", "packed.txt"):
        with open_binary(tmp_path / name) as stream:
            assert stream.read() == data


@pytest.mark.parametrize("data", [b"", b"\x1f", b"x"])
def test_files_of_no_or_one_byte_are_plain(tmp_path, data):
    (tmp_path / "tiny").write_bytes(data)
    with open_binary(tmp_path / "tiny") as stream:
        assert stream.read() == data


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-9],
        lambda data: data[:12],
        lambda data: data[:200] + b"\0" * 50 + data[250:],
    ],
)
def test_damaged_gzip_is_a_format_error_that_names_the_file(tmp_path, damage):
    path = tmp_path / "edges.gz"
    path.write_bytes(damage(gzip.compress(os.urandom(5000))))
    with (
        open_binary(path) as stream,
        pytest.raises(FormatError, match="damaged or cut off") as caught,
    ):
        stream.read()
    assert caught.value.path == str(path)


def test_a_gzip_bomb_stops_at_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"1\n" * 2_000_000))
    with open_binary(path) as stream:
        assert len(stream.read()) == 4_000_000
    with (
        open_binary(path, max_bytes=10_000) as stream,
        pytest.raises(FormatError, match=r"more than 10,000 bytes.*max_bytes="),
    ):
        stream.read(20_000)
    monkeypatch.setattr(_files, "BOMB_FLOOR", 1_000_000)
    with open_binary(path) as stream, pytest.raises(FormatError, match="decompression bomb"):
        stream.read()
    with open_binary(path, max_bytes=4_000_000) as stream:
        assert len(stream.read()) == 4_000_000


def test_the_default_limit_is_a_hundredfold_or_a_floor():
    assert unpack_limit(1, None) == BOMB_FLOOR
    assert unpack_limit(BOMB_FLOOR, None) == BOMB_RATIO * BOMB_FLOOR
    assert unpack_limit(BOMB_FLOOR, 5) == 5


def test_a_failing_disk_is_not_blamed_on_the_format():
    class Failing(io.RawIOBase):
        def read(self, size=-1):
            raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output error") as caught:
        io.BufferedReader(_files.Guarded(Failing(), "file", None)).read(1)
    assert not isinstance(caught.value, FormatError)


def test_closing_closes_the_file_underneath(tmp_path):
    path = tmp_path / "data.gz"
    path.write_bytes(gzip.compress(b"1"))
    stream = open_binary(path)
    guarded = stream.raw
    assert guarded.readable()
    stream.close()
    assert guarded._also_close.closed


# Archives


@pytest.mark.parametrize("method", METHODS)
def test_members_read_whole(tmp_path, method):
    path = archive_of(
        tmp_path / "z.zip", {"a.txt": b"1\n" * 5000, "folder/b.txt": b"2", "folder/": b""}, method
    )
    assert read_member(path) == b"1\n" * 5000
    assert read_member(path, "folder/b.txt") == b"2"
    with open_zip(path) as archive:
        assert set(zip_members(archive, path)) == {"a.txt", "folder/b.txt"}


OUTSIDE = [
    "../e.txt",
    "a/../../e.txt",
    "/etc/e.txt",
    "\\e.txt",
    "..\\e.txt",
    "C:/e.txt",
    "C:e.txt",
    "c:\\e.txt",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_members_that_leave_the_folder_are_refused(tmp_path, name):
    path = archive_of(tmp_path / "z.zip", {"a.txt": b"1", name: b"evil"})
    with (
        open_zip(path) as archive,
        pytest.raises(FormatError, match="would land outside its folder") as caught,
    ):
        zip_members(archive, path)
    assert repr(name) in str(caught.value)


def test_links_are_refused(tmp_path):
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with (
        open_zip(tmp_path / "z.zip") as archive,
        pytest.raises(FormatError, match="holds 'link\\.txt', which would land outside"),
    ):
        zip_members(archive, tmp_path / "z.zip")


def test_encrypted_members_are_refused(tmp_path):
    path = archive_of(tmp_path / "z.zip", {"a.txt": b"1"}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match="it is encrypted; unpack it yourself first") as caught:
        read_member(path)
    assert caught.value.path == f"{path}/a.txt"


def test_a_zip_bomb_stops_at_the_limit_even_if_it_lies_about_its_size(tmp_path, monkeypatch):
    path = archive_of(tmp_path / "z.zip", {"a.txt": b"1\n" * 5_000_000})
    assert len(read_member(path)) == 10_000_000
    monkeypatch.setattr(_files, "BOMB_FLOOR", 100_000)
    with pytest.raises(FormatError, match="decompression bomb"):
        read_member(path)
    assert len(read_member(path, max_bytes=10_000_000)) == 10_000_000
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\1\2")
    data[central + 20 : central + 24] = struct.pack("<I", 2**31)
    path.write_bytes(data)
    with pytest.raises(
        FormatError, match=r"decompression bomb|zip bomb"
    ):  # some releases of Python notice it themselves
        read_member(path)


@pytest.mark.parametrize("method", METHODS)
@given(st.data())
def test_damaged_archives_are_format_errors_or_read(tmp_path_factory, method, data):
    path = archive_of(
        tmp_path_factory.mktemp("zip") / "z.zip", {"a.txt": b"1, 2\n" * 20, "é.txt": b"3"}, method
    )
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.none() | st.integers(0, len(raw)))])
    with suppress(FormatError), open_zip(path) as archive:
        for info in zip_members(archive, path).values():
            with (
                suppress(FormatError),
                open_member(archive, info, path, max_bytes=10_000) as stream,
            ):
                stream.read()


@pytest.mark.parametrize("data", [b"", b"PK", b"no archive at all", b"PK\5\6" + b"\xff" * 18])
def test_what_is_no_archive_is_a_format_error(tmp_path, data):
    (tmp_path / "z.zip").write_bytes(data)
    with pytest.raises(FormatError, match="not a readable zip archive"):
        open_zip(tmp_path / "z.zip")


def test_a_missing_archive_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_zip(tmp_path / "z.zip")


# Lines


@given(st.binary(max_size=60) | st.text("ab\n", max_size=60).map(str.encode), st.integers(1, 9))
def test_pieces_end_at_line_ends_and_know_their_line(data, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_files, "_CHUNK", size)
        pieces = list(line_chunks(io.BytesIO(data), "file"))
    assert b"".join(piece for _, piece in pieces) == data
    assert all(piece.endswith(b"\n") for _, piece in pieces[:-1])
    assert all(piece for _, piece in pieces)
    seen = 0
    for line, piece in pieces:
        assert line == data[:seen].count(b"\n") + 1
        seen += len(piece)


def test_an_endless_line_is_refused_and_named():
    class Endless(io.BytesIO):
        def read(self, size=-1):
            return super().read(size) or b"x" * size

    with pytest.raises(FormatError, match="the line is longer than 3,000,000 bytes") as caught:
        list(line_chunks(Endless(b"1\n2\n"), "file", longest=3_000_000))
    assert caught.value.line == 3


# Writing


def test_a_file_appears_complete_or_not_at_all(tmp_path):
    path = tmp_path / "out.txt"
    with atomic_file(path) as stream:
        stream.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one"
    with suppress(KeyboardInterrupt), atomic_file(path) as stream:
        stream.write(b"two")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]
    with atomic_file(path) as stream:
        stream.write(b"three")
    assert path.read_bytes() == b"three"


def test_a_folder_appears_complete_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "out"
    with suppress(KeyboardInterrupt), atomic_folder(path) as unfinished:
        (unfinished / "a").write_text("1")
        raise KeyboardInterrupt
    assert list((tmp_path / "deep").iterdir()) == []
    path.mkdir()
    with atomic_folder(path) as unfinished:
        (unfinished / "a").write_text("1")
        assert list(path.iterdir()) == []
    assert (path / "a").read_text() == "1"
    assert [entry.name for entry in (tmp_path / "deep").iterdir()] == ["out"]


def test_what_is_there_is_not_overwritten_by_a_folder(tmp_path):
    (tmp_path / "file").write_text("1")
    for path in (tmp_path, tmp_path / "file"):
        with (
            pytest.raises(FileExistsError, match="exists and is not an empty folder"),
            atomic_folder(path),
        ):
            pass
    assert (tmp_path / "file").read_text() == "1"


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_new_files_and_folders_have_the_permissions_of_ordinary_ones(tmp_path):
    (tmp_path / "ordinary").mkdir()
    (tmp_path / "ordinary" / "file").write_text("")
    with atomic_folder(tmp_path / "ours") as unfinished, atomic_file(unfinished / "file") as stream:
        stream.write(b"")
    for name in ("", "file"):
        assert (tmp_path / "ours" / name).stat().st_mode == (
            tmp_path / "ordinary" / name
        ).stat().st_mode
