"""Who does not wait for an answer any more gets none: what is still queued for them is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from edgnn.serve._guard import App, Message, Receive, Send


class Leaving:
    """Cancel a request whose client has closed the connection.

    Parameters
    ----------
    app : ASGI application
        What stands behind.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        own = asyncio.current_task()
        watch: asyncio.Task[None] | None = None
        started = left = False

        async def leave() -> None:
            nonlocal left
            message = await receive()
            if message["type"] == "http.disconnect" and not started and own is not None:
                left = own.cancel()

        async def watched() -> Message:
            nonlocal watch
            message = await receive()
            if scope["type"] == "http" and watch is None and not message.get("more_body", False):
                watch = asyncio.create_task(leave())  # the body is complete: nothing else can come
            return message

        async def answered(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, watched, answered)
        except asyncio.CancelledError:
            if own is None or not left:
                raise
            own.uncancel()
        finally:
            if watch is not None:
                watch.cancel()
