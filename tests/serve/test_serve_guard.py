import asyncio
import json
import re
import threading

import httpx
import pytest

from edgnn.errors import EdgnnError
from edgnn.serve import LOCAL_NAMES, Limits, create_app
from edgnn.serve._guard import Guard
from edgnn.serve._limits import Busy
from edgnn.serve._server import address_of, listening, names_of
from edgnn.serve._workers import Workers
from serve_runs import client_of, run_async

# Who may ask


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_this_machine_is_known_by_its_names(molecules, host):
    assert molecules.get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "evil@localhost.x", "", "[", "localhost.:x.y"])
def test_a_name_rebound_to_this_machine_is_refused(molecules, host):
    answer = molecules.get("/health", headers={"host": host})
    assert answer.status_code == 403
    assert answer.json()["error"].startswith("this server is not known as")


def test_pages_of_others_may_not_ask(molecules):
    refused = molecules.post("/predict", json={"smiles": ["CCO"]}, headers={"origin": "http://evil.example"})
    assert refused.status_code == 403
    for origin in ("null", "http://[", "http://localhost.evil.example"):
        assert molecules.get("/health", headers={"origin": origin}).status_code == 403
    assert molecules.get("/health", headers={"origin": "http://localhost"}).status_code == 200
    assert "access-control-allow-origin" not in molecules.options("/predict", headers={"origin": "http://localhost"}).headers


def test_with_hosts_none_any_name_will_do(mutag_run):
    client = client_of(mutag_run, hosts=None)
    assert client.get("/health", headers={"host": "my-machine.example"}).status_code == 200


def test_the_names_follow_from_the_address():
    assert names_of("127.0.0.1") == LOCAL_NAMES
    assert names_of("0.0.0.0") is None
    assert names_of("::") is None
    assert "box.example" in names_of("box.example")
    assert address_of("0.0.0.0", 80) == "http://localhost:80"
    assert address_of("::1", 80) == "http://[::1]:80"


def test_every_answer_has_the_headers_that_keep_browsers_careful(molecules):
    for answer in (molecules.get("/"), molecules.get("/nowhere"), molecules.get("/health", headers={"host": "evil.example"})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy


def test_the_page_names_nothing_from_elsewhere(molecules):
    for path in ("/", "/parts.js", "/app.js", "/app.css", "/icon.svg"):
        answer = molecules.get(path)
        assert answer.status_code == 200
        assert "://" not in answer.text.replace("http://www.w3.org/2000/svg", "").replace(r":\/\/", "")
    assert "<script>" not in molecules.get("/").text
    assert molecules.get("/docs").status_code == 404


# How much


def test_a_body_too_large_is_refused_before_it_is_read(mutag_run):
    client = client_of(mutag_run, limits=Limits(bytes=1_000))
    for answer in (
        client.post("/predict", content=b"x" * 2_000),
        client.post("/predict", content=iter([b"x" * 900, b"x" * 900])),
        client.post("/predict/file", files=[("files", ("a.csv", "x" * 2_000))]),
    ):
        assert answer.status_code == 413
        assert "more than the 1,000 bytes of one request" in answer.json()["error"]


def test_a_length_of_any_number_of_digits_is_refused(molecules):
    assert molecules.get("/health", headers={"content-length": "9" * 5_000}).status_code == 413
    assert molecules.get("/health", headers={"content-length": "0" * 5_000}).status_code == 200


def test_all_requests_together_are_bounded_and_room_comes_back():
    async def main():
        arrived, event = asyncio.Event(), asyncio.Event()

        async def app(scope, receive, send):
            await receive()
            arrived.set()
            await event.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        transport = httpx.ASGITransport(app=Guard(app, Limits(held=1_000), None))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            first = asyncio.create_task(client.post("/", content=b"x" * 1_500))
            await arrived.wait()
            refused = await client.post("/", content=b"x")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert refused.json()["error"] == "requests of more than 1,000 bytes are at work; try again in a moment"
            event.set()
            assert (await first).status_code == 200
            assert (await client.post("/", content=b"x")).status_code == 200

    run_async(main())


@pytest.mark.parametrize(
    ("limits", "body", "said"),
    [
        (Limits(items=2), {"smiles": ["C"] * 3}, "3 molecules are more than the 2 of one request"),
        (Limits(items=2), {"graphs": [{"node_labels": ["C"], "edges": []}] * 3}, "3 graphs are more than the 2"),
        (Limits(items=2), {"examples": ["1", "2", "3"]}, "3 graphs are more than the 2"),
        (Limits(nodes=3), {"smiles": ["CC", "CC"]}, "the graphs have 4 nodes, more than the 3"),
        (Limits(nodes=3), {"graphs": [{"num_nodes": 2_000_000_000, "edges": []}]}, "the graphs have 2,000,000,000 nodes"),
        (Limits(), {"graphs": [{"edges": [[0, 2_000_000_000]]}]}, "the graphs have 2,000,000,001 nodes"),
        (Limits(edges=3), {"smiles": ["CCC"]}, "the graphs have 4 edges, more than the 3"),
        (Limits(edges=1), {"graphs": [{"node_labels": ["C"], "edges": [[0, 0]] * 2}]}, "the graphs have 2 edges"),
    ],
)  # fmt: skip
def test_too_much_at_once_is_refused(mutag_run, limits, body, said):
    answer = client_of(mutag_run, limits=limits).post("/predict", json=body)
    assert answer.status_code == 413
    assert answer.json()["error"].startswith(said)


def test_too_many_files_or_rows_are_refused_unread(mutag_run):
    client = client_of(mutag_run, limits=Limits(files=1, items=5))
    answer = client.post("/predict/file", files=[("files", (f"{n}.csv", "x")) for n in range(2)])
    assert (answer.status_code, answer.json()["error"][:21]) == (413, "2 files are more than")
    answer = client.post("/predict/file", files=[("files", ("a.csv", "smiles\n" + "C((\n" * 20))])
    assert (answer.status_code, answer.json()["error"][:30]) == (413, "a.csv has 21 lines or records;")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,SMILES\n1,CCO\n2," + "C" * 5_001 + "\n"),
        ("a.smi", "CCO\n" + "C" * 5_001 + "\n"),
        ("a.sdf", "x\n" * 100_001 + "$$$$\n"),
    ],
)
def test_a_molecule_that_all_others_would_wait_for_is_refused_unread(molecules, monkeypatch, name, content):
    monkeypatch.setattr("edgnn.serve._inputs.read", None)
    answer = molecules.post("/predict/file", files=[("files", (name, content))])
    assert answer.status_code == 413
    assert re.match(rf"{name}, line \d: the molecule has [\d,]+ characters; [\d,]+ are allowed", answer.json()["error"])


# How long


def slow(begun, event, ended):
    def work(*given, **named):
        begun.set()
        event.wait(200)
        ended.append(1)
        return 1

    return work


def test_work_beyond_its_time_is_given_up_and_later_work_goes_on():
    async def main():
        workers, begun, event, ended = Workers(Limits(seconds=1, workers=1)), threading.Event(), threading.Event(), []
        while not begun.is_set():  # what a thread takes up when its time is over is not begun
            with pytest.raises(Busy) as told:
                await workers.run(slow(begun, event, ended))
        assert str(told.value).startswith("this took longer than 1 seconds")
        assert ended == []
        ran = []
        with pytest.raises(Busy, match="longer than 1 seconds"):
            await workers.run(lambda _: ran.append(1))
        event.set()
        workers._limits = Limits()
        assert await workers.run(lambda _: 7) == 7
        while workers.waiting:
            await asyncio.sleep(0.001)
        assert ran == []
        workers.close()

    run_async(main())


def test_beyond_the_queue_requests_are_turned_away():
    async def main():
        workers, event = Workers(Limits(workers=1, waiting=3)), threading.Event()
        tasks = [asyncio.create_task(workers.run(slow(threading.Event(), event, []))) for _ in range(3)]
        while workers.waiting < 3:
            await asyncio.sleep(0.001)
        with pytest.raises(Busy, match="3 requests are waiting already"):
            await workers.run(lambda _: 1)
        event.set()
        assert await asyncio.gather(*tasks) == [1, 1, 1]
        workers.close()

    run_async(main())


def test_health_stays_while_a_request_is_slow(mutag_run, monkeypatch):
    event = threading.Event()
    monkeypatch.setattr("edgnn.serve._work.Work.predict", slow(threading.Event(), event, []))
    app = create_app(mutag_run, limits=Limits(workers=1))

    async def main():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
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


def test_a_body_that_does_not_arrive_is_not_waited_for(mutag_run):
    app, sent = create_app(mutag_run, limits=Limits(seconds=0.2)), []

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"10")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": "/predict",
        "raw_path": b"/predict",
        "root_path": "", "scheme": "http", "query_string": b"", "headers": headers, "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }  # fmt: skip
    run_async(app(scope, receive, send))
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"] == "the request did not arrive within 0.2 seconds"


def test_too_little_memory_is_told(mutag_run, monkeypatch):
    def fail(*given):
        raise MemoryError

    monkeypatch.setattr("edgnn.serve._work.Work.predict", fail)
    answer = client_of(mutag_run).post("/predict", json={"smiles": ["C"]})
    assert (answer.status_code, answer.json()["error"]) == (503, "there is too little memory for this; send less at once")


def test_a_failure_of_our_own_is_one_sentence_and_the_server_goes_on(mutag_run, monkeypatch, caplog):
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


# Where


def test_a_busy_port_is_told_in_one_line():
    with listening("127.0.0.1", 0) as ear:
        port = ear.getsockname()[1]
        with pytest.raises(EdgnnError, match=f"port {port} of 127.0.0.1 is in use; choose another with --port"):
            listening("127.0.0.1", port)


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host", "a" * 300])
def test_an_address_that_is_not_ours_is_told_in_one_line(host):
    with pytest.raises(EdgnnError, match="--host names an address of this machine"):
        listening(host, 0)
