"""Raw HTTP requests that no browser would send."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field

from keyframer.viewer import Viewer
from tests.waiting import PATIENCE


@dataclass
class Answer:
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def exchange(port: int, data: bytes) -> bytes:
    """Send data and return everything received until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(data)
        received = b""
        while part := client.recv(65_536):
            received += part
    return received


def ask(viewer: Viewer, path: str = "/", method: str = "GET", body: bytes = b"", **headers: str | None) -> Answer:
    """Send one request with the right Host; headers by name (``_`` is ``-``), None leaves one out."""
    sent: dict[str, str | None] = {"Host": f"127.0.0.1:{viewer.port}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items() if value is not None)]
    return parse(exchange(viewer.port, "\r\n".join([*lines, "", ""]).encode("latin-1") + body))


def parse(data: bytes) -> Answer:
    """Parse an answer; its status is 0 if the connection ended without one."""
    if not data:
        return Answer(0)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return Answer(int(first.split()[1]), headers, body)


def session(viewer: Viewer) -> str:
    """Return the cookie that the page gets for the token."""
    answer = ask(viewer, "/session", X_Keyframer_Token=viewer.access.token)
    assert answer.status == 200
    return answer.headers["set-cookie"].partition(";")[0]
