"""Hands the address with its token to a browser, past everybody else on the machine.

Whoever runs ``ps`` sees the arguments of a browser that is started. So it gets the path of a page that only the user
can read, and that page leads to the address.
"""

from __future__ import annotations

import html
import os
import shutil
import tempfile
from pathlib import Path

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={url}">
<title>Keyframer</title></head>
<body><a href="{url}">Keyframer</a></body></html>
"""


class BrowserHandoff:
    """The page. `remove` it when a browser has come, or none will."""

    def __init__(self, url: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="keyframer-")  # mode 0700
        page = Path(self._folder, "view.html")
        with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(_PAGE.format(url=html.escape(url)))
        self.url = page.as_uri()
        """what a browser is given"""

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
