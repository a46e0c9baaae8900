import asyncio
import re
import threading

import httpx
import pytest

from edgnn.errors import EdgnnError
from edgnn.serve import Limits, create_app
from edgnn.serve._server import LOCAL_NAMES, address_of, listening, names_of
from serve_runs import client_of, error, run_async

# Who may ask


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"]
)
def test_this_machine_is_known_by_its_names(molecules, host):
    assert molecules.get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example:8000",
        "evil@localhost.x",
        "evil.example@127.0.0.1",
        "127.0.0.1/evil.example",
        "127.0.0.1:x",
        "",
        "[",
        "localhost.:x.y",
    ],
)
def test_a_name_rebound_to_this_machine_is_refused(molecules, host):
    answer = molecules.get("/health", headers={"host": host})
    assert answer.status_code == 403
    assert answer.json()["error"].startswith("this server is not known as")


def test_pages_of_others_may_not_ask(molecules):
    refused = molecules.post(
        "/predict", json={"smiles": ["CCO"]}, headers={"origin": "http://evil.example"}
    )
    assert refused.status_code == 403
    for origin in ("null", "http://[", "http://localhost.evil.example"):
        assert molecules.get("/health", headers={"origin": origin}).status_code == 403
    assert molecules.get("/health", headers={"origin": "http://localhost"}).status_code == 200
    assert (
        "access-control-allow-origin"
        not in molecules.options("/predict", headers={"origin": "http://localhost"}).headers
    )


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_may_not_embed_what_is_here(molecules, site):
    """A picture or a script of another site is asked for by GET and without an origin."""
    for mode, dest in (("no-cors", "image"), ("no-cors", "script"), ("navigate", "iframe")):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
        for path in ("/", "/model", "/names"):
            refused = molecules.get(path, headers=headers)
            assert error(refused, 403).startswith("a page of another site may not use this server")
    assert molecules.get("/health", headers={"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin", "none"])
def test_links_and_bookmarks_lead_to_the_page(molecules, site):
    headers = {
        "sec-fetch-site": site,
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
    }
    assert molecules.get("/", headers=headers).status_code == 200


def test_the_page_itself_may_ask(molecules):
    headers = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
    assert molecules.get("/model", headers=headers).status_code == 200


def test_with_hosts_none_any_name_will_do(mutag_run):
    client = client_of(mutag_run, hosts=None)
    assert client.get("/health", headers={"host": "my-machine.example"}).status_code == 200


def test_head_is_get_without_the_answer(molecules):
    for path in ("/", "/health"):
        asked, told = molecules.get(path), molecules.head(path)
        assert (told.status_code, told.content) == (200, b"")
        assert told.headers == asked.headers
    assert molecules.head("/predict").status_code == 405


def test_the_names_follow_from_the_address():
    assert names_of("127.0.0.1") == LOCAL_NAMES
    assert names_of("0.0.0.0") is None
    assert names_of("::") is None
    assert "box.example" in names_of("box.example")
    assert names_of("0.0.0.0", ["models.example.org"]) == (*LOCAL_NAMES, "models.example.org")
    assert names_of("127.0.0.1", ["Models.example.org", "::2"]) == (
        *LOCAL_NAMES,
        "Models.example.org",
        "::2",
    )
    assert address_of("0.0.0.0", 80) == "http://localhost:80"
    assert address_of("::1", 80) == "http://[::1]:80"


@pytest.mark.parametrize(
    "name",
    ["", "https://models.example.org", "models.example.org:443", "a/b", "me@box", "a b", "["],
)
def test_what_is_no_name_of_a_machine_cannot_be_allowed(name):
    with pytest.raises(EdgnnError, match="is no name of a machine; write it alone"):
        names_of("127.0.0.1", [name])


def test_a_proxy_asks_by_the_name_that_was_allowed(mutag_run):
    client = client_of(mutag_run, hosts=names_of("127.0.0.1", ["models.example.org"]))
    headers = {"host": "models.example.org", "origin": "https://models.example.org"}
    assert client.post("/predict", json={"smiles": ["CCO"]}, headers=headers).status_code == 200
    assert client.get("/health", headers={"host": "other.example.org"}).status_code == 403


def test_every_answer_has_the_headers_that_keep_browsers_careful(molecules):
    for answer in (
        molecules.get("/"),
        molecules.get("/nowhere"),
        molecules.get("/health", headers={"host": "evil.example"}),
    ):
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
        assert "://" not in answer.text.replace("http://www.w3.org/2000/svg", "").replace(
            r":\/\/", ""
        )
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


def test_json_has_a_limit_of_its_own(mutag_run):
    client = client_of(mutag_run, limits=Limits(bytes=2_000, json=500))
    for content in (b" " * 600, iter([b" " * 300, b" " * 300])):
        answer = client.post(
            "/predict", content=content, headers={"content-type": "application/json"}
        )
        assert answer.status_code == 413
        assert answer.json()["error"].endswith(
            "more than the 500 bytes of JSON in one request; send it in parts, or as a file"
        )
    assert (
        client.post(
            "/predict/file", files=[("files", ("a.csv", "smiles\n" + "CCO\n" * 200))]
        ).status_code
        == 200
    )
    assert client.get("/model").json()["limits"]["json"] == 500
    assert (
        client_of(mutag_run, limits=Limits(bytes=300)).get("/model").json()["limits"]["json"] == 300
    )


def test_a_length_of_any_number_of_digits_is_refused(molecules):
    assert molecules.get("/health", headers={"content-length": "9" * 5_000}).status_code == 413
    assert molecules.get("/health", headers={"content-length": "0" * 5_000}).status_code == 200


def test_all_requests_together_are_bounded_and_room_comes_back(mutag_run, monkeypatch):
    begun, event = threading.Event(), threading.Event()

    def predict(*given):
        begun.set()
        event.wait(200)
        return {}

    monkeypatch.setattr("edgnn.serve._work.Work.predict", predict)
    app = create_app(mutag_run, limits=Limits(held=1_000))
    large, small = {"smiles": ["C" * 1_500]}, {"smiles": ["C"]}

    async def main():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            first = asyncio.create_task(client.post("/predict", json=large))
            while not begun.is_set():
                await asyncio.sleep(0.001)
            refused = await client.post("/predict", json=small)
            event.set()
            assert (await first).status_code == 200
            assert (await client.post("/predict", json=small)).status_code == 200
            return refused

    try:
        refused = run_async(main())
    finally:
        event.set()
    assert refused.headers["retry-after"] == "5"
    said = "requests of more than 1,000 bytes are at work; try again in a moment"
    assert error(refused, 503) == said


@pytest.mark.parametrize(
    ("limits", "body", "said"),
    [
        (Limits(items=2), {"smiles": ["C"] * 3}, "3 molecules are more than the 2 of one request"),
        (
            Limits(items=2),
            {"graphs": [{"node_labels": ["C"], "edges": []}] * 3},
            "3 graphs are more than the 2",
        ),
        (Limits(items=2), {"examples": ["1", "2", "3"]}, "3 graphs are more than the 2"),
        (Limits(nodes=3), {"smiles": ["CC", "CC"]}, "the graphs have 4 nodes, more than the 3"),
        (
            Limits(nodes=3),
            {"graphs": [{"num_nodes": 2_000_000_000, "edges": []}]},
            "the graphs have 2,000,000,000 nodes",
        ),
        (
            Limits(),
            {"graphs": [{"edges": [[0, 2_000_000_000]]}]},
            "the graphs have 2,000,000,001 nodes",
        ),
        (Limits(edges=3), {"smiles": ["CCC"]}, "the graphs have 4 edges, more than the 3"),
        (
            Limits(edges=1),
            {"graphs": [{"node_labels": ["C"], "edges": [[0, 0]] * 2}]},
            "the graphs have 2 edges",
        ),
    ],
)
def test_too_much_at_once_is_refused(mutag_run, limits, body, said):
    answer = client_of(mutag_run, limits=limits).post("/predict", json=body)
    assert answer.status_code == 413
    assert answer.json()["error"].startswith(said)


def test_too_many_files_or_rows_are_refused_unread(mutag_run):
    client = client_of(mutag_run, limits=Limits(files=1, items=5))
    answer = client.post("/predict/file", files=[("files", (f"{n}.csv", "x")) for n in range(2)])
    assert (answer.status_code, answer.json()["error"][:21]) == (413, "2 files are more than")
    assert answer.json()["error"].endswith(
        "such as tables of edges and nodes, or a TU set as one zip archive"
    )
    answer = client.post("/predict/file", files=[("files", ("a.csv", "smiles\n" + "C((\n" * 20))])
    assert (answer.status_code, answer.json()["error"][:30]) == (
        413,
        "a.csv has 21 lines or records;",
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,SMILES\n1,CCO\n2," + "C" * 5_001 + "\n"),
        ("a.smi", "CCO\n" + "C" * 5_001 + "\n"),
        ("a.sdf", "x\n" * 100_001 + "$$$$\n"),
    ],
)
def test_a_molecule_that_all_others_would_wait_for_is_refused_unread(
    molecules, monkeypatch, name, content
):
    def read(text, *_):
        assert len(text) < 1_000
        return rdkit(text)

    from edgnn.io import read_smiles as rdkit

    monkeypatch.setattr("edgnn.io._molecule_files.read_smiles", read)
    monkeypatch.setattr("edgnn.io._molecule_files.read_mol_block", read)
    answer = molecules.post("/predict/file", files=[("files", (name, content))])
    assert answer.status_code == 413
    assert re.match(
        rf"{name}, line \d: the molecule has [\d,]+ characters; [\d,]+ are allowed",
        answer.json()["error"],
    )


# Where


def test_a_busy_port_is_told_in_one_line():
    with listening("127.0.0.1", 0) as ear:
        port = ear.getsockname()[1]
        with pytest.raises(
            EdgnnError, match=f"port {port} of 127.0.0.1 is in use; choose another with --port"
        ):
            listening("127.0.0.1", port)


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host", "a" * 300])
def test_an_address_that_is_not_ours_is_told_in_one_line(host):
    with pytest.raises(EdgnnError, match="--host names an address of this machine"):
        listening(host, 0)
