"""The server: loopback only, GET and HEAD only, and nothing that the gate does not let through."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any

from keyframer.errors import FormatError
from keyframer.text import safe_text
from keyframer.viewer.access_control import SECURITY_HEADERS, Gate
from keyframer.viewer.assets import Assets
from keyframer.viewer.resources import Resources
from keyframer.viewer.viewed_file import ViewedFile

HEAD_SECONDS = 5.0
"""how long a client may take to say what it wants, in all"""
LONGEST_HEAD = 16_384
ANSWER_SECONDS = 30.0
"""how long a client may take over each part of an answer"""
MOST_CLIENTS = 32


class Viewer:
    """A running server for some files. ``url`` carries the token in its fragment; `close` ends it."""

    def __init__(self, files: Sequence[ViewedFile], port: int = 0, assets: Assets | None = None) -> None:
        self.resources = Resources(files)
        self.assets = assets or Assets()
        self.head_seconds = HEAD_SECONDS
        self.when_opened: Callable[[], object] = lambda: None
        """called when a browser has handed over the token"""
        first = _Server(("127.0.0.1", port), self)
        self.port: int = first.server_address[1]
        self._servers: list[_Server] = [first]
        with suppress(OSError):  # no IPv6 here, or somebody has the port there: 127.0.0.1 is enough
            self._servers.append(_Server6(("::1", self.port), self))
        self.gate = Gate(self.port)
        self.address = f"http://127.0.0.1:{self.port}/"
        self.url = f"{self.address}#{self.gate.token}"
        self._slots = threading.BoundedSemaphore(MOST_CLIENTS)
        self._threads = [threading.Thread(target=server.serve_forever, daemon=True) for server in self._servers]
        for thread in self._threads:
            thread.start()

    def answer(self, path: str, handler: _Handler) -> None:
        """One request that has passed the gate's general rules."""
        if path == "/session":
            if not self.gate.accepts_token(handler.headers):
                handler.refuse(HTTPStatus.FORBIDDEN, "wrong token")
            else:
                handler.send("application/json", b"{}", {"Set-Cookie": self.gate.set_cookie()})
                self.when_opened()
            return
        asset = self.assets.get(path)
        if asset is not None:
            handler.send(*asset)
            return
        if not path.startswith("/data/"):
            handler.refuse(HTTPStatus.NOT_FOUND, "no such thing")
            return
        if not self.gate.accepts_cookie(handler.headers):
            handler.refuse(HTTPStatus.FORBIDDEN, "no session: open the address that was printed")
            return
        try:
            found = self.resources.get(path)
        except FormatError as error:  # a limit
            handler.refuse(HTTPStatus.UNPROCESSABLE_ENTITY, safe_text(str(error)))
            return
        if found is None:
            handler.refuse(HTTPStatus.NOT_FOUND, "no such thing")
        else:
            handler.send(*found)

    def enter(self) -> bool:
        return self._slots.acquire(blocking=False)

    def leave(self) -> None:
        self._slots.release()

    def wait(self) -> None:
        """Until the server is closed, or somebody interrupts."""
        for thread in self._threads:
            while thread.is_alive():
                thread.join(0.5)

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


class _Server(ThreadingMixIn, HTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_CLIENTS
    allow_reuse_address = False

    def __init__(self, address: tuple[str, int], viewer: Viewer) -> None:
        self.viewer = viewer
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without asking a name server for our own name, as http.server does."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.viewer.enter():
            self.shutdown_request(request)  # too many at once: those who wait will ask again
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.viewer.leave()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nobody's business; answers are made before anything is sent."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    """One request a connection."""

    server: _Server
    server_version = "keyframer"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(io.BytesIO(self._head()))
        self.connection.settimeout(ANSWER_SECONDS)

    def _head(self) -> bytes:
        """Everything up to the empty line, within a time for all of it: drops that come slowly do not help."""
        deadline = time.monotonic() + self.server.viewer.head_seconds
        head = b""
        while b"\r\n\r\n" not in head and b"\n\n" not in head and len(head) <= LONGEST_HEAD:
            left = deadline - time.monotonic()
            if left <= 0:
                return b""
            self.connection.settimeout(left)
            try:
                part = self.connection.recv(4_096)
            except OSError:
                return b""
            if not part:
                return b""
            head += part
        return head

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # every method has an answer: http.server looks for do_GET, do_BREW ...
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        viewer = self.server.viewer
        if self.request_version not in ("HTTP/1.0", "HTTP/1.1"):
            self.refuse(HTTPStatus.BAD_REQUEST, "not HTTP/1.1")
            return
        path = self.requestline.split()[1]  # as it came: http.server mends //
        refusal = viewer.gate.refusal(self.headers, self.command, path)
        if refusal is not None:
            self.refuse(HTTPStatus.FORBIDDEN, refusal)
        elif self.command not in ("GET", "HEAD"):
            self.refuse(HTTPStatus.METHOD_NOT_ALLOWED, "GET and HEAD only")
        elif self.headers.get_all("Content-Length", ["0"]) != ["0"] or self.headers.get_all("Transfer-Encoding"):
            self.refuse(HTTPStatus.BAD_REQUEST, "a request has no body here")
        else:
            viewer.answer(path, self)

    def send(self, kind: str, content: bytes, extra: dict[str, str] | None = None, status: int = 200) -> None:
        self.request_version = "HTTP/1.1"  # for anything older http.server leaves out the headers
        self.send_response(status)
        for name, value in {**SECURITY_HEADERS, **(extra or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        self.close_connection = True

    def refuse(self, status: HTTPStatus, reason: str) -> None:
        extra = {"Allow": "GET, HEAD"} if status is HTTPStatus.METHOD_NOT_ALLOWED else {}
        self.send("text/plain; charset=utf-8", f"{reason}\n".encode(), extra, status)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server refuses by itself: nothing of the request comes back."""
        self.command = getattr(self, "command", None) or "GET"
        self.refuse(HTTPStatus(code), HTTPStatus(code).phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """A library does not print."""
