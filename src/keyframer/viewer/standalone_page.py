"""One page that carries everything and works offline: script, style and data inside, each under its hash."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Sequence

from keyframer.viewer.assets import Assets
from keyframer.viewer.json_data import to_json
from keyframer.viewer.resources import Resources
from keyframer.viewer.viewed_file import ViewedFile
from keyframer.wire.gc_paused import GcPaused

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{csp}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Keyframer</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page plays an animation and needs JavaScript.</noscript>
<script type="application/octet-stream" id="packed">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def packed_page(files: Sequence[ViewedFile], assets: Assets | None = None) -> bytes:
    """The page as one HTML file. Nothing of a file is markup in it: the data are base64 of a compressed archive."""
    assets = assets or Assets()
    script, style = _in_script(assets.only(".js")), _in_style(assets.only(".css"))
    with GcPaused():
        data = _archive(Resources(files))
    csp = (
        f"default-src 'none'; script-src {_hash(script)} {_hash(data)}; style-src {_hash(style)}; img-src blob:; "
        "connect-src blob:; worker-src blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    return _PAGE.format(csp=csp, style=style, data=data, script=script).encode("utf-8")


def _archive(resources: Resources) -> str:
    """A list of paths and sizes in JSON, its length before it, and the contents behind it; gzip, base64."""
    parts: list[bytes] = []
    listed: list[tuple[str, int]] = []
    for path in resources.paths():
        found = resources.get(path)
        if found is not None:
            listed.append((path, len(found[1])))
            parts.append(found[1])
    index = to_json(listed)
    whole = b"".join([len(index).to_bytes(4, "little"), index, *parts])
    return base64.b64encode(gzip.compress(whole, 1, mtime=0)).decode("ascii")


def _in_script(text: str) -> str:
    """Script that no HTML parser can mistake for its own end; the same program."""
    return re.sub(r"<(?=/script|script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def _in_style(text: str) -> str:
    return re.sub("</(?=style)", r"<\\/", text, flags=re.IGNORECASE)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
