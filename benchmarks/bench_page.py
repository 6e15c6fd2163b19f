"""The page that runs Python in the browser: its size, and the time from opening it to the first picture, until Python
is ready, and for each file; at the first visit and at later ones, which take everything from the cache.

Usage: python -m benchmarks.bench_page [--visits N]
"""

from __future__ import annotations

import argparse
import functools
import gzip
import threading
import time
from http.server import ThreadingHTTPServer

from benchmarks._timing import machine_load, row
from tests.page.conftest import PAGE, QuietHandler
from tests.viewer.browser import Browser, open_browser, why_no_browser
from tests.viewer.opening import FILES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=3, help="number of first visits (default: 3)")
    options = parser.parse_args()
    reason = why_no_browser() or ("" if PAGE.is_dir() else "the page is not built (make page)")
    if reason:
        print(reason)
        return
    contents = [path.read_bytes() for path in PAGE.rglob("*") if path.is_file()]
    compressed = sum(len(gzip.compress(content, 9)) for content in contents)
    print(f"{sum(map(len, contents)) / 1e6:.1f} MB, compressed {compressed / 1e6:.1f} MB; {machine_load()}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(PAGE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    figures: dict[str, list[float]] = {}
    for _ in range(options.visits):
        with open_browser() as browser:
            for name, seconds in visits(browser, f"http://127.0.0.1:{server.server_address[1]}/"):
                figures.setdefault(name, []).append(seconds)
    server.shutdown()
    for name, seconds_of_visits in figures.items():
        row(name, min(seconds_of_visits))


def visits(browser: Browser, address: str) -> list[tuple[str, float]]:
    """Return the seconds of a first visit, of files, and of a second visit in the same browser."""
    figures: list[tuple[str, float]] = []
    context = browser.new_page().context
    for visit in ("first visit", "second visit"):
        page = context.new_page()
        start = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        figures.append((f"{visit}: first picture", time.perf_counter() - start))
        page.wait_for_selector("html[data-state=ready]")
        figures.append((f"{visit}: ready", time.perf_counter() - start))
        if visit == "first visit":
            for path in FILES[:-1]:
                start = time.perf_counter()
                page.set_input_files("#open-files", path)
                page.wait_for_selector("html[data-state=ready]")
                figures.append((f"open {path.name}", time.perf_counter() - start))
        page.close()
    context.close()
    return figures


if __name__ == "__main__":
    main()
