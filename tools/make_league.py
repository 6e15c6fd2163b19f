"""Scores programs on the conformance pack and writes a page about it: build/league.md. ``make league``

    .venv/bin/python -m tools.make_league [OUT]

The programs are those of `tools.league_readers` that are installed. It takes ten minutes, because each program is
started once for each file.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import shlex
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.league import OUTCOMES, Score, play
from tools.league_readers import READERS
from tools.make_conformance import ROOT, write

PAGE = """# What programs make of the conformance pack

Written by `make league` on {date}, on {count} files. *Right* is right at all frames, *at keys* only at frames with
keys. *Refused* files are not read. Keyframer computed the expected values: its own row only shows that the league
works; *Keyframer in Blender* is our extension, and Blender plays.

The counts are those of the {studio} `.3ds` files. *Other formats* are those of which a program reads a file.

{counts}

{missing}Not in the league:

{nothing}

## File by file

Rows with *own reading* rest on Keyframer's reading of the format alone. The others rest on what is named, which tests
compare with the same feature in real files.

{outcomes}

## What is wrong

{words}
"""
NOTHING = {
    "Babylon.js 9.28": "its loaders read glTF, OBJ, STL, BVH, FBX, USD and splats, nothing of the pack",
    "Open3D 0.20": "has assimp inside, but without the importers of these formats",
    "trimesh 5.2, and pyrender, which loads by it": "OBJ, STL, PLY, OFF, DXF, glTF and XYZ, nothing of the pack",
    "F3D 4.0, PyVista 0.49, vedo 2026.6": "read `.3ds` by VTK, which is in the league",
    "three-stdlib 2.36": "its TDSLoader is a copy of that of three.js",
    "Aspose.3D 26.9": "not free, and not tried",
}
"""other programs of PyPI and npm, and why they have no reader here; seen in November 2026"""


def digest(programs: Mapping[str, str], scores: Mapping[str, Sequence[Score]]) -> list[list[str]]:
    """Return a row for each program: its outcomes on `.3ds` files, and how many files of other formats are right."""
    rows = [["program", "version", *OUTCOMES, "other formats"]]
    for name, found in scores.items():
        studio = Counter(score.outcome for score in found if score.file.startswith("3ds/"))
        others: dict[str, list[str]] = {}
        for score in found:
            if not score.file.startswith("3ds/"):
                others.setdefault(score.file.split("/")[0], []).append(score.outcome)
        right = (
            f"{kind} {outcomes.count('right')} of {len(outcomes)}"
            for kind, outcomes in others.items()
            if set(outcomes) != {"refused"}
        )
        rows.append([name, programs[name], *(str(studio[each]) for each in OUTCOMES), ", ".join(right) or "none"])
    return rows


def page(
    programs: Mapping[str, str], scores: Mapping[str, Sequence[Score]], evidence: Mapping[str, str | None], date: str
) -> str:
    """Return the page; `evidence` says for each file what its values rest on."""
    by_file = {name: {score.file: score for score in rows} for name, rows in scores.items()}
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
        date=date,
        count=len(evidence),
        studio=sum(file.startswith("3ds/") for file in evidence),
        counts=_table(digest(programs, scores)),
        missing="".join(
            f"{name} was not installed ({reader.needs}).\n\n"
            for name, reader in READERS.items()
            if name not in programs
        ),
        nothing="\n".join(f"* {name}: {why}." for name, why in NOTHING.items()),
        outcomes=_table(outcomes),
        words="\n".join(words),
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def command(name: str) -> str:
    """Return the command of a reader, for any folder."""
    python = shlex.join([sys.executable, "-m", "tools.league_readers", name])
    return f"{python} {{file}} {{out}} {{frames}} {{times}}"


def all_scores() -> tuple[dict[str, str], dict[str, list[Score]], dict[str, str | None]]:
    """Return the versions of the installed programs, their scores, and what the values of each file rest on."""
    programs = {name: version for name, reader in READERS.items() if (version := reader.version())}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["LEAGUE_FOLDER"] = str(folder)
        for program in programs:
            READERS[program].prepare(folder)
        write(folder / "pack.zip")
        with zipfile.ZipFile(folder / "pack.zip") as archive:
            archive.extractall(folder)
        pack = folder / "conformance"
        known: list[Any] = [json.loads(path.read_text(encoding="utf-8")) for path in pack.rglob("*.expected.json")]
        evidence = {each["file"]: each["evidence"] for each in sorted(known, key=lambda each: str(each["file"]))}
        scores = {name: scores_of(name, pack, evidence) for name in programs}
    return programs, scores, evidence


def scores_of(name: str, pack: Path, files: Iterable[str]) -> list[Score]:
    """Return the scores of a program; it is not started for formats that it does not have."""
    formats = {file.split("/")[0] for file in files}
    read = {each for each in formats if not READERS[name].suffixes or f".{each}" in READERS[name].suffixes}
    played = {score.file: score for score in play(command(name), pack, read)}
    refused = Score("", "refused", math.inf, "no importer for the format")
    return [played.get(file, refused._replace(file=file)) for file in files]


def main() -> None:
    out = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "league.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(*all_scores(), datetime.date.today().isoformat()), encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
