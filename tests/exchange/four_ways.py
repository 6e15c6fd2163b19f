"""The ways in which a file can be opened, for comparison: the library, the commands, a row of a batch, and the
viewer."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import keyframer
from keyframer.batch.job import Job
from keyframer.batch.job_execution import perform
from keyframer.cli import main


def command(*arguments: str) -> dict[str, Any]:
    """Return the record that a command prints for one file."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
        main([*arguments, "--format", "json"])
    record: dict[str, Any] = json.loads(text.getvalue())["files"][0]
    return record


def ways(name: str, folder: Path, format: str | None = None) -> dict[str, dict[str, object]]:
    """Return what each way reads from a file: its format, the names of its nodes, the codes of its issues."""
    from tests.viewer.opening import viewed

    source = Path(name)  # a member of an archive is a path, too
    chosen = [] if format is None else ["--from", format]
    results: dict[str, dict[str, object]] = {way: {} for way in ("library", "commands", "batch", "viewer")}

    report = keyframer.check(source, format=format)
    results["library"]["format"] = None if report.format is None else report.format.name
    results["library"]["issues"] = report.counts
    try:
        results["library"]["nodes"] = [node.name for node in keyframer.load(source, format=format).nodes]
    except keyframer.FormatError as error:
        results["library"]["nodes"] = error.code

    checked = command("check", name, *chosen)
    results["commands"] = {"format": checked["format"], "issues": checked["counts"]}
    info = command("info", name, *chosen)
    results["commands"]["nodes"] = info["error"]["code"] if "error" in info else tree(info)

    options = {} if format is None else {"from": format}
    row = perform(Job("check", name, str(folder / "row.check.json"), options))
    results["batch"] = {"format": row["format"], "issues": row["issues"]}
    row = perform(Job("info", name, str(folder / "row.info.json"), options))
    results["batch"]["nodes"] = row["error"]["code"] if row["error"] else tree(stored(folder / "row.info.json"))

    with contextlib.redirect_stderr(io.StringIO()):
        file = viewed(name, *chosen)[0]
        described = json.loads(file.scene())
    results["viewer"]["format"] = None if file.report.format is None else file.report.format.name
    results["viewer"]["issues"] = file.report.counts
    failure = described["failure"]
    scene = file.loaded.scene
    results["viewer"]["nodes"] = failure["code"] if scene is None else [node.name for node in scene.nodes]
    return results


def stored(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text())["files"][0]
    return record


def tree(record: dict[str, Any]) -> list[str]:
    return sorted(row["node"] for row in record["tables"].get("tree", ()))


def converted(name: str, folder: Path, format: str | None = None) -> tuple[bytes, bytes]:
    """Return the GLB that the command writes, and the GLB of a batch."""
    chosen = [] if format is None else ["--from", format]
    with contextlib.redirect_stderr(io.StringIO()):
        assert main(["convert", name, str(folder / "one.glb"), "-q", *chosen]) == 0
    row = perform(Job("convert", name, str(folder / "many.glb"), {} if format is None else {"from": format}))
    assert row["error"] is None, row
    return (folder / "one.glb").read_bytes(), (folder / "many.glb").read_bytes()


def agreed(found: dict[str, dict[str, object]]) -> dict[str, object]:
    """Return what all ways report; raise AssertionError if one of them differs."""
    for result in found.values():
        if isinstance(result["nodes"], list):
            result["nodes"] = sorted(result["nodes"])
    for way, result in found.items():
        assert result == found["library"], way
    return found["library"]


if __name__ == "__main__":
    name, place = sys.argv[1], Path(sys.argv[2])
    one, many = converted(name, place)
    assert one == many
    sys.stdout.write(json.dumps(agreed(ways(name, place))))
