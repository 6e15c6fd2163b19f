"""The local server: bound to loopback, protected by access control, and unable to change a file.

It answers GET and HEAD, and two POSTs: ``/open`` receives files that were dropped on the page and keeps them in memory,
and ``/recover/N`` opens a damaged file again without its unsafe parts.
"""

from __future__ import annotations

import io
import re
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
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.scene.loss_report import CannotWrite
from keyframer.viewer.access_control import NO_SESSION, SECURITY_HEADERS, AccessControl
from keyframer.viewer.dropped_files import LONGEST_INDEX, BadDrop, TooLarge
from keyframer.viewer.resources import JSON, Resources, error_line
from keyframer.viewer.standalone_page import Assets, packed_page
from keyframer.viewer.viewed_file import ViewedFile

HEAD_SECONDS = 5.0
"""time limit in seconds for a client to send the head of a request"""
LONGEST_HEAD = 16_384
ANSWER_SECONDS = 30.0
"""time limit in seconds for a client to receive each part of an answer"""
MOST_CLIENTS = 32
LINGER_SECONDS = 2.0
"""time limit in seconds for reading the rest of a request with a body, so that the client receives the answer"""
BODY_SECONDS = 60.0
"""time limit in seconds for a client to send files"""


class Viewer:
    """A running server for some files. ``url`` has the token in its fragment; `close` ends the server."""

    def __init__(
        self,
        files: Sequence[ViewedFile],
        port: int = 0,
        assets: Assets | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
        salvage: bool = False,
    ) -> None:
        """``limits`` and ``salvage`` apply to files that are dropped on the page."""
        self._opening = threading.Lock()
        self.assets = assets or Assets()
        self.resources = Resources(files, limits, salvage=salvage, page=lambda file: packed_page([file], self.assets))
        self.head_seconds = HEAD_SECONDS
        self.body_seconds = BODY_SECONDS
        self.when_opened: Callable[[], object] = lambda: None
        """called when a browser has sent the token"""
        first = _Server(("127.0.0.1", port), self)
        self.port: int = first.server_address[1]
        self._servers: list[_Server] = [first]
        with suppress(OSError):  # no IPv6, or the port is in use there: 127.0.0.1 is enough
            self._servers.append(_Server6(("::1", self.port), self))
        self.access = AccessControl(self.port)
        self.address = f"http://127.0.0.1:{self.port}/"
        self.url = f"{self.address}#{self.access.token}"
        self._slots = threading.BoundedSemaphore(MOST_CLIENTS)
        self._threads = [threading.Thread(target=server.serve_forever, daemon=True) for server in self._servers]
        for thread in self._threads:
            thread.start()

    def answer(self, path: str, handler: _Handler) -> None:
        """Answer a request that has passed the general rules of access control."""
        if path == "/session":
            if not self.access.accepts_token(handler.headers):
                handler.refuse(HTTPStatus.FORBIDDEN, "wrong token")
            else:
                handler.send("application/json", b"{}", {"Set-Cookie": self.access.set_cookie()})
                self.when_opened()
            return
        asset = self.assets.get(path)
        if asset is not None:
            handler.send(*asset)
            return
        if not path.startswith("/data/"):
            handler.refuse(HTTPStatus.NOT_FOUND, "not found")
            return
        if not self.access.accepts_cookie(handler.headers):
            handler.refuse(HTTPStatus.FORBIDDEN, NO_SESSION)
            return
        try:
            resource = self.resources.get(path)
        except (FormatError, CannotWrite) as error:
            handler.refuse(HTTPStatus.UNPROCESSABLE_ENTITY, error_line(error))
            return
        if resource is None:
            handler.refuse(HTTPStatus.NOT_FOUND, "not found")
        else:
            handler.send(*resource)

    def open(self, path: str, handler: _Handler) -> None:
        """Handle a POST: files of the user, kept in memory and shown with the others. One request at a time."""
        refusal = self.access.refusal_to_open(handler.headers)
        if refusal is not None:
            handler.refuse(HTTPStatus.FORBIDDEN, refusal)
            return
        if not self._opening.acquire(blocking=False):
            handler.refuse(HTTPStatus.SERVICE_UNAVAILABLE, "other files are being opened: try again")
            return
        try:
            body = handler.body(self.resources.room + LONGEST_INDEX)
            if body is not None:
                handler.send(JSON, self.resources.post(path, body))
        except TooLarge as error:
            handler.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
        except (BadDrop, FormatError) as error:
            handler.refuse(HTTPStatus.UNPROCESSABLE_ENTITY, error_line(error))
        finally:
            self._opening.release()

    def enter(self) -> bool:
        """Count a new connection; returns False if there are too many."""
        return self._slots.acquire(blocking=False)

    def leave(self) -> None:
        self._slots.release()

    def wait(self) -> None:
        """Wait until the server is closed or interrupted."""
        for thread in self._threads:
            while thread.is_alive():
                thread.join(0.5)

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


class _Server(ThreadingMixIn, HTTPServer):
    """The HTTP server on 127.0.0.1, with a limited number of connections."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_CLIENTS
    allow_reuse_address = False

    def __init__(self, address: tuple[str, int], viewer: Viewer) -> None:
        self.viewer = viewer
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without looking up our own host name, which http.server would do."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.viewer.enter():
            self.shutdown_request(request)  # too many connections: waiting clients will retry
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.viewer.leave()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore all exceptions of a request: usually the client has disconnected. An answer is complete before
        anything is sent."""


class _Server6(_Server):
    """The same server on the IPv6 loopback address."""

    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    """Handles one request per connection."""

    server: _Server
    server_version = "keyframer"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(io.BytesIO(self._head()))
        self.connection.settimeout(ANSWER_SECONDS)

    def _head(self) -> bytes:
        """Read everything up to the empty line, within one time limit, which a client cannot extend by sending
        slowly.
        """
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
        if name.startswith("do_"):  # every method has an answer: http.server looks up do_GET, do_BREW ...
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        viewer = self.server.viewer
        if self.request_version not in ("HTTP/1.0", "HTTP/1.1"):
            self.refuse(HTTPStatus.BAD_REQUEST, "not HTTP/1.1")
            return
        path = self.requestline.split()[1]  # unchanged: http.server collapses //
        refusal = viewer.access.refusal(self.headers, self.command, path)
        if refusal is not None:
            self.refuse(HTTPStatus.FORBIDDEN, refusal)
        elif viewer.resources.accepts(path):
            if self.command == "POST":
                viewer.open(path, self)
            else:
                self.refuse(HTTPStatus.METHOD_NOT_ALLOWED, "POST only", allow="POST")
        elif self.command not in ("GET", "HEAD"):
            self.refuse(HTTPStatus.METHOD_NOT_ALLOWED, "GET and HEAD only", allow="GET, HEAD")
        elif self.headers.get_all("Content-Length", ["0"]) != ["0"] or self.headers.get_all("Transfer-Encoding"):
            self.refuse(HTTPStatus.BAD_REQUEST, "only POST requests have a body")
        else:
            viewer.answer(path, self)
        if self.command not in ("GET", "HEAD"):
            self._linger()

    def _linger(self) -> None:
        """Read the rest of the request: if bytes stay unread, the system resets the connection and loses the answer."""
        deadline = time.monotonic() + LINGER_SECONDS
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            while (left := deadline - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(1 << 20):
                    return

    def send(self, kind: str, content: bytes, extra: dict[str, str] | None = None, status: int = 200) -> None:
        self.request_version = "HTTP/1.1"  # for HTTP/0.9, http.server leaves out the headers
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

    def body(self, most: int) -> bytes | None:
        """Return the body of a request, read within one time limit; None if it was refused."""
        stated = self.headers.get_all("Content-Length") or []
        if self.headers.get_all("Transfer-Encoding") or len(stated) != 1 or not re.fullmatch("[0-9]{1,18}", stated[0]):
            self.refuse(HTTPStatus.LENGTH_REQUIRED, "exactly one Content-Length is required")
            return None
        size = int(stated[0])
        if size > most:
            raise TooLarge(most - LONGEST_INDEX)
        deadline = time.monotonic() + self.server.viewer.body_seconds
        parts, received = [self.rfile.read(size)], 0
        while True:
            received += len(parts[-1])
            left = deadline - time.monotonic()
            if received >= size:
                return b"".join(parts)
            self.connection.settimeout(max(left, 0.001))
            try:
                parts.append(self.connection.recv(min(size - received, 1 << 20)) if left > 0 else b"")
            except OSError:
                parts.append(b"")
            if not parts[-1]:
                self.refuse(HTTPStatus.REQUEST_TIMEOUT, "the files did not arrive")
                return None

    def refuse(self, status: HTTPStatus, reason: str, *, allow: str | None = None) -> None:
        extra = {} if allow is None else {"Allow": allow}
        self.send("text/plain; charset=utf-8", f"{reason}\n".encode(), extra, status)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send our own answer for a request that http.server refuses; it contains nothing from the request."""
        self.command = getattr(self, "command", None) or "GET"
        self.refuse(HTTPStatus(code), HTTPStatus(code).phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """Do nothing: a library does not print."""
