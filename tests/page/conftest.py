"""The built page on a web server that does nothing else, and a browser that shows it."""

from __future__ import annotations

import functools
import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.viewer.browser import Browser, Watched

PAGE = Path(__file__).parents[2] / "build/page"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Serve the page, like ``python -m http.server``, and return its address, in a folder of the server."""
    if not (PAGE / "index.html").is_file():
        pytest.skip("the page is not built (make page)")
    with served(PAGE.parent) as root:
        yield f"{root}/{PAGE.name}/"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder, and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def tool() -> ModuleType:
    """The program that builds the page."""
    spec = importlib.util.spec_from_file_location("build_page", PAGE.parents[1] / "tools/build_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Visit:
    """A visit to the page. All its requests are recorded, also those of its workers."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.watched = Watched(browser.new_page())
        self.page = self.watched.page
        self.requests: list[str] = []
        self.page.context.on("request", lambda request: self.requests.append(request.url))
        self.address = address
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready=yes]")

    def ready(self) -> None:
        """Wait until Python has started."""
        self.page.wait_for_selector("html[data-state=ready]")

    def open(self, *files: Path | dict[str, Any]) -> str:
        """Open files with the ordinary file dialog; returns the state of the page after that."""
        begun = self.page.evaluate("() => keyframerViewer.activity.last")
        self.page.set_input_files("#open-files", list(files))  # type: ignore[arg-type]
        self.page.wait_for_function("begun => keyframerViewer.activity.last > begun", arg=begun)
        return self.done()

    def done(self) -> str:
        """Wait until the page is neither starting nor busy; returns its state."""
        self.page.wait_for_selector("html[data-state=ready], html[data-state=error]")
        return self.page.get_attribute("html", "data-state") or ""

    def message(self) -> str:
        return self.page.inner_text("#message")

    def save(self, ending: str) -> tuple[str, bytes]:
        """Save the file in the first format with this extension; returns name and content."""
        self.page.click("#save")
        self.page.click("#save-as")
        saves = self.watched.state("info.saves")
        self.page.select_option("#format", str(next(each["number"] for each in saves if each["ending"] == ending)))
        self.page.wait_for_selector("#download:not(:disabled)")
        with self.page.expect_download() as download:
            self.page.click("#download")
        self.page.click("#save-close")
        assert self.done() == "ready"
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()


@pytest.fixture(scope="session")
def started(browser: Browser, address: str) -> Iterator[Visit]:
    """One visit with a running Python, which most tests share: starting takes seconds of processor time."""
    visit = Visit(browser, address)
    visit.ready()
    yield visit
    visit.page.context.close()


@pytest.fixture
def visit(started: Visit) -> Iterator[Visit]:
    """The shared visit; the page must log nothing and send requests only to its own folder."""
    yield started
    assert started.watched.troubles == []
    own = (started.address, f"blob:{started.address.removesuffix('page/')}")
    assert [url for url in started.requests if not url.startswith(own)] == []
