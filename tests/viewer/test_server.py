"""Access to the server: raw requests with wrong hosts, origins, tokens, methods, paths and framing."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress

import pytest

from keyframer.viewer import Viewer
from keyframer.viewer.server import MOST_CLIENTS
from tests.viewer.raw import Answer, ask, exchange, parse, session
from tests.waiting import PATIENCE, wait_for

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self' blob:; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def check_headers(answer: Answer) -> None:
    """Check headers that every answer has, and those that none has."""
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert answer.headers["content-length"].isdigit()


@pytest.fixture(scope="module")
def cookie(viewer: Viewer) -> str:
    return session(viewer)


def test_page_and_its_assets_are_served(viewer: Viewer) -> None:
    page = ask(viewer)
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    check_headers(page)
    assert ask(viewer, "/", "HEAD").body == b""
    assert viewer.access.token.encode() not in page.body


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_three_hosts_are_accepted(viewer: Viewer, host: str) -> None:
    assert ask(viewer, Host=f"{host}:{viewer.port}").status == 200


WRONG_HOSTS = (
    "127.0.0.1", "localhost", "evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1:{port}.evil.example",
    "127.0.0.1:{port}@evil.example", "localhost.evil.example:{port}", "LOCALHOST:{port}", "127.1:{port}",
    "0.0.0.0:{port}",
    "2130706433:{port}", "[::1]", "::1:{port}", "127.0.0.1:0{port}", "127.0.0.1:{port},evil.example", "",
    "localhost.:{port}",
)  # fmt: skip


def test_missing_and_repeated_hosts_are_refused(viewer: Viewer, cookie: str) -> None:
    assert ask(viewer, "/data/files", Host=None, Cookie=cookie).status == 403
    twice = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nHost: evil.example\r\n\r\n"
    assert parse(exchange(viewer.port, twice.encode())).status == 403


WRONG_ORIGINS = (
    "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://127.0.0.1:1",
    "http://localhost:{port}", "http://127.0.0.1:{port}/", "file://", "",
)  # fmt: skip


@pytest.mark.parametrize(
    ("header", "value"), [*(("Host", host) for host in WRONG_HOSTS), *(("Origin", origin) for origin in WRONG_ORIGINS)]
)
def test_other_hosts_and_origins_are_refused(viewer: Viewer, cookie: str, header: str, value: str) -> None:
    answer = ask(viewer, "/data/files", Cookie=cookie, **{header: value.format(port=viewer.port)})
    assert answer.status == 403
    check_headers(answer)


@pytest.mark.parametrize("order", [1, -1])
def test_every_origin_must_be_ours(viewer: Viewer, cookie: str, order: int) -> None:
    ours = f"http://127.0.0.1:{viewer.port}"
    origins = "".join(f"Origin: {origin}\r\n" for origin in (ours, "http://evil.example")[::order])
    request = f"GET /data/files HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nCookie: {cookie}\r\n{origins}\r\n"
    assert parse(exchange(viewer.port, request.encode())).status == 403


def test_our_own_origin_is_accepted(viewer: Viewer, cookie: str) -> None:
    assert ask(viewer, "/data/files", Origin=f"http://127.0.0.1:{viewer.port}", Cookie=cookie).status == 200


@pytest.mark.parametrize(("site", "status"), [
    ("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("", 403), ("Same-Origin", 403),
])  # fmt: skip
def test_requests_of_other_sites_are_refused(viewer: Viewer, cookie: str, site: str, status: int) -> None:
    assert ask(viewer, "/data/files", Sec_Fetch_Site=site, Cookie=cookie).status == status


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "BREW", "get"]
)
def test_other_methods_than_get_and_head_are_refused(viewer: Viewer, cookie: str, method: str) -> None:
    answer = ask(viewer, "/data/files", method, Cookie=cookie, Access_Control_Request_Method="GET")
    assert answer.status == 405
    assert answer.headers["allow"] == "GET, HEAD"
    check_headers(answer)


WRONG_COOKIES = (
    None, "", "keyframer=x", "keyframer_{port}=", "keyframer_{port}=0123456789abcdef0123456789abcdef",
    "keyframer_1={session}", "other={session}", "keyframer_{port}={session}x", "keyframer_{port}={token}",
    "keyframer_{port}={session_upper}", "=;;;", "\x80\xff",
)  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_COOKIES)
@pytest.mark.parametrize("path", ["/data/files", "/data/0/scene", "/data/0/model", "/data/0/page", "/data/0/bytes/0"])
def test_data_requires_the_cookie(viewer: Viewer, cookie: str, path: str, wrong: str | None) -> None:
    value = cookie.partition("=")[2]
    if wrong is not None:
        parts = {"session": value, "session_upper": value.upper() + "X", "token": viewer.access.token}
        wrong = wrong.format(port=viewer.port, **parts)
    answer = ask(viewer, path, Cookie=wrong)
    assert answer.status == 403
    assert len(answer.body) < 100
    check_headers(answer)


@pytest.mark.parametrize("token", [None, "", "0" * 32, "x", "é", "{token}0", "{token} {token}", "{upper}X"])
def test_only_the_token_gets_a_cookie(viewer: Viewer, token: str | None) -> None:
    given = None if token is None else token.format(token=viewer.access.token, upper=viewer.access.token.upper())
    answer = ask(viewer, "/session", X_Keyframer_Token=given)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_token_in_the_address_is_refused(viewer: Viewer) -> None:
    for path in (
        f"/?{viewer.access.token}",
        f"/session?token={viewer.access.token}",
        f"/data/files?{viewer.access.token}",
    ):
        assert ask(viewer, path).status in (403, 404)


def test_cookie_is_strict_and_hidden_from_scripts(viewer: Viewer) -> None:
    answer = ask(viewer, "/session", X_Keyframer_Token=viewer.access.token)
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert str(viewer.port) in name
    assert viewer.access.token not in name
    assert len(name.partition("=")[2]) == 32


WRONG_PATHS = (
    "/data/2/scene", "/data/-1/scene", "/data/00/scene", "/data/0/scene/", "/data/0/../0/scene", "/data/0/track/9999",
    "/data/0/track/-1", "/data/0/track/1e1", "/data/0/bytes/99999", "/data/0/bytes/99999999999999999999",
    "/data/0/scene?x", "/data/0/scene%00", "/data/%30/scene", "/data//files", "//data/files",
    "/data/0/../../etc/passwd",
    "/../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "/assets/", "/assets",
    "/assets/../index.html", "/assets/..%5c..%5cserver.py", "/index.html", "/assets/%69ndex.js", "/static/index.html",
    "http://127.0.0.1/data/files", "/data/0/examples/windmill.3ds", "/data/\u00b2/scene", "*", "/.git/config",
    "/data/0/clip/1", "/data/0/clip/", "/data/2/page", "/data/0/page/",
    "/data/0/bytes/0x0", "/data/0/bytes/1_0", "/data/٠/scene".encode().decode("latin-1"),
)  # fmt: skip


@pytest.mark.parametrize("path", WRONG_PATHS)
def test_other_paths_are_not_found(viewer: Viewer, cookie: str, path: str) -> None:
    answer = ask(viewer, path, Cookie=cookie)
    assert answer.status in (400, 404)
    assert b"root:" not in answer.body
    check_headers(answer)


RUBBISH = (
    b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / FTP/1.0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n", b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"GET / HTTP/1.1\r\nA: " + b"b" * 70_000 + b"\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /data/files\r\n\r\n", b"\0" * 64 + b"\r\n\r\n",
)  # fmt: skip


@pytest.mark.parametrize("data", RUBBISH, ids=range(len(RUBBISH)))
def test_invalid_requests_get_no_data_and_no_echo(viewer: Viewer, data: bytes) -> None:
    try:
        answer = parse(exchange(viewer.port, data))
    except ConnectionError:  # closed while the request was still being sent
        return
    assert answer.status in (0, 400, 403, 404, 405, 414, 431, 505)
    assert len(answer.body) < 200
    assert b"aaaa" not in answer.body
    assert ask(viewer).status == 200


@pytest.mark.parametrize("header", ["Content-Length: 5", "Transfer-Encoding: chunked", "Content-Length: -1"])
def test_requests_with_a_body_are_refused(viewer: Viewer, header: str) -> None:
    data = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\n{header}\r\n\r\nhello".encode()
    assert parse(exchange(viewer.port, data)).status == 400


def test_only_one_request_on_a_connection(viewer: Viewer) -> None:
    """A request hidden after the first one is not answered."""
    one = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nConnection: keep-alive\r\n\r\n".encode()
    assert exchange(viewer.port, one + one).count(b"HTTP/1.0 ") == 1


def test_slow_clients_are_dropped_and_block_no_one(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "head_seconds", 1.0)
    slow = [socket.create_connection(("127.0.0.1", viewer.port), PATIENCE) for _ in range(8)]
    try:
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.1):
                try:
                    slow[0].send(b"G")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        assert ask(viewer).status == 200  # others are served meanwhile
        for client in slow:  # the slow client never stops sending: it is still dropped
            with suppress(ConnectionResetError):
                assert client.recv(100) == b""
        stop.set()
        dripping.join()
    finally:
        for client in slow:
            client.close()


def test_too_many_clients_are_refused_and_the_server_continues(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "head_seconds", 1.0)
    crowd = [socket.create_connection(("127.0.0.1", viewer.port), PATIENCE) for _ in range(2 * MOST_CLIENTS)]
    with suppress(ConnectionResetError):
        assert crowd[-1].recv(100) == b""  # refused, or dropped because it sent nothing
    for client in crowd:
        client.close()

    def answers() -> bool:
        try:
            return ask(viewer).status == 200
        except ConnectionError:
            return False

    wait_for(answers)


def test_server_listens_on_loopback_only(viewer: Viewer) -> None:
    assert {server.server_address[0] for server in viewer._servers} <= {"127.0.0.1", "::1"}


def test_data_matches_the_exporter_and_the_sampler(viewer: Viewer, cookie: str) -> None:
    files = json.loads(ask(viewer, "/data/files", Cookie=cookie).body)
    assert [file["id"] for file in files["files"]] == [0, 1]
    model = ask(viewer, "/data/0/model", Cookie=cookie)
    assert model.headers["content-type"] == "model/gltf-binary"
    assert model.body[:4] == b"glTF"
    scene = json.loads(ask(viewer, "/data/0/scene", Cookie=cookie).body)
    assert [node["name"] for node in scene["nodes"]][:3] == ["Tower", "Rotor", "Sail1"]
    assert ask(viewer, "/data/1/model", Cookie=cookie).status == 404  # a damaged file has no model
    damaged = json.loads(ask(viewer, "/data/1/scene", Cookie=cookie).body)
    assert damaged["failure"]["code"] == "STRUCT_TRUNCATED"


def test_secrets_differ_between_runs(viewer: Viewer) -> None:
    other = Viewer([], assets=viewer.assets)
    try:
        assert other.access.token != viewer.access.token
        assert len(other.access.token) == 32
        assert ask(other, "/data/files", Cookie=session(viewer)).status == 403
    finally:
        other.close()
