"""The server: create_app for any ASGI server, and serve, which runs one until Ctrl-C."""

from __future__ import annotations

import errno
import ipaddress
import socket
import warnings
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from edgnn._optional import optional
from edgnn.errors import EdgnnError
from edgnn.serve._limits import Limits
from edgnn.serve._model import Served

if TYPE_CHECKING:
    from fastapi import FastAPI

    from edgnn._files import Path_

#: What a browser on this machine calls it; no page from elsewhere can.
LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
_GRACE = 3  # seconds that answers under way have when the server is to end
_KEEP_ALIVE = 30  # seconds that a connection may wait for its next request
_BACKLOG = 512


def create_app(
    run: Path_ | Served,
    *,
    source: Path_ | None = None,
    device: str = "cpu",
    data_dir: Path_ | None = None,
    limits: Limits | None = None,
    hosts: Collection[str] | None = LOCAL_NAMES,
    **options: Any,
) -> FastAPI:
    """Return the web application of a trained model, for any ASGI server.

    Parameters
    ----------
    run : path or Served
        A run folder of ``edgnn train`` or ``estimator.save``.
    source : path or str, optional
        Data whose nodes (or graphs) can be picked by name; default: what the model was trained on,
        if it is still there. Of named sets only the registered ones are fetched: any other word may
        be mistyped, and does not leave this machine.
    device : str
        Where predictions are computed.
    data_dir : path, optional
        Where named data sets are looked for first.
    limits : Limits, optional
        What one request may ask for.
    hosts : collection of str, optional
        Names this server may be asked for by, as a browser sends them; ``None`` for any. The
        default, the names of this machine itself, keeps web pages from elsewhere out.
    **options
        Of the reader of ``source``.
    """
    optional("fastapi", "serving a model")
    optional("python_multipart", "taking files from a browser")
    from edgnn.serve._app import build_app

    if not isinstance(run, Served):
        run = Served.load(run, source=source, device=device, data_dir=data_dir, options=options)
    return build_app(run, limits or Limits(), hosts)


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
    from edgnn.serve._inputs import remove_uploads

    limits = limits or Limits()
    with listening(host, port) as listener:
        if not ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
            warnings.warn(
                f"other machines can reach {host}, and there is no login: "
                "whoever does can use the model",
                stacklevel=2,
            )
        app = create_app(run, limits=limits, hosts=names_of(host, allowed), **loading)
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            timeout_keep_alive=_KEEP_ALIVE,
            limit_concurrency=2 * limits.waiting,
            backlog=_BACKLOG,
            http="h11",
            ws="none",
        )
        address = address_of(host, listener.getsockname()[1])

        class Server(uvicorn.Server):  # type: ignore[misc, name-defined]
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets=sockets)
                if self.started and on_start is not None:
                    on_start(address)

        try:
            Server(config).run(sockets=[listener])
        finally:
            remove_uploads()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; it is ours before anything is loaded."""
    try:
        family, _, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With the protocol named, asyncio knows that this is TCP, and sends at once.
        listener = socket.socket(family, socket.SOCK_STREAM, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        raise EdgnnError(_refusal(host, port, error)) from None
    return listener


def _refusal(host: str, port: int, error: Exception) -> str:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use; choose another with --port, "
            "or --port 0 for any that is free"
        )
    if number in (errno.EACCES, errno.EPERM):
        return f"port {port} of {host} may not be used by you; choose one above 1023 with --port"
    reason = getattr(error, "strerror", None) or error
    return (
        f"cannot listen at {host}, port {port}: {reason}; --host names an address of this machine"
    )


def names_of(host: str, allowed: Collection[str] = ()) -> Collection[str] | None:
    """Return the names of a server at this address; ``None``, any, where it listens at all."""
    from edgnn.serve._middleware import host_of

    for name in allowed:
        is_name = name.split() == [name] and host_of(name) == name.lower()
        if not is_name and not _is_address(name):
            raise EdgnnError(
                f"--allow-host {name!r} is no name of a machine; "
                "write it alone, as in models.example.org"
            )
    if not _is_any_address(host):
        return tuple(dict.fromkeys((*LOCAL_NAMES, host, *allowed)))
    return tuple(dict.fromkeys((*LOCAL_NAMES, *allowed))) if allowed else None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_any_address(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def address_of(host: str, port: int) -> str:
    """Return what to type into a browser on this machine."""
    if _is_any_address(host):
        return f"http://localhost:{port}"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
