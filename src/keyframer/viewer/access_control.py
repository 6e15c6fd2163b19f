"""Access control of the server: the rules for requests, as functions of their headers.

Any web page that the user visits can send requests to a port of this machine; a host name of an attacker can be made to
point here. Therefore a request needs the exact host, no other origin, and a cookie that only our own page can have.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Protocol

from keyframer.markup import HtmlPage, tag

TOKEN_HEADER = "X-Keyframer-Token"
"""header with the token from the fragment of the page's address; other origins cannot send it without a preflight"""

OPEN_HEADER = "X-Keyframer-Open"
"""header that a request to open files must have; other origins cannot send it without a preflight, which is never
answered
"""

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self' blob:; "
    "worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'"
)

SECURITY_HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


NO_SESSION = "no session: open the address that was printed"


class Headers(Protocol):
    """The headers of a request."""

    def get_all(self, name: str, /) -> Sequence[str] | None: ...


class AccessControl:
    """The secrets of one run, and the checks of requests."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_hex(16)
        self._session = secrets.token_hex(16)
        self._cookie = f"keyframer_{port}"
        """cookies are shared by all ports of a host: the name distinguishes them"""
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}")

    def refusal(self, headers: Headers, method: str, path: str) -> str | None:
        """Return why a request is refused; None if it is accepted.

        The page of `BrowserHandoff` is a file and thus another site. Therefore any site may navigate to our page, which
        has no data: all data needs the token, or the cookie that only our page sends.
        """
        hosts = headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return "wrong Host"
        origins = headers.get_all("Origin") or []
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return "wrong Origin"
        sites = headers.get_all("Sec-Fetch-Site") or []
        foreign = any(site not in ("same-origin", "none") for site in sites)
        if foreign and not (sites == ["cross-site"] and method == "GET" and path == "/" and _is_navigation(headers)):
            return "request from another site"
        return None

    def refusal_to_open(self, headers: Headers) -> str | None:
        """Return why a request to open files is refused, beyond the rules for all requests; None if it is accepted."""
        if len(headers.get_all("Origin") or []) != 1:  # its value was checked by `refusal`
            return "no Origin"
        if not self.accepts_cookie(headers):
            return NO_SESSION
        return None if headers.get_all(OPEN_HEADER) == ["yes"] else f"no {OPEN_HEADER}"

    def accepts_token(self, headers: Headers) -> bool:
        return _is_secret(headers.get_all(TOKEN_HEADER), self.token)

    def set_cookie(self) -> str:
        return f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"

    def accepts_cookie(self, headers: Headers) -> bool:
        cookies = headers.get_all("Cookie")
        if not cookies or len(cookies) != 1:
            return False
        try:
            cookie = SimpleCookie(cookies[0]).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and _is_secret([cookie.value], self._session)


def _is_navigation(headers: Headers) -> bool:
    """Return whether the answer becomes the document of its own window or tab, not visible to a frame or script."""
    return headers.get_all("Sec-Fetch-Mode") == ["navigate"] and headers.get_all("Sec-Fetch-Dest") == ["document"]


def _is_secret(given: Sequence[str] | None, secret: str) -> bool:
    return given is not None and len(given) == 1 and hmac.compare_digest(given[0].encode(), secret.encode())


class BrowserHandoff:
    """Passes the address with its token to a browser.

    Anyone who runs ``ps`` sees the arguments of a browser. Therefore the browser gets the path of a page that only the
    user can read, and that page redirects to the address. Call `remove` when a browser has connected, or when the
    server stops.
    """

    def __init__(self, url: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="keyframer-")  # mode 0700
        page = Path(self._folder, "view.html")
        with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            redirect = tag("meta", http_equiv="refresh", content=f"0;url={url}")
            handoff = HtmlPage("Keyframer", head=[tag("meta", name="referrer", content="no-referrer"), redirect])
            stream.write(handoff.whole(tag("a", "Keyframer", href=url)))
        self.url = page.as_uri()
        """the address passed to a browser"""

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
