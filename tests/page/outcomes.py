"""What the library makes of files, as short hashes: the same on every machine, and in the browser.

``python outcomes.py LIST`` prints them as JSON for a file with a JSON list of paths. The Python of the page runs this
module too (run_python.mjs), so it imports nothing else from the tests.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import keyframer
from keyframer.exchange import EXPORTERS
from keyframer.exchange.opening import load, read
from keyframer.formats.document import encode

Outcome = dict[str, str | bool]


def outcome(path: Path) -> Outcome:
    """Read a file, write it back, check, pose and export it to every format."""
    found: Outcome = {}
    try:
        found["written back"] = encode(read(path)) == path.read_bytes()
    except ValueError as error:  # an exchange format, which has no document
        found["written back"] = str(error)
    found["check"] = _digest("\n".join(map(str, keyframer.check(path).issues)).encode())
    try:
        scene = load(path)
    except keyframer.FormatError as error:
        return {**found, "load": str(error)}
    found["pose"] = _digest(keyframer.pose(scene, times=[0.0, 0.37, 1.11]).world.tobytes())
    for exporter in EXPORTERS:
        if exporter.takes_any_scene:
            found |= _export(scene, exporter.name, exporter.extensions[0])
    return found


def _export(scene: keyframer.Scene, name: str, extension: str) -> Outcome:
    with TemporaryDirectory() as folder:
        try:
            report = keyframer.save(scene, Path(folder, f"out{extension}"), format=name)
        except ValueError as error:  # nothing to write
            return {name: str(error)}
        files = {f"{name} {file.name}": _digest(file.read_bytes()) for file in sorted(Path(folder).iterdir())}
    return {**files, f"{name} losses": _digest("\n".join(map(str, report)).encode())}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def outcomes(paths: list[str]) -> dict[str, Outcome]:
    return {path: outcome(Path(path)) for path in paths}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(outcomes(json.loads(Path(sys.argv[1]).read_text("utf-8")))) + "\n")
