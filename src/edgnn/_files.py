"""Files as bytes: plain or gzip, bounded in size, read in whole lines, written all or nothing."""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, Protocol, cast

from edgnn._deadline import check_deadline
from edgnn._words import cut, one_line
from edgnn.errors import EdgnnError, FileError, FormatError, MissingFileError

Path_ = str | os.PathLike[str]

#: A compressed file may grow to this many times its size, or to the floor if that is more;
#: ``max_bytes=`` overrides both.
BOMB_RATIO = 100
BOMB_FLOOR = 64 * 2**20

_CHUNK = 2**20
_LONGEST_NAME = 300
_LONGEST_LINE = 64 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a pipe must not be waited for
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


class Readable(Protocol):
    """What is needed of a stream of bytes."""

    def read(self, size: int = ..., /) -> bytes:
        """Return up to ``size`` bytes."""
        ...

    def close(self) -> None:
        """Release what the stream holds."""
        ...


def open_regular(path: Path_) -> BinaryIO:
    """Open a regular file for reading as it is.

    Pipes, sockets, devices and folders are refused at once: nothing is waited for. Who wants to
    read standard input reads that stream, not a file.
    """
    try:
        check_regular(path)
        handle = os.open(path, _OPEN_FLAGS)
        try:
            _check_regular(os.fstat(handle), path)  # it may have been replaced in between
        except BaseException:
            os.close(handle)
            raise
    except OSError as error:
        raise file_error(error, path) from None
    return os.fdopen(handle, "rb")


def read_file(path: Path_) -> bytes:
    """Return the content of a regular file."""
    with open_regular(path) as stream:
        try:
            return stream.read()
        except OSError as error:
            raise file_error(error, path) from None


def check_regular(path: Path_) -> None:
    """Raise where there is no regular file of this name; a link to one will do."""
    _check_regular(status_of(path), path)


def status_of(path: Path_) -> os.stat_result:
    """Return what the system says of a file or folder; one that is not there is a FileError."""
    try:
        return Path(path).stat()
    except OSError as error:
        raise file_error(error, path) from None
    except ValueError:
        name = one_line(os.fspath(path))
        raise FileError(name, "this is no name of a file: it holds a zero byte") from None


def _check_regular(status: os.stat_result, path: Path_) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    what = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
    is_folder = stat.S_ISDIR(status.st_mode)
    advice = "name a file in it" if is_folder else "save what it gives as a file first"
    raise FileError(
        path, f"this is {what}, not a file; {advice}", errno.EISDIR if is_folder else None
    )


def file_error(error: OSError, path: Path_) -> FileError:
    """Return what the operating system says of a file as one of our errors."""
    if isinstance(error, FileError):
        return error
    kind = MissingFileError if error.errno == errno.ENOENT else FileError
    return kind(cut(os.fspath(path), _LONGEST_NAME), error.strerror or one_line(error), error.errno)


class Guarded(io.RawIOBase):
    """A readable stream that all bytes pass through on their way to a reader.

    It raises decoding errors as FormatError and what the disk says as FileError, stops at a size
    limit, and looks at the deadline.
    """

    def __init__(
        self, stream: Readable, path: Path_, limit: int | None, also_close: Readable | None = None
    ) -> None:
        super().__init__()
        self._stream = stream
        self._path = path
        self._limit = limit
        self._seen = 0
        self._also_close = also_close

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer``; the one place all bytes pass through."""
        check_deadline()
        view = memoryview(buffer).cast("B")
        try:
            data = self._stream.read(len(view))
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise file_error(error, self._path) from None
            reason = one_line(error) or "unexpected end"
            raise FormatError(
                self._path, f"the compressed data is damaged or cut off ({reason})"
            ) from None
        self._seen += len(data)
        if self._limit is not None and self._seen > self._limit:
            raise too_large(self._path, self._limit)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the stream underneath as well."""
        self._stream.close()
        if self._also_close is not None:
            self._also_close.close()
        super().close()


def too_large(path: Path_, limit: int) -> FormatError:
    """Return the error of a file that unpacks to more than ``limit`` bytes."""
    return FormatError(
        path,
        f"it unpacks to more than {limit:,} bytes, as a decompression bomb would",
        kind="size",
        advice="; if you trust it, raise the limit with max_bytes=",
    )


def unpack_limit(packed: int, max_bytes: int | None) -> int:
    """Return how many bytes a compressed file of ``packed`` bytes may unpack to."""
    return max_bytes if max_bytes is not None else max(BOMB_FLOOR, BOMB_RATIO * packed)


def open_binary(path: Path_, max_bytes: int | None = None) -> BinaryIO:
    """Open a plain or gzip-compressed file (told apart by its first bytes) for reading.

    What is no path but has a method ``open``, such as a data frame, is asked for its bytes.
    """
    in_memory: Any = None if isinstance(path, str | Path) else getattr(path, "open", None)
    raw: BinaryIO = open_regular(path) if in_memory is None else in_memory("rb")
    try:
        is_packed = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
    except OSError as error:
        raw.close()
        raise file_error(error, path) from None
    stream, limit = cast(Readable, raw), None
    if is_packed:
        limit = unpack_limit(os.fstat(raw.fileno()).st_size, max_bytes)
        stream = gzip.GzipFile(fileobj=raw, mode="rb")
    return io.BufferedReader(Guarded(stream, path, limit, also_close=raw), _CHUNK)


def open_zip(path: Path_) -> zipfile.ZipFile:
    """Open an archive for reading."""
    check_regular(path)
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise file_error(error, path) from None
    except Exception as error:  # zipfile lets struct and value errors of damaged archives through
        raise FormatError(path, f"this is not a readable zip archive ({one_line(error)})") from None


def zip_members(archive: zipfile.ZipFile, path: Path_) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by name, after a check that none of them leaves its folder."""
    members = {}
    for info in archive.infolist():
        name = PurePosixPath(info.filename.replace("\\", "/"))
        if _leaves_its_folder(info, name):
            raise FormatError(
                path,
                f"the archive holds {info.filename!r}, which would land outside its folder; "
                "it was not unpacked",
            )
        if name.parts and not info.filename.endswith("/"):
            members[str(name)] = info
    return members


def _leaves_its_folder(info: zipfile.ZipInfo, name: PurePosixPath) -> bool:
    mode = info.external_attr >> 16
    has_drive = bool(name.parts) and ":" in name.parts[0]
    return name.is_absolute() or ".." in name.parts or stat.S_ISLNK(mode) or has_drive


def open_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path_, max_bytes: int | None = None
) -> BinaryIO:
    """Open one file of an archive for reading."""
    inside = f"{os.fspath(path)}/{one_line(info.filename)}"
    if info.flag_bits & 1:
        raise FormatError(inside, "it is encrypted; unpack it yourself first")
    try:
        stream = archive.open(info)
    except Exception as error:  # as above
        raise FormatError(inside, f"the archive is damaged ({one_line(error)})") from None
    packed = min(info.compress_size, archive.start_dir)
    return io.BufferedReader(Guarded(stream, inside, unpack_limit(packed, max_bytes)), _CHUNK)


def line_chunks(
    stream: IO[bytes], path: Path_, longest: int = _LONGEST_LINE
) -> Iterator[tuple[int, bytes]]:
    """Yield pieces of about a megabyte that end at line ends, with the number of the first line."""
    line, rest = 1, b""
    while block := stream.read(_CHUNK):
        check_deadline()
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest += block
            if len(rest) > longest:
                raise FormatError(
                    path, f"the line is longer than {longest:,} bytes; is this a text file?", line
                )
            continue
        whole = rest + block[:end]
        yield line, whole
        line += whole.count(b"\n")
        rest = block[end:]
    if rest:
        yield line, rest


@contextmanager
def atomic_file(path: Path_) -> Iterator[BinaryIO]:
    """Open a new file that appears under ``path`` only when the block ends without an error."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "the folder to write it into does not exist", str(path)
        )
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o666 & ~_UMASK)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def atomic_maybe_gzip(path: Path_) -> Iterator[BinaryIO]:
    """Open a new file as :func:`atomic_file` does, compressed if its name ends in ``.gz``."""
    with atomic_file(path) as stream:
        if not Path(path).name.lower().endswith(".gz"):
            yield stream
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
            yield cast(BinaryIO, packed)


@contextmanager
def atomic_folder(path: Path_) -> Iterator[Path]:
    """Give a new folder that appears under ``path`` only when the block ends without an error."""
    path = Path(path)
    _check_free(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_UMASK)
        try:
            temporary.replace(path)
        except OSError:
            _check_free(path)
            raise
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextmanager
def naming(path: Path_) -> Iterator[None]:
    """Name the file where a write fails, which the system does not do for a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


def _check_free(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(
            f"{path} exists and is not an empty folder; choose another place or remove it"
        )


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# read once at import: the system only tells it by setting it, which other threads would notice
_UMASK = _read_umask()


@contextmanager
def os_errors_as(
    kind: type[EdgnnError], action: str, path: Path_, *, when_full: str
) -> Iterator[None]:
    """Turn what goes wrong on the disk into one clear error.

    Parameters
    ----------
    kind : type
        The error to raise.
    action : str
        What was tried, such as ``"write"``.
    path : path
        What it was tried on.
    when_full : str
        What to do where the disk is full; otherwise another folder is suggested.
    """
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = when_full if is_full else "choose another folder"
        raise kind(f"cannot {action} {path}: {error.strerror or error}; {advice}") from error


@contextmanager
def exclusive_lock(path: Path_, in_use: EdgnnError, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the operating system's lock on a file, or raise ``in_use`` where another process does.

    It is waited for ``wait_s`` seconds at most. The lock ends with the process, however that ends.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        lock.acquire(timeout=wait_s)
    except Timeout:
        raise in_use from None
    try:
        yield
    finally:
        lock.release()


def sync_folder(path: Path_) -> None:
    """Make a rename survive a power cut, where the system can do that for folders."""
    if os.name != "posix":
        return
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES):
            raise
