import contextlib
import json
import select
import shutil
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from edgnn.training import RunFolder
from serve_runs import make_mutag_run, served


@pytest.fixture(scope="session")
def mutag_run(tmp_path_factory):
    return make_mutag_run(tmp_path_factory.mktemp("cli-serve") / "mutag")


def test_a_busy_port_is_one_line(command, mutag_run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = command("serve", mutag_run, "--port", port)
    assert ended.code == 2
    assert (
        ended.err
        == f"edgnn: port {port} of 127.0.0.1 is in use; choose another with --port, or --port 0 for any that is free\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seconds", "0"], "the limit seconds=0.0: choose a number above 0"),
        (["--seconds", "inf"], "the limit seconds=inf: choose a number above 0"),
        (["--max-mb", "nan"], "--max-mb nan: choose a number above 0"),
        (["--max-mb", "inf"], "--max-mb inf: choose a number above 0"),
        (["--source", "gone.csv"], "there is no file or data set 'gone.csv'"),
        (["-o", "smiles=x"], "-o is for the reader of --source"),
        (["--host", "203.0.113.7"], "cannot listen at 203.0.113.7"),
        (["--allow-host", "https://box"], "--allow-host 'https://box' is no name of a machine"),
        (["--device", "tpu"], "tpu"),
    ],
)
def test_mistakes_are_one_line(command, mutag_run, words, said):
    ended = command("serve", mutag_run, "--port", "0", *words)
    assert ended.code == 2
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_folder_without_a_run_is_one_line(command, tmp_path):
    ended = command("serve", tmp_path, "--port", "0")
    assert ended.code == 2
    assert ended.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_without_a_fuss(mutag_run, number, code):
    with served(mutag_run) as (process, address):
        assert httpx.get(f"{address}/health", timeout=60).json()["status"] == "ok"
        assert "<title>" in httpx.get(address, timeout=60).text
        process.send_signal(number)
        assert process.wait(60) == code
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_other_machines_are_warned_of_and_names_allowed(mutag_run):
    with served(mutag_run, "--host", "0.0.0.0", "--allow-host", "models.example.org") as (
        process,
        address,
    ):
        for host, status in (
            ("models.example.org", 200),
            ("localhost", 200),
            ("other.example.org", 403),
        ):
            assert (
                httpx.get(f"{address}/health", headers={"host": host}, timeout=60).status_code
                == status
            )
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr.read() == (
            "edgnn: warning: other machines can reach 0.0.0.0, and there is no login: whoever does can use the model\n"
        )


@pytest.mark.slow
def test_data_of_the_training_that_is_gone_is_one_line(mutag_run, tmp_path):
    shutil.copytree(mutag_run, tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    config["source"]["name"] = "gone.csv"
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    with served(tmp_path / "run") as (process, address):
        assert httpx.get(f"{address}/model", timeout=60).json()["source"] is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        said = process.stderr.read()
    assert said.startswith(
        "edgnn: warning: nothing can be picked by name: the data of the training cannot be used (gone.csv "
    )
    assert said.endswith("; name it with --source\n")
    assert said.count("\n") == 1


def test_opening_the_page_does_not_wait_for_the_browser(command, tmp_path, monkeypatch):
    opened, ended = threading.Event(), threading.Event()

    def browse(address):
        assert address == "http://127.0.0.1:8000"
        opened.set()
        assert ended.wait(200)

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr(
        "edgnn.serve.serve", lambda run, on_start, **_: on_start("http://127.0.0.1:8000")
    )
    RunFolder.create(tmp_path / "run", {})
    assert command("serve", tmp_path / "run", "--open").code == 0
    assert opened.wait(200)
    ended.set()


@contextlib.contextmanager
def asked_for_minutes(address):
    """Send a table of molecules that takes minutes to find out about; give what will be the answer."""
    content = (
        "smiles\n" + ("c1" + "c" * 989 + "c1\n") * 9_990
    ).encode()  # rings that no double bonds fit into
    sent = {"files": {"files": ("a.csv", content)}, "data": {"bad": "skip"}}
    with ThreadPoolExecutor(1) as pool:
        yield len(content), pool.submit(httpx.post, f"{address}/predict/file", **sent, timeout=280)


def is_given_up(asked):
    if asked.exception() is not None:
        return True
    return asked.result().status_code == 503 and asked.result().json()["error"].startswith(
        "the server is being ended"
    )


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_work_that_takes_long(mutag_run):
    with (
        served(mutag_run, "--seconds", "600") as (process, address),
        asked_for_minutes(address) as (_, asked),
    ):
        while httpx.get(f"{address}/health", timeout=60).json()["waiting"] == 0:
            assert not asked.done()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert is_given_up(asked)
        assert "Traceback" not in process.stderr.read()


HEAD = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def connect(address):
    place = address.removeprefix("http://").split(":")
    return socket.create_connection((place[0], int(place[1])), timeout=60)


def connect_and_ask(address):
    """Return a connection that has been answered once, so that there is time for the next request to begin."""
    while True:
        connection, told = connect(address), b""
        with contextlib.suppress(
            ConnectionError
        ):  # it is closed where we are slower than the server allows
            connection.sendall(HEAD + b"\r\n")
            while part := connection.recv(4096):
                told += part
                if told.endswith(b"}"):
                    assert told.startswith(b"HTTP/1.1 200 OK")
                    return connection
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("framing", ["Content-Length: 8000000", "Transfer-Encoding: chunked"])
def test_an_upload_that_takes_too_long_is_answered_and_not_read_on(mutag_run, framing):
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    with (
        served(mutag_run, "--seconds", "1") as (_, address),
        connect_and_ask(address) as connection,
    ):
        connection.sendall(head.encode())
        told = b""
        with contextlib.suppress(ConnectionError):  # it is closed while we still send
            while not select.select([connection], [], [], 0.05)[0]:
                connection.sendall(b"1\r\n \r\n")
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(4096):
                told += part
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in told
    assert b"did not arrive within 1 seconds" in told


@pytest.mark.slow
def test_nothing_uploaded_stays_where_the_server_is_ended_at_work(mutag_run, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with (
        served(mutag_run, "--seconds", "600") as (process, address),
        asked_for_minutes(address) as (size, asked),
    ):
        while [path.stat().st_size for path in tmp_path.glob("edgnn-serve-*/a.csv")] != [size]:
            assert not asked.done()
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert is_given_up(asked)
        assert list(tmp_path.iterdir()) == []
