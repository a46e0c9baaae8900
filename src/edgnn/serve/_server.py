"""The server: a socket that is ours before anything is loaded, and an end without a fuss."""

from __future__ import annotations

import errno
import ipaddress
import socket
import warnings
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from edgnn._optional import optional
from edgnn.errors import EdgnnError
from edgnn.serve._guard import host_of

if TYPE_CHECKING:
    from edgnn._files import Path_
    from edgnn.serve._limits import Limits
    from edgnn.serve._model import Served

#: What a browser on this machine calls it; no page from elsewhere can.
LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
_GRACE = 3  # seconds that answers under way have when the server is to end
_BACKLOG = 512


def serve(
    run: Path_ | Served,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allowed: Collection[str] = (),
    limits: Limits | None = None,
    on_start: Callable[[str], None] | None = None,
    **loading: Any,
) -> None:
    """Serve a trained model until Ctrl-C.

    Parameters
    ----------
    run : path or Served
        A run folder.
    host : str
        The address to listen at; only this machine's own by default. Any other one lets other
        machines in.
    port : int
        0 for any that is free.
    allowed : collection of str
        More names that the server may be asked for by, such as that of a proxy in front of it.
    limits : Limits, optional
        What one request may ask for.
    on_start : callable, optional
        Called with the page's address as soon as it can be opened.
    **loading
        ``source``, ``device``, ``data_dir`` and the reader's options, as of :func:`create_app`.
    """
    uvicorn = optional("uvicorn", "serving a model")
    from edgnn.serve import create_app
    from edgnn.serve._connection import patient_only
    from edgnn.serve._limits import Limits
    from edgnn.serve._uploads import remove_uploads

    limits = limits or Limits()
    with listening(host, port) as ear:
        if not ipaddress.ip_address(ear.getsockname()[0]).is_loopback:
            warnings.warn(
                f"other machines can reach {host}, and there is no login: whoever does can use the model",
                stacklevel=2,
            )
        app = create_app(run, limits=limits, hosts=names_of(host, allowed), **loading)
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            timeout_keep_alive=30,
            backlog=_BACKLOG,
            ws="none",
            http=patient_only(limits.seconds),
        )
        address = address_of(host, ear.getsockname()[1])

        class Server(uvicorn.Server):  # type: ignore[misc, name-defined]
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets=sockets)
                if self.started and on_start is not None:
                    on_start(address)

        try:
            Server(config).run(sockets=[ear])
        finally:
            remove_uploads()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say in one line why there is none."""
    try:
        kind, _, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        ear = socket.socket(
            kind, socket.SOCK_STREAM, protocol
        )  # asyncio sends at once only where it knows that this is TCP
        try:
            ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            ear.bind(place)
            ear.listen(_BACKLOG)
        except BaseException:
            ear.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        raise EdgnnError(_refusal(host, port, error)) from None
    return ear


def _refusal(host: str, port: int, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; choose another with --port, or --port 0 for any that is free"
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} of {host} may not be used by you; choose one above 1023 with --port"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return (
        f"cannot listen at {host}, port {port}: {reason}; --host names an address of this machine"
    )


def names_of(host: str, allowed: Collection[str] = ()) -> Collection[str] | None:
    """Return what a server at this address may be called; anything, where it listens at all addresses and no name is given."""
    for name in allowed:
        if not _is_address(name) and (name.split() != [name] or host_of(name) != name.lower()):
            raise EdgnnError(
                f"--allow-host {name!r} is no name of a machine; write it alone, as in models.example.org"
            )
    if not _is_address(host) or not ipaddress.ip_address(host).is_unspecified:
        return tuple(dict.fromkeys((*LOCAL_NAMES, host, *allowed)))
    return tuple(dict.fromkeys((*LOCAL_NAMES, *allowed))) if allowed else None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def address_of(host: str, port: int) -> str:
    """Return what to type into a browser on this machine."""
    if not _is_address(host):
        return f"http://{host}:{port}"
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        return f"http://localhost:{port}"
    return f"http://[{host}]:{port}" if address.version == 6 else f"http://{host}:{port}"
