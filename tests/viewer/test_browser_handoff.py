"""The token reaches the browser and no other user or process; another site can only link to the page."""

from __future__ import annotations

import http.server
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from keyframer.viewer import Viewer
from keyframer.viewer.access_control import BrowserHandoff
from tests.cli.running import START
from tests.viewer.browser import Browser
from tests.viewer.opening import EXAMPLE
from tests.viewer.raw import ask, session
from tests.viewer_page import needs_page
from tests.waiting import PATIENCE

posix = pytest.mark.skipif(os.name != "posix", reason="modes of files, and a shell as a browser")


def path_of(url: str) -> Path:
    return Path(unquote(urlsplit(url).path))


@pytest.fixture
def handover(viewer: Viewer) -> Iterator[BrowserHandoff]:
    handoff = BrowserHandoff(viewer.url)
    yield handoff
    handoff.remove()


@posix
def test_only_the_user_can_read_the_handoff_page(handover: BrowserHandoff) -> None:
    page = path_of(handover.url)
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert page.stat().st_uid == page.parent.stat().st_uid == os.getuid()


def test_handoff_page_is_removed_with_its_folder(handover: BrowserHandoff) -> None:
    folder = path_of(handover.url).parent
    assert folder.is_dir()
    handover.remove()
    assert not folder.exists()
    handover.remove()


@needs_page
@posix
def test_token_is_not_in_the_arguments_of_any_process(tmp_path: Path) -> None:
    """The browser of this test records its arguments and what it can read."""
    seen = tmp_path / "seen"
    script = tmp_path / "browser"
    script.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" > {seen}.new\ncat "${{1#file://}}" >> {seen}.new\nmv {seen}.new {seen}\n'
    )
    script.chmod(0o755)
    # a test run in the background inherits an ignored SIGINT: Ctrl-C must reach the command all the same
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    environment = {**os.environ, "BROWSER": f"{script} %s", "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", START, "view", str(EXAMPLE)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        preexec_fn=heed,
    ) as process:
        address, _, token = process.stdout.readline().strip().partition("#")
        assert "Ctrl-C" in process.stderr.readline()
        while not seen.exists():
            assert process.poll() is None
            time.sleep(0.02)
        called, _, page = seen.read_text().partition("\n")
        with open(f"/proc/{process.pid}/cmdline") as command_line:
            assert token not in command_line.read()
        left = list(tmp_path.glob("keyframer-*"))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert len(token) == 32
    assert token not in called
    assert called.startswith("file:///")
    assert f"{address}#{token}" in page
    assert len(left) == 1
    assert list(tmp_path.glob("keyframer-*")) == []


NAVIGATION = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}


def test_another_site_may_link_to_the_page(viewer: Viewer) -> None:
    answer = ask(viewer, "/", **NAVIGATION)
    assert answer.status == 200
    assert "set-cookie" not in answer.headers
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert viewer.access.token.encode() not in answer.body


REFUSED: dict[str, tuple[str, str, dict[str, str | None]]] = {
    "an asset": ("GET", "{asset}", {}),
    "the session": ("GET", "/session", {}),
    "data": ("GET", "/data/files", {}),
    "bytes": ("GET", "/data/0/bytes/0", {}),
    "another spelling": ("GET", "//", {}),
    "a query": ("GET", "/?x", {}),
    "HEAD": ("HEAD", "/", {}),
    "POST": ("POST", "/", {}),
    "a frame": ("GET", "/", {"Sec_Fetch_Dest": "iframe"}),
    "an object": ("GET", "/", {"Sec_Fetch_Dest": "object"}),
    "a fetch": ("GET", "/", {"Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"}),
    "an image": ("GET", "/", {"Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}),
    "no mode": ("GET", "/", {"Sec_Fetch_Mode": None}),
    "no destination": ("GET", "/", {"Sec_Fetch_Dest": None}),
    "the same site": ("GET", "/", {"Sec_Fetch_Site": "same-site"}),
    "an origin": ("GET", "/", {"Origin": "https://evil.example"}),
    "a file that says so": ("GET", "/", {"Origin": "null"}),
    "another host": ("GET", "/", {"Host": "evil.example"}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_all_other_requests_of_another_site_are_refused(viewer: Viewer, what: str) -> None:
    """Even with the token and the cookie."""
    method, path, headers = REFUSED[what]
    asset = next(name for name in viewer.assets._files if name != "/")
    known = {"Cookie": session(viewer), "X_Keyframer_Token": viewer.access.token}
    answer = ask(viewer, path.format(asset=asset), method, **{**NAVIGATION, **known, **headers})
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_handoff_page_opens_the_viewer_in_chromium(browser: Browser, running: Viewer) -> None:
    handover = BrowserHandoff(running.url)
    before, running.when_opened = running.when_opened, handover.remove
    page = browser.new_page()
    sites: list[str | None] = []
    page.on("request", lambda request: sites.append(request.all_headers().get("sec-fetch-site")))
    try:
        page.goto(handover.url)
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        assert page.url.startswith(running.address)
        assert "cross-site" in sites  # otherwise this test proves nothing
        assert page.locator("canvas").count() > 0
        assert not path_of(handover.url).exists()
    finally:
        running.when_opened = before
        handover.remove()
        page.context.close()


@pytest.fixture
def evil() -> Iterator[str]:
    """Start another site with an empty page."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>evil</title>")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


ATTACKS = """async (address) => {
    const results = {};
    const attempt = async (name, act) => {
        try { results[name] = await act(); } catch (error) { results[name] = "refused"; }
    };
    await attempt("fetch", async () => (await fetch(address)).status);
    await attempt("opaque", async () => (await fetch(address, {mode: "no-cors"})).type);
    await attempt("data", async () => (await fetch(address + "data/files", {credentials: "include"})).status);
    const load = (tag, member) => new Promise((resolve) => {
        const element = document.createElement(tag);
        element.onload = () => resolve("loaded");
        element.onerror = () => resolve("refused");
        element[member] = address;
        document.body.append(element);
    });
    await attempt("script", () => load("script", "src"));
    await attempt("image", () => load("img", "src"));
    const frame = document.createElement("iframe");
    frame.src = address;
    await attempt("frame", () => new Promise((resolve) => {
        frame.onload = () => {
            try { resolve(frame.contentDocument === null ? "closed" : "open"); } catch { resolve("closed"); }
        };
        document.body.append(frame);
    }));
    const opened = window.open(address);
    await attempt("window", () => new Promise((resolve) => {
        const look = () => opened === null || opened.closed ? resolve("severed") : setTimeout(look, 50);
        look();
    }));
    return results;
}"""


def test_page_of_another_site_gets_no_data(browser: Browser, running: Viewer, evil: str) -> None:
    """The browser has the cookie, but the other site cannot access the window that it opens."""
    with browser.page(running.url) as shown:
        page = shown.page.context.new_page()
        page.goto(evil)
        statuses: dict[str, int] = {}
        page.on("response", lambda response: statuses.setdefault(response.url, response.status))
        results = page.evaluate(ATTACKS, running.address.replace("127.0.0.1", "localhost"))
    assert {name: result for name, result in results.items() if name != "opaque"} == {
        "fetch": "refused",
        "data": "refused",
        "script": "refused",
        "image": "refused",
        "frame": "closed",
        "window": "severed",
    }
    assert set(statuses.values()) <= {200, 403}
