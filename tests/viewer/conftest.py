"""A running viewer, and a browser to test it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyframer.viewer import Viewer
from tests.viewer.browser import Browser, Watched
from tests.viewer.opening import EXAMPLE, FILES, SAMPLES, assets, viewed


@pytest.fixture(scope="session")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    files = viewed(EXAMPLE, SAMPLES / "3ds/cut.3ds")
    running = Viewer(files, assets=assets(tmp_path_factory.mktemp("page")))
    yield running
    running.close()


@pytest.fixture(scope="session")
def running(browser: Browser) -> Iterator[Viewer]:
    """Start a viewer of the built page with all of `FILES`."""
    running = Viewer(viewed(*FILES))
    yield running
    running.close()


@pytest.fixture
def dark() -> bool:
    """Whether the system of the user is dark; tests override it, and `running`."""
    return False


@pytest.fixture
def shown(browser: Browser, running: Viewer, dark: bool) -> Iterator[Watched]:
    """Open that page; it must log nothing and send requests only to our server."""
    with browser.page(running.url, dark=dark) as watched:
        yield watched
        assert watched.troubles == []
        assert all(url.startswith(("blob:", running.address)) for url in watched.requests)
