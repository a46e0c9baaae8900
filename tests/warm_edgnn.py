"""A program ``edgnn`` that starts at once: a process that has imported everything is forked for each call.

As a program, with the path of a socket: that process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SECONDS_BETWEEN_LOOKS = 0.02

#: What the program on the path does: hand its streams, words and surroundings over, and wait.
_PROGRAM = """#!{python} -ISB
import json, os, socket, sys
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"x"], [0, 1, 2])
    server.sendall(call + b"\\n")
    sys.exit(int(server.recv(16) or b"137"))
"""


@contextlib.contextmanager
def warm_edgnn(folder: Path, environment: dict[str, str]) -> Iterator[Path]:
    """Give a folder with the program, to stand first in ``PATH``."""
    programs, address = folder / "bin", str(folder / "s")
    programs.mkdir(parents=True)
    program = programs / "edgnn"
    program.write_text(_PROGRAM.format(python=sys.executable, address=address))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with subprocess.Popen(
        [sys.executable, __file__, address], env=environment, stdout=subprocess.PIPE
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield programs
        finally:
            server.kill()


def _serve(address: str) -> None:

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            caller, _ = listener.accept()
            with caller:
                if not os.fork():
                    _answer(caller)


def _answer(caller: socket.socket) -> None:
    """Fork what runs the command; end it where the caller ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(caller, 1, 3)
    with caller.makefile() as lines:
        words, folder, environment = json.loads(lines.readline())
    child = os.fork()
    if not child:
        _become(streams, words, folder, environment)
    ended, status = 0, 0
    while not ended:
        gone, _, _ = select.select([caller], [], [], _SECONDS_BETWEEN_LOOKS)
        if gone:
            os.kill(child, signal.SIGKILL)
        ended, status = os.waitpid(child, 0 if gone else os.WNOHANG)
    code = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(OSError):
        caller.sendall(str(code if code >= 0 else 128 - code).encode())
    os._exit(0)


def _become(streams: list[int], words: list[str], folder: str, environment: dict[str, Any]) -> None:
    from edgnn.cli import run

    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    # what a pipe cannot do, such as to seek, differs from what the streams of the server could do
    sys.stdin, sys.stdout, sys.stderr = (
        open(place, mode, buffering, encoding="utf-8", closefd=False)  # noqa: SIM115
        for place, (mode, buffering) in enumerate([("r", -1), ("w", -1), ("w", 1)])
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["edgnn", *words]
    run()


if __name__ == "__main__":
    _serve(sys.argv[1])
