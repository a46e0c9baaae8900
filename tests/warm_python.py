"""A Python interpreter that starts at once: a process that has imported everything is forked for each call.

As a program, with the path of a socket: that process. What is forked ends with the caller, gets its signals,
open files and surroundings. It has not what is set when an interpreter or a library starts: the seed of hashes,
where memory is taken from; tests of these start an interpreter of their own.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from importlib import import_module
from multiprocessing import spawn
from pathlib import Path
from typing import Any, NoReturn

_SECONDS_BETWEEN_LOOKS = 0.02
#: As they are when the tests are collected, which is before any test changes them.
_SURROUNDINGS = dict(os.environ) | {"OMP_NUM_THREADS": "1"}
#: What commands import when they need it.
_LATER = (
    "distributed",
    "joblib",
    "scipy.optimize",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.svm",
)

#: What the programs on the path do: hand files, words and surroundings over, pass signals on, and wait.
_PROGRAM = """#!{python} -ISB
import json, os, signal, socket, sys
words = {words!r} + sys.argv[1:]
at = 0
while words[at : at + 1] and words[at] in ("-u", "-P", "-B", "-W"):
    at += 1 + (words[at] == "-W")
if not words[at : at + 1] or words[at].startswith("-") and words[at] not in ("-m", "-c"):
    os.execv({python!r}, [{python!r}, *words])
passed = signal.SIGINT, signal.SIGTERM
ignored = [number for number in passed if signal.getsignal(number) is signal.SIG_IGN]
blocked = [*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, passed))]
files = []
for number in range(256):
    try:
        os.fstat(number)
        files.append(number)
    except OSError:
        pass
call = [words, __file__, os.getcwd(), dict(os.environ), files, ignored, blocked, os.getpid()]
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"x"], files)
    server.sendall(json.dumps(call).encode() + b"\\n")
    with server.makefile() as said:
        child = int(said.readline() or -1)
        for number in passed:
            signal.signal(number, lambda number, frame: os.kill(child, number))
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        code = int(said.readline() or -signal.SIGKILL)
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@functools.cache
def warm_programs() -> Path:
    """Give a folder with the programs ``python`` and ``edgnn``, to stand first in ``PATH``."""
    folder = Path(tempfile.mkdtemp())
    programs, address = folder / "bin", str(folder / "s")
    programs.mkdir()
    for name, words in (("python", []), ("edgnn", ["-m", "edgnn"])):
        program = programs / name
        text = _PROGRAM.format(python=sys.executable, words=words, address=address)
        program.write_text(text, encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        env=_SURROUNDINGS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def end() -> None:
        with server:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return programs


def warm_python() -> str:
    """Give the program, to stand in the place of ``sys.executable``."""
    return str(warm_programs() / "python")


def _import_everything() -> None:
    import edgnn

    found = pkgutil.walk_packages(edgnn.__path__, "edgnn.")
    names = [module.name for module in found if module.name != "edgnn.__main__"]
    for name in (*_LATER, *names):
        with contextlib.suppress(ImportError), warnings.catch_warnings():  # of what is optional
            warnings.simplefilter("ignore")
            import_module(name)


def _serve(address: str) -> None:
    """Wait for calls until the process that has started this one ends, which closes the standard input."""
    del sys.path[0]  # the folder of this file
    _import_everything()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"ready\n")
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if 0 in ready:
                return
            caller, _ = listener.accept()
            with caller:
                if not os.fork():
                    listener.close()
                    _answer(caller)


def _answer(caller: socket.socket) -> None:
    """Fork what runs the command; end it where the caller ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, handles, _, _ = socket.recv_fds(caller, 1, 256)
    with caller.makefile() as lines:
        words, program, folder, environment, numbers, ignored, blocked, pid = json.loads(
            lines.readline()
        )
    child = os.fork()
    if not child:
        caller.close()
        _place(dict(zip(numbers, handles, strict=True)))
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        real, os.getppid = os.getppid, functools.partial(_parent_of, pid)
        os.register_at_fork(after_in_child=functools.partial(setattr, os, "getppid", real))
        # other processes, such as those of joblib, start at once as well
        sys.executable = str(Path(program).with_name("python"))
        spawn.set_executable(sys.executable)
        _become(words, folder, environment)
    for handle in handles:
        os.close(handle)
    for number in (0, 1, 2):
        os.close(number)
    ended, status = 0, 0
    with contextlib.suppress(OSError):
        caller.sendall(f"{child}\n".encode())
    while not ended:
        gone, _, _ = select.select([caller], [], [], _SECONDS_BETWEEN_LOOKS)
        if gone:
            os.kill(child, signal.SIGKILL)
        ended, status = os.waitpid(child, 0 if gone else os.WNOHANG)
    with contextlib.suppress(OSError):
        caller.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _parent_of(pid: int) -> int:
    """Return the process that has started another one, as that one knows it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended
        return 1
    return int(status.rpartition(")")[2].split()[1])


def _place(files: dict[int, int]) -> None:
    """Open files under the numbers that they have for the caller, and no others."""
    highest = max([*files, *files.values()]) + 1
    apart = {number: highest + place for place, number in enumerate(files)}
    for number, handle in files.items():
        os.dup2(handle, apart[number])
    for number in range(highest):
        with contextlib.suppress(OSError):
            os.close(number)
    for number, handle in apart.items():
        os.dup2(handle, number, inheritable=number < 3)
        os.close(handle)


def _become(words: list[str], folder: str, environment: dict[str, str]) -> NoReturn:
    # what a pipe cannot do, such as to seek, differs from what the streams of the server could do
    sys.stdin, sys.stdout, sys.stderr = (
        open(place, mode, buffering, encoding=_encoding(environment), closefd=False)  # noqa: SIM115
        for place, (mode, buffering) in enumerate([("r", -1), ("w", -1), ("w", 1)])
    )
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    _set_threads(environment.get("OMP_NUM_THREADS", ""))
    path = [*filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:] = [*path, *(place for place in sys.path if place not in path)]
    _forget_plugins()
    code: Any = 0
    try:
        _run(words)
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    with contextlib.suppress(Exception):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else bool(code))


def _forget_plugins() -> None:
    """Have packages of others looked for anew: the path may be another one."""
    from edgnn import registry

    for found in vars(registry).values():
        if isinstance(found, registry.Registry):
            found._plugins_loaded = False


def _encoding(environment: dict[str, str]) -> str:
    return environment.get("PYTHONIOENCODING") or "utf-8"


def _set_threads(number: str) -> None:
    import torch

    if number.isdigit() and int(number) != torch.get_num_threads():
        torch.set_num_threads(int(number))


def _run(words: list[str]) -> None:
    """Do what an interpreter does with these words; known are those that the program passes on."""
    beside = True
    while (flag := words[0]) in ("-u", "-P", "-B", "-W"):
        beside = beside and flag != "-P"
        if flag == "-W":
            warnings._setoption(words.pop(1))  # type: ignore[attr-defined]
        del words[0]
    if words[0] in ("-m", "-c"):
        option, what, *sys.argv[1:] = words
        sys.path.insert(0, "")
        sys.argv[0] = option
        if option == "-c":
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.argv[:] = words
    if beside:
        sys.path.insert(0, str(Path(words[0]).resolve().parent))
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    _serve(sys.argv[1])
