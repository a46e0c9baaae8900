import asyncio
import http.client
import json
import socket
import threading
import urllib.error
import urllib.parse
import urllib.request
from importlib import import_module

import httpx
import pytest

from edgnn.errors import DeadlineError
from edgnn.io import Deadline
from edgnn.serve import Limits, _app, create_app
from edgnn.serve._limits import Busy, Workers
from serve_runs import client_of, error, run_async, served, until_canceled, upload


def slow(begun, event, ended):
    def work(*given, **named):
        begun.set()
        event.wait(200)
        ended.append(1)
        return 1

    return work


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "source,target\na,b\n"),
        ("a.nt", "<x:a> <x:b> <x:c> .\n"),
        ("a.json", '{"nodes": [{"id": 1}], "links": []}'),
        ("a.smi", "CCO\n"),
    ],
)
def test_an_upload_of_any_format_is_read_within_the_time_of_its_request(
    mutag_run, monkeypatch, name, content
):
    read_in_time = import_module("edgnn.serve._work").read_uploads

    def read_too_late(served, uploads, limits, deadline, **named):
        deadline.end()
        return read_in_time(served, uploads, limits, Deadline(1_000), **named)

    monkeypatch.setattr("edgnn.serve._work.read_uploads", read_too_late)
    answer = upload(client_of(mutag_run), "/predict/file", [(name, content)])
    assert error(answer, 503).startswith("the time is over")


def test_work_beyond_its_time_is_given_up_and_later_work_goes_on():
    async def main():
        workers, begun, event, ended = (
            Workers(Limits(seconds=1, workers=1)),
            threading.Event(),
            threading.Event(),
            [],
        )
        while not begun.is_set():  # what a thread takes up when its time is over is not begun
            with pytest.raises(Busy) as told:
                await workers.run(slow(begun, event, ended), until_canceled)
        assert str(told.value).startswith("this took longer than 1 seconds")
        assert ended == []
        ran = []
        with pytest.raises(Busy, match="longer than 1 seconds"):
            await workers.run(lambda _: ran.append(1), until_canceled)
        event.set()
        workers._limits = Limits()
        assert await workers.run(lambda _: 7, until_canceled) == 7
        while workers.waiting:
            await asyncio.sleep(0.001)
        assert ran == []
        workers.close()

    run_async(main())


def test_a_long_explanation_keeps_no_other_waiting():
    async def main():
        workers, together = Workers(Limits(seconds=300)), threading.Barrier(2, timeout=250)
        both = [workers.run(lambda _: together.wait(), until_canceled, "explain") for _ in range(2)]
        assert sorted(await asyncio.gather(*both)) == [0, 1]
        workers.close()

    run_async(main())


def test_beyond_the_queue_requests_are_turned_away():
    async def main():
        workers, event = Workers(Limits(workers=1, waiting=3)), threading.Event()
        tasks = [
            asyncio.create_task(workers.run(slow(threading.Event(), event, []), until_canceled))
            for _ in range(3)
        ]
        while workers.waiting < 3:
            await asyncio.sleep(0.001)
        with pytest.raises(Busy, match="3 requests are waiting already"):
            await workers.run(lambda _: 1, until_canceled)
        event.set()
        assert await asyncio.gather(*tasks) == [1, 1, 1]
        workers.close()

    run_async(main())


def test_health_stays_while_a_request_is_slow(mutag_run, monkeypatch):
    event = threading.Event()
    monkeypatch.setattr("edgnn.serve._work.Work.predict", slow(threading.Event(), event, []))
    app = create_app(mutag_run, limits=Limits(workers=1))

    async def main():
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://localhost"
        ) as client:
            asked = asyncio.create_task(client.post("/predict", json={"smiles": ["C"]}))
            while not app.state.workers.waiting:
                await asyncio.sleep(0.001)
            health = await client.get("/health")
            assert not asked.done()
            assert health.json() == {"status": "ok", "waiting": 1}
            event.set()
            assert (await asked).status_code == 200

    try:
        run_async(main())
    finally:
        event.set()


def test_predictions_are_answered_while_files_are_read(mutag_run, monkeypatch):
    event = threading.Event()
    monkeypatch.setattr("edgnn.serve._work.Work.predict_files", slow(threading.Event(), event, []))
    app = create_app(mutag_run, limits=Limits(seconds=300))

    async def main():
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://localhost", timeout=250
        ) as client:
            files = [("files", ("a.csv", "smiles\nCCO\n"))]
            uploads = [
                asyncio.create_task(client.post("/predict/file", files=files)) for _ in range(4)
            ]
            while app.state.workers.waiting < 4:
                await asyncio.sleep(0.001)
            answer = await client.post("/predict", json={"smiles": ["CCO"]})
            assert answer.status_code == 200
            assert not any(upload.done() for upload in uploads)
            event.set()
            return [(await upload).status_code for upload in uploads]

    try:
        assert run_async(main()) == [200] * 4
    finally:
        event.set()


def test_a_slow_request_gets_503(mutag_run, monkeypatch):
    begun, event = threading.Event(), threading.Event()
    monkeypatch.setattr("edgnn.serve._work.Work.predict", slow(begun, event, []))
    client = client_of(mutag_run, limits=Limits(seconds=1, workers=1))
    try:
        while not begun.is_set():  # as above
            answer = client.post("/predict", json={"smiles": ["C"]})
            assert answer.status_code == 503
    finally:
        event.set()
    assert answer.headers["retry-after"] == "5"
    assert answer.json()["error"].startswith("this took longer than 1 seconds")


def scope_of(path):
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }


def test_a_body_that_does_not_arrive_is_not_waited_for(mutag_run):
    app, sent = create_app(mutag_run, limits=Limits(seconds=0.2)), []

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    run_async(app(scope_of("/predict"), receive, send))
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"] == "the request did not arrive within 0.2 seconds"


def test_work_under_way_when_the_server_ends_is_answered(mutag_run, monkeypatch):
    begun, event = threading.Event(), threading.Event()
    monkeypatch.setattr("edgnn.serve._work.Work.predict", slow(begun, event, []))
    app, sent = create_app(mutag_run), []

    async def main():
        async def receive():
            if begun.is_set():
                await until_canceled()
            return {"type": "http.request", "body": b'{"smiles": ["C"]}', "more_body": False}

        async def send(message):
            sent.append(message)

        task = asyncio.create_task(app(scope_of("/predict"), receive, send))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()  # as the server does with what has not come to an end
        with pytest.raises(asyncio.CancelledError):
            await task
        event.set()

    run_async(main())
    assert sent[0]["status"] == 503
    assert (b"connection", b"close") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["error"].startswith("the server is being ended")


def test_too_little_memory_is_told(mutag_run, monkeypatch):
    def fail(*given):
        raise MemoryError

    monkeypatch.setattr("edgnn.serve._work.Work.predict", fail)
    answer = client_of(mutag_run).post("/predict", json={"smiles": ["C"]})
    assert (answer.status_code, answer.json()["error"]) == (
        503,
        "there is too little memory for this; send less at once",
    )


def test_a_failure_of_our_own_is_one_sentence_and_the_server_goes_on(
    mutag_run, monkeypatch, caplog
):
    client = client_of(mutag_run)
    with monkeypatch.context() as patch:
        patch.setattr("edgnn.serve._work.Work.predict", lambda *given: {}["/secret/place"])
        answer = client.post("/predict", json={"smiles": ["C"]})
    assert answer.status_code == 500
    assert answer.json()["error"].startswith("the server failed at this request")
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "/secret/place" in caplog.text
    assert client.post("/predict", json={"smiles": ["C"]}).status_code == 200


JSON = {"content-type": "application/json"}


def test_health_answers_while_a_body_is_read(mutag_run, monkeypatch):
    asked = threading.Event()

    def slowly(*given):
        assert asked.wait(200)
        return parse(*given)

    parse = _app.parse
    monkeypatch.setattr(_app, "parse", slowly)
    app = create_app(mutag_run, limits=Limits(seconds=300))

    async def main():
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://localhost"
        ) as client:
            body = asyncio.create_task(
                client.post("/predict", content=b'{"smiles": [1]}', headers=JSON)
            )
            while not app.state.workers.waiting:
                await asyncio.sleep(0.001)
            health = (await client.get("/health")).json()
            asked.set()
            return health, await body

    health, answer = run_async(main())
    assert health["waiting"] == 1
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("SMILES 0: Input should be a valid string")


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b'{"smiles": ["CCO"', 400, "the body is no JSON: Expecting ',' delimiter at character 17"),
        (b"\xff\xfe\xfd", 400, "There was an error parsing the body"),
        (b"[" * 100_000, 400, "There was an error parsing the body"),
    ],
)
def test_what_is_no_json_is_told(molecules, content, status, said):
    answer = molecules.post("/predict", content=content, headers=JSON)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"smiles": [1] * 3}, "3 molecules are more than the 2"),
        (
            {"graphs": [{"node_labels": [{}] * 3, "edges": []}]},
            "the graphs have 3 nodes, more than the 2",
        ),
        (
            {"graphs": [{"node_labels": ["C"], "edges": [[]] * 2}]},
            "the graphs have 2 edges, more than the 1",
        ),
    ],
)
def test_too_much_is_refused_before_each_item_is_looked_at(mutag_run, body, said):
    answer = client_of(mutag_run, limits=Limits(items=2, nodes=2, edges=1)).post(
        "/predict", json=body
    )
    assert answer.status_code == 413
    assert answer.json()["error"].startswith(said)


# Clients that leave


def request_of(path, body):
    """The scope of a request, and what gives its body, then waits for an event, then tells that the client is gone."""
    left, parts = asyncio.Event(), [{"type": "http.request", "body": body, "more_body": False}]

    async def receive():
        if parts:
            return parts.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    return scope, receive, left


def test_what_is_queued_for_a_client_that_left_is_dropped(mutag_run, monkeypatch):
    event, begun, worked = threading.Event(), threading.Event(), []

    def explain(self, item, target, deadline, *, change):
        worked.append(item.smiles)
        begun.set()
        event.wait(200)
        deadline.check()
        return {}

    monkeypatch.setattr("edgnn.serve._work.Work.explain", explain)
    app = create_app(mutag_run, limits=Limits(workers=1))

    async def main():
        async def send(message):
            if message["type"] == "http.response.start":
                assert message["status"] == 499

        asked = []
        for smiles in ("C", "CC"):
            scope, receive, left = request_of("/explain", json.dumps({"smiles": smiles}).encode())
            asked.append((asyncio.create_task(app(scope, receive, send)), left))
        while not begun.is_set() or app.state.workers.waiting < 2:
            await asyncio.sleep(0.001)
        for task, left in asked:
            left.set()
            await asyncio.wait_for(task, 100)
        event.set()
        while app.state.workers.waiting:
            await asyncio.sleep(0.001)

    try:
        run_async(main())
    finally:
        event.set()
    assert worked == ["C"]


def test_work_for_a_caller_that_is_gone_ends_at_its_next_look_at_the_clock():
    async def main():
        workers, begun, event, ended = Workers(Limits()), threading.Event(), threading.Event(), []

        def work(deadline):
            begun.set()
            event.wait(200)
            try:
                deadline.check()
            except DeadlineError:
                ended.append(1)
                raise

        task = asyncio.create_task(workers.run(work, until_canceled))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        event.set()
        while workers.waiting:
            await asyncio.sleep(0.001)
        assert ended == [1]
        workers.close()

    run_async(main())


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "text/plain", "application/json"]
)
def test_what_is_no_object_of_json_asks_for_one(molecules, kind):
    content = b'["CCO"]' if kind == "application/json" else b'{"smiles": ["CCO"]}'
    answer = molecules.post("/predict", content=content, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["error"][:28]) == (
        422,
        "the body is no JSON object; ",
    )


# Refused bodies


def asked_by_urllib(address, body):
    """Return the status and error of a request whose client sends all before it reads."""
    request = urllib.request.Request(f"{address}/predict", body, JSON)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    with refused.value:
        return refused.value.code, json.load(refused.value)["error"]


@pytest.fixture(scope="module")
def served_address(mutag_run):
    with served(mutag_run) as (_, address):
        yield address


def test_clients_that_send_everything_first_see_why_it_is_refused(served_address):
    body = b'{"smiles": ["' + b"C" * 9 * 2**20 + b'"]}'
    for _ in range(3):
        status, sentence = asked_by_urllib(served_address, body)
        assert status == 413
        assert sentence.startswith("this is more than the 8,388,608 bytes of JSON")


def test_the_rest_of_a_refused_body_is_read_within_bounds(mutag_run):
    app = create_app(mutag_run, limits=Limits(bytes=1_000, json=500))
    sent, read = [], []

    async def receive():
        read.append(1_000)
        return {"type": "http.request", "body": b"x" * 1_000, "more_body": True}

    async def send(message):
        sent.append(message)

    scope, _, _ = request_of("/predict", b"")
    scope["headers"].append((b"content-length", b"9" * 15))
    run_async(app(scope, receive, send))
    assert sent[0]["status"] == 413
    assert "more than the 500 bytes" in json.loads(sent[1]["body"])["error"]
    assert (sent[1]["more_body"], sent[-1]["more_body"]) == (True, False)
    assert sum(read) == 5_000


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /health HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["no host", "no HTTP", "bad chunk"],
)
def test_what_is_no_http_is_refused_in_plain_text_and_harms_nobody(served_address, request_bytes):
    place = urllib.parse.urlsplit(served_address)
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        connection.sendall(request_bytes)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert (answer.status, answer.read()) == (400, b"Invalid HTTP request received.")
        assert connection.recv(1) == b""
    with urllib.request.urlopen(f"{served_address}/health", timeout=60) as health:
        assert health.status == 200
