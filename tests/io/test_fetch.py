"""Download against a real server: what arrives is right or nothing does, and errors name every mirror."""

import errno
import hashlib
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgnn.errors import ChecksumError, FetchError, FormatError
from edgnn.io.datasets import _download

BODY = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(300_000)
PRELUDE = "import sys; from pathlib import Path; from edgnn.io.datasets._download import download"
SHA = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "file.bin"


def download(urls, destination, **options):
    """Download a file and return its hash."""
    assert _download.download(urls, destination, **options) in urls
    return hashlib.sha256(destination.read_bytes()).hexdigest()


def left(place):
    return sorted(path.name for path in place.parent.iterdir())


def test_file_arrives_whole_and_alone(server, place):
    assert download([server.add("/a", BODY)], place) == SHA
    assert place.read_bytes() == BODY
    assert left(place) == ["file.bin"]
    (headers,) = server.headers_of("/a")
    assert headers["User-Agent"].startswith("edgnn/0")
    assert headers["Range"] is None


def test_empty_file_arrives(server, place):
    assert download([server.add("/a", b"")], place) == hashlib.sha256(b"").hexdigest()
    assert place.read_bytes() == b""


def test_uppercase_checksum_is_the_same_checksum(server, place):
    assert download([server.add("/a", BODY)], place, sha256=SHA.upper()) == SHA


@pytest.mark.parametrize("status", [403, 404, 410, 500, 503, 299, 206])
def test_bad_status_moves_on_to_the_next_mirror(server, place, status):
    urls = [server.add("/bad", BODY, status=status), server.add("/good", BODY)]
    assert download(urls, place) == SHA
    assert len(server.headers_of("/bad")) == 1


def test_every_mirror_is_named_with_its_reason_and_the_way_out(server, place):
    urls = [
        server.url("/gone"),
        server.add("/broken", status=500),
        "ftp://127.0.0.1/x",
        "file:///etc/passwd",
    ]
    with pytest.raises(FetchError) as caught:
        download(urls, place, title="MUTAG")
    message = str(caught.value)
    assert message.startswith("MUTAG could not be downloaded")
    assert f"{urls[0]}: HTTP 404 Not Found; {urls[1]}: HTTP 500 Internal Server Error; " in message
    assert f"{urls[2]}: only http and https are allowed (" in message
    assert "EDGNN_DATA" in message
    assert "--data-dir" in message
    assert "\n" not in message
    assert left(place) == []


def test_no_mirror_at_all_is_an_error(place):
    with pytest.raises(FetchError, match="no mirror"):
        download([], place)


def test_refused_connection_is_a_reason(server, place):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(FetchError, match="refused"):  # as long as nobody else can listen there
            download([f"http://127.0.0.1:{unused.getsockname()[1]}/a"], place)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:port/a", "http://[::1/a", "http:///a", "http://127.0.0.1/a b\n"]
)
def test_unreadable_url_is_a_reason(server, place, url):
    with pytest.raises(FetchError):
        download([url], place)


def test_answer_that_is_not_http_is_a_reason(server, place):
    code = "import socket; s=socket.create_server(('127.0.0.1',0)); print(s.getsockname()[1],flush=True)\n"
    code += "for _ in range(3): c,_=s.accept(); c.recv(4096); c.sendall(b'\\x00\\x01nonsense\\r\\n\\r\\n'); c.close()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/a"
        with pytest.raises(FetchError, match=f"{url}: .*nonsense"):
            download([url], place, timeout=30)


def test_cut_connection_is_resumed_once_where_it_broke(server, place):
    assert download([server.add("/a", BODY, cuts=[98_304])], place) == SHA
    assert server.ranges_of("/a") == [None, "bytes=98304-"]
    assert server.headers_of("/a")[1]["If-Range"] == '"version-1"'
    assert left(place) == ["file.bin"]


def test_connection_cut_three_times_fails_and_a_later_call_resumes(server, place):
    url = server.add("/a", BODY, cuts=[98_304, 49_152, 0])
    with pytest.raises(FetchError, match="cut after 147,456 of 300,000 bytes"):
        download([url], place)
    assert left(place) == ["file.bin.part", "file.bin.part.json"]
    assert download([url], place) == SHA
    rest = "bytes=147456-"
    assert server.ranges_of("/a") == [None, "bytes=98304-", rest, rest]


def test_connection_cut_before_the_headers_is_tried_again(server, place):
    code = "import socket; s=socket.create_server(('127.0.0.1',0)); print(s.getsockname()[1],flush=True)\n"
    code += "for n in range(3): c,_=s.accept(); c.recv(4096); c.close(); print(n,flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/a"
        with pytest.raises(FetchError, match="cut"):
            download([url], place, timeout=30)
        assert process.communicate(timeout=60)[0].split() == ["0", "1", "2"]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cuts=st.lists(st.integers(0, 5_000), max_size=6),
    etag=st.sampled_from(['"e"', 'W/"weak"', None]),
    ranges=st.booleans(),
    known=st.booleans(),
)
def test_content_is_right_however_often_it_is_cut(
    server, tmp_path_factory, cuts, etag, ranges, known
):
    body = BODY[:5_000]
    url = server.add("/a", body, cuts=list(cuts), etag=etag, ranges=ranges)
    place = tmp_path_factory.mktemp("cut") / "file"
    for _ in range(len(cuts) + 1):
        assert not place.exists()
        with suppress(FetchError):
            download([url], place, sha256=hashlib.sha256(body).hexdigest() if known else None)
            break
    assert place.read_bytes() == body


def test_file_that_changed_since_is_started_over_not_spliced(server, place):
    url = server.add("/a", OTHER, cuts=[98_304, 0, 0], etag='"old"')
    with pytest.raises(FetchError):
        download([url], place)
    server.add("/a", BODY, etag='"new"')
    assert download([url], place) == SHA
    assert server.headers_of("/a")[-1]["If-Range"] == '"old"'


def test_changed_file_is_noticed_even_if_the_server_overlooks_the_condition(server, place):
    url = server.add("/a", OTHER, cuts=[98_304, 0, 0], etag='"old"')
    with pytest.raises(FetchError):
        download([url], place)
    server.add("/a", BODY, etag='"new"', sloppy=True)
    assert download([url], place) == SHA
    assert server.ranges_of("/a")[-2:] == ["bytes=98304-", None]


def test_range_with_more_bytes_than_the_file_has_is_refused(server, place):
    url = server.add("/a", BODY, cuts=[98_304], surplus=9)
    with pytest.raises(FetchError, match="300,009 bytes instead of the 300,000 it announced"):
        download([url], place)
    assert left(place) == []


def test_server_that_ignores_ranges_sends_all_of_it_again(server, place):
    assert download([server.add("/a", BODY, cuts=[98_304], ranges=False)], place) == SHA


def test_server_that_sends_another_range_is_asked_from_zero(server, place):
    assert download([server.add("/a", BODY, cuts=[98_304], shift=7)], place) == SHA
    assert server.ranges_of("/a") == [None, "bytes=98304-", None]


def test_second_mirror_starts_over_without_a_hash(server, place):
    urls = [server.add("/other", OTHER, cuts=[98_304, 0, 0]), server.add("/good", BODY)]
    assert download(urls, place) == SHA
    assert server.ranges_of("/good") == [None]


@pytest.mark.parametrize(
    "note",
    [
        "",
        "[]",
        "7",
        '{"url": 1}',
        '{"url": "U", "etag": 3}',
        '{"url": "U", "etag": "a\\nb"}',
    ],
)
def test_damaged_note_means_starting_over(server, place, note):
    url = server.add("/a", BODY)
    place.with_name("file.bin.part").write_bytes(OTHER[:1000])
    place.with_name("file.bin.part.json").write_text(note.replace("U", url))
    assert download([url], place) == SHA


def test_complete_part_is_started_over(server, place):
    url = server.add("/a", BODY)
    place.with_name("file.bin.part").write_bytes(BODY)
    place.with_name("file.bin.part.json").write_text(
        json.dumps({"url": url, "etag": '"version-1"'})
    )
    assert download([url], place) == SHA
    assert server.ranges_of("/a") == ["bytes=300000-", None]


def test_wrong_checksum_moves_on_to_the_next_mirror(server, place):
    urls = [server.add("/changed", OTHER), server.add("/good", BODY)]
    assert download(urls, place, sha256=SHA) == SHA
    assert server.ranges_of("/changed") == [None]


def test_wrong_checksum_everywhere_is_a_checksum_error(server, place):
    urls = [server.add("/a", OTHER), server.add("/b", OTHER[1:])]
    with pytest.raises(ChecksumError, match=f"{urls[0]}: .*{SHA[:12]}.*; {urls[1]}: .*EDGNN_DATA"):
        download(urls, place, sha256=SHA)
    assert left(place) == []


def test_wrong_checksum_and_absence_together_are_a_fetch_error(server, place):
    with pytest.raises(FetchError, match=r"checksum is wrong.*404"):
        download([server.add("/a", OTHER), server.url("/b")], place, sha256=SHA)


@pytest.mark.parametrize("error", [ChecksumError("not mine"), FormatError("x.zip", "not mine")])
def test_file_turned_down_by_the_caller_moves_on(server, place, error):
    seen = []

    def check(path):
        seen.append(path.read_bytes())
        if len(seen) == 1:
            raise error

    urls = [server.add("/a", OTHER), server.add("/b", BODY)]
    assert download(urls, place, check=check) == SHA
    assert seen == [OTHER, BODY]
    seen.clear()
    place.unlink()
    with pytest.raises(ChecksumError, match="not mine"):
        download(urls[:1], place, check=check)


@pytest.mark.parametrize("stall", [-1, 0, 1000])
def test_silent_server_fails_within_the_timeout(server, place, stall):
    url = server.add("/a", BODY, stall=stall)
    start = time.monotonic()
    with pytest.raises(FetchError, match=r"within 0\.5 s"):
        download([url], place, timeout=0.5)
    assert 0.4 < time.monotonic() - start < 15
    assert len(server.requests) <= 1  # where all is slow, not even one


def test_slow_server_within_the_timeout_is_fine(server, place):
    assert download([server.add("/a", BODY, pause=0.2)], place, timeout=20) == SHA


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_followed(server, place, status):
    server.add("/real", BODY)
    assert download([server.add("/a", b"moved", status=status, location="/real")], place) == SHA


def test_range_survives_a_redirect(server, place):
    url = server.add("/a", status=302, location="/real")
    server.add("/real", BODY, cuts=[16_384])
    assert download([url], place) == SHA
    assert server.ranges_of("/real") == [None, "bytes=16384-"]


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:,x", "javascript:x", "http://[bad"]
)
def test_redirect_to_another_scheme_is_refused(server, place, target):
    with pytest.raises(FetchError) as caught:
        download([server.add("/a", status=302, location=target)], place)
    assert target.startswith("http:") or repr(target) in str(caught.value)
    assert left(place) == []


def test_redirects_in_a_circle_end(server, place):
    with pytest.raises(FetchError, match="redirects more than 5 times"):
        download([server.add("/a", status=302, location="/a")], place)


@pytest.mark.parametrize(("hops", "fine"), [(5, True), (6, False)])
def test_five_redirects_and_no_more(server, place, hops, fine):
    for hop in range(hops):
        server.add(f"/{hop}", status=302, location=f"/{hop + 1}")
    server.add(f"/{hops}", BODY)
    if fine:
        assert download([server.url("/0")], place) == SHA
    else:
        with pytest.raises(FetchError, match="redirects more than 5 times"):
            download([server.url("/0")], place)


@pytest.mark.parametrize("announced", [True, False])
def test_size_limit_stops_the_download(server, place, announced):
    url = server.add("/a", BODY, no_length=not announced)
    with pytest.raises(FetchError, match="bytes or more; the limit is 200,000"):
        download([url], place, max_bytes=200_000)
    assert left(place) == []
    assert download([url], place, max_bytes=300_000) == SHA


def test_body_shorter_than_announced_is_no_success(server, place):
    with pytest.raises(FetchError, match=r"cut after [0-9,]+ of 300,500 bytes"):
        download([server.add("/a", BODY, length=300_500, ranges=False)], place)
    assert not place.exists()


def test_body_longer_than_announced_is_caught_by_the_checksum(server, place):
    with pytest.raises(ChecksumError):
        download([server.add("/a", BODY, length=299_000)], place, sha256=SHA)


def test_body_without_announced_length_arrives(server, place):
    assert download([server.add("/a", BODY, no_length=True)], place) == SHA


def test_killed_process_leaves_no_broken_file_and_the_next_one_goes_on(server, place):
    url = server.add("/a", BODY, stall=200_000)
    code = f"{PRELUDE}; download([sys.argv[1]], Path(sys.argv[2]))"
    part = place.with_name("file.bin.part")
    with subprocess.Popen([sys.executable, "-c", code, url, str(place)]) as process:
        deadline = time.monotonic() + 60
        while not (part.exists() and part.stat().st_size > 100_000) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert {"file.bin.part", "file.bin.part.json"} <= set(left(place))
    size = part.stat().st_size
    server.add("/a", BODY)
    assert download([url], place) == SHA
    assert server.ranges_of("/a") == [None, f"bytes={size}-"]
    assert place.read_bytes() == BODY


def test_full_disk_is_one_clear_error_and_what_arrived_is_kept(server, place, monkeypatch):
    class Full:
        def __init__(self, stream):
            self.stream, self.room = stream, 100_000

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.stream.close()

        def write(self, data):
            self.room -= len(data)
            if self.room < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.stream.write(data)

    real = pathlib.Path.open

    def opened(path, mode="r", *args, **kwargs):
        stream = real(path, mode, *args, **kwargs)
        return Full(stream) if path.suffix == ".part" and "b" in mode else stream

    urls = [server.add("/a", BODY), server.add("/b", BODY)]
    monkeypatch.setattr(pathlib.Path, "open", opened)
    with pytest.raises(
        FetchError, match=r"file\.bin\.part: No space left on device; .*EDGNN_CACHE"
    ):
        download(urls, place)
    monkeypatch.undo()
    assert server.headers_of("/b") == []
    assert left(place) == ["file.bin.part", "file.bin.part.json"]
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert download(urls, place) == SHA


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_device_without_room_is_one_clear_error(server, place):
    place.with_name("file.bin.part").symlink_to("/dev/full")
    with pytest.raises(FetchError, match="No space left on device"):
        download([server.add("/a", b"small enough for a buffer")], place)


def test_bar_is_shown_when_asked_for(server, place, capfd):
    download([server.add("/a", BODY)], place, progress=True, title="AIFB [graph]")
    assert "AIFB [graph]" in capfd.readouterr().err


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_printed_in_a_pipe(server, place, progress):
    code = f"{PRELUDE}; download([sys.argv[1]], Path(sys.argv[2]), progress={progress})"
    command = [sys.executable, "-c", code, server.add("/a", BODY), str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert (done.stdout, done.stderr) == ("", "")
