import contextlib
import select
import signal
import socket
import time

import httpx
import pytest

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
def test_ctrl_c_does_not_wait_for_work_that_takes_long(mutag_run):
    with served(mutag_run) as (process, address):
        with pytest.raises(httpx.TimeoutException):
            httpx.post(f"{address}/explain", json={"smiles": "C" * 900, "counter_example": True}, timeout=0.3)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert time.monotonic() - started < 15
        assert "Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_connections_that_say_nothing_or_never_end_it_are_closed(mutag_run):
    with served(mutag_run, "--seconds", "1") as (_, address):
        place = address.removeprefix("http://").split(":")
        asked = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for begun in ((b"",), (asked,), (asked + b"\r\n", asked)):
            with socket.create_connection((place[0], int(place[1])), timeout=60) as connection:
                for part in begun[:-1]:
                    connection.sendall(part)
                    assert b"200 OK" in connection.recv(4096)
                connection.sendall(begun[-1])
                while connection.recv(4096):
                    pass
        assert httpx.get(f"{address}/health", timeout=60).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("framing", ["Content-Length: 9000000", "Transfer-Encoding: chunked"])
def test_an_upload_that_takes_too_long_is_answered_and_not_read_on(mutag_run, framing):
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    with served(mutag_run, "--seconds", "1") as (_, address):
        place = address.removeprefix("http://").split(":")
        with socket.create_connection((place[0], int(place[1])), timeout=10) as connection:
            connection.sendall(head.encode())
            told = b""
            with contextlib.suppress(ConnectionError):  # it is closed while we still send
                while not select.select([connection], [], [], 0.05)[0]:
                    connection.sendall(b"1\r\n \r\n")
                while part := connection.recv(4096):
                    told += part
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in told
    assert b"did not arrive within 1 seconds" in told


@pytest.mark.slow
def test_nothing_uploaded_stays_where_the_server_is_ended_at_work(mutag_run, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(mutag_run) as (process, address):
        content = ("smiles\n" + "C" * 300 + "\n" + ("C" * 300 + "\n") * 9_000).encode()
        with pytest.raises(httpx.ReadTimeout), httpx.Client(timeout=httpx.Timeout(60, read=0.5)) as client:
            client.post(f"{address}/predict/file", files=[("files", ("a.csv", content))])
        while not list(tmp_path.glob("edgnn-serve-*")):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert list(tmp_path.iterdir()) == []
