"""HTTP: one GET request, redirects and errors of the network made plain."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from email.message import Message
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit

_SCHEMES = ("http", "https")
_BLOCK = 2**16
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


class Failure(Exception):
    """Why one mirror did not deliver."""


class Cut(Failure):
    """The connection ended before the file did; asking once more may help."""


class TooLarge(Failure):
    """The file is over the size limit, or over its announced size."""


class Wrong(Failure):
    """All bytes arrived, and they are not the right ones."""


class _Redirects(request.HTTPRedirectHandler):
    """Follow redirects, a few of them, within http and https."""

    max_redirections = 5

    def http_error_302(
        self, req: request.Request, fp: Any, code: int, msg: str, headers: Message
    ) -> Any:
        fp.close()  # else its body, however long, would be read to the end
        target = urljoin(req.full_url, headers.get("location", ""))
        if urlsplit(target).scheme not in _SCHEMES:
            raise Failure(f"it redirects to {target[:200]!r}; only http and https are followed")
        return super().http_error_302(req, fp, code, msg, headers)  # type: ignore[arg-type]

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def open_url(url: str, headers: dict[str, str], timeout: float) -> Any:
    """Send a GET request; the answer has status 200, 206 or 416."""
    headers = {"User-Agent": f"edgnn/{_version()}", "Accept-Encoding": "identity", **headers}
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPErrorProcessor,
        request.HTTPDefaultErrorHandler,
        _Redirects,
    ):
        opener.add_handler(handler())
    try:
        if urlsplit(url).scheme not in _SCHEMES:
            raise Failure("only http and https are allowed")
        return opener.open(request.Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return error
        error.close()
        if 300 <= error.code < 400 and "location" in error.headers:
            raise Failure(
                f"it redirects more than {_Redirects.max_redirections} times, or in a circle"
            ) from None
        raise Failure(status_text(error.code)) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, TimeoutError):
            raise Failure(f"no answer within {timeout:g} s") from None
        if isinstance(cause, ConnectionError) and not isinstance(cause, ConnectionRefusedError):
            raise Cut(f"the connection was cut ({why(cause)})") from None
        raise Failure(why(cause)) from None


def blocks(response: Any, timeout: float) -> Iterator[bytes]:
    """Yield the body as it arrives, with every error of the network as :class:`Failure`."""
    while True:
        try:
            block = response.read1(_BLOCK)
        except TimeoutError:
            raise Failure(f"nothing more arrived within {timeout:g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Cut(f"the connection was cut ({why(error)})") from None
        if not block:
            return
        yield block


def extent(response: Any) -> tuple[int | None, int | None]:
    """Return the place of the body's first byte in the file and the file's size, where the headers tell."""
    if response.status == HTTPStatus.OK:
        return 0, response.length
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    if match is None:
        return None, None
    first, last, total = match.groups()
    size = int(total) if total != "*" else None if last is None else int(last) + 1
    return None if first is None else int(first), size


def validator_of(headers: Message) -> str | None:
    """Return what identifies a version of the file: a strong ETag, else the date of its last change."""
    etag: str | None = headers.get("ETag")
    return etag if etag is not None and not etag.startswith("W/") else headers.get("Last-Modified")


def status_text(code: int) -> str:
    """Return an HTTP status in words."""
    phrase = HTTPStatus(code).phrase if code in set(HTTPStatus) else ""
    return f"HTTP {code} {phrase}".strip()


def why(cause: object) -> str:
    """Return the reason of an error as one line."""
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return " ".join(str(text).split())


def _version() -> str:
    try:
        return version("edgnn")
    except PackageNotFoundError:
        return "unknown"
