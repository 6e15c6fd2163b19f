"""Scores programs on the conformance pack and writes a page about it: build/league.md. ``make league``

    .venv/bin/python -m tools.make_league [OUT]

The programs are those of `tools.league_readers` that are installed; pip installs Blender's add-on io_scene_3ds in a
temporary folder. It takes some minutes, because each program is started once for each file.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.blender.outside import OLDEST, python_of
from tools.league import OUTCOMES, Score, play
from tools.league_readers import ADDON, READERS
from tools.make_conformance import ROOT, write

import keyframer

PAGE = """# What programs make of the conformance pack

Written by `make league` on {date}, on {count} files. *Right* is right at all frames, *at keys* only at frames with
keys. *Refused* files are not read, mostly because the program has no importer for the format; files of Blitz3D, which
assimp reads, are not played in assimp. Keyframer computed the expected values: its own row only shows that the league
works.

{counts}

Rows with *own reading* rest on Keyframer's reading of the format alone. The others rest on what is named, which tests
compare with the same feature in real files.

{outcomes}

## What is wrong

{words}
"""


def versions() -> dict[str, str]:
    """Return the versions of all programs of `READERS` that are installed."""
    three = ROOT / "tests" / "oracles" / "node_modules" / "three" / "package.json"
    found = {"Keyframer": keyframer.__version__}
    if shutil.which("assimp"):
        said = subprocess.run(["assimp", "version"], capture_output=True, text=True, check=False).stdout
        found["assimp"] = (re.search(r"Version (\S+)", said) or ["", "?"])[1]
    if shutil.which("gcc") and Path("/usr/include/lib3ds").is_dir():
        found["lib3ds"] = "1.3"
    if shutil.which("node") and three.exists():
        found["three.js"] = json.loads(three.read_text(encoding="utf-8"))["version"]
    if python_of(OLDEST).exists():
        found["Blender"] = f"{OLDEST}, io_scene_3ds {ADDON.split('==')[1]}"
    return found


def page(
    programs: Mapping[str, str], scores: Mapping[str, Sequence[Score]], evidence: Mapping[str, str | None], date: str
) -> str:
    """Return the page; `evidence` says for each file what its values rest on."""
    by_file = {name: {score.file: score for score in rows} for name, rows in scores.items()}
    counts = [["program", "version", *OUTCOMES]]
    for name, rows in scores.items():
        count = Counter(score.outcome for score in rows)
        counts.append([name, programs[name], *(str(count[outcome]) for outcome in OUTCOMES)])
    outcomes = [["file", "rests on", *scores]]
    for file, source in evidence.items():
        rests = "own reading" if source is None else re.split("[:,]", source)[0]
        outcomes.append([f"`{file}`", rests, *(rows[file].outcome for rows in by_file.values())])
    words = [
        f"* `{score.file}`, {name}: {score.words}"
        for name, rows in scores.items()
        for score in rows
        if score.words and score.outcome != "refused"
    ]
    return PAGE.format(
        date=date, count=len(evidence), counts=_table(counts), outcomes=_table(outcomes), words="\n".join(words)
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def command(name: str) -> str:
    """Return the command of a reader, for any folder."""
    python = shlex.join([sys.executable, "-m", "tools.league_readers", name])
    return f"{python} {{file}} {{out}} {{frames}} {{times}}"


def main() -> None:
    out = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "league.md"
    programs = versions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "Blender" in programs:
            addon = os.environ["IO_SCENE_3DS"] = str(folder / "addon")
            subprocess.run(
                [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", addon, ADDON], check=True
            )
        write(folder / "pack.zip")
        with zipfile.ZipFile(folder / "pack.zip") as archive:
            archive.extractall(folder)
        pack = folder / "conformance"
        known = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(pack.rglob("*.expected.json"))]
        evidence: dict[str, Any] = {each["file"]: each["evidence"] for each in known}
        scores = {name: play(command(name), pack) for name in READERS if name in programs}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(programs, scores, evidence, datetime.date.today().isoformat()), encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
