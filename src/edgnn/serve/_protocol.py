"""HTTP as uvicorn speaks it, with an error of ours for requests that no application sees."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from edgnn.serve._middleware import SECURITY_HEADERS, problem

_SENTENCE = "this is not HTTP as the server understands it; send a Host header and whole chunks"


class Protocol(H11Protocol):
    """Answers what is no HTTP, such as a request without a Host, as all errors are answered."""

    def send_400_response(self, msg: str) -> None:
        """Answer with one sentence, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = problem(400, _SENTENCE, {**SECURITY_HEADERS, "connection": "close"})
            for event in (
                h11.Response(status_code=400, headers=answer.raw_headers, reason=b"Bad Request"),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event))
        self.transport.close()
