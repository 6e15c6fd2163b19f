"""Scores a reader of keyframe animation on the files beside this script. Needs Python 3.10 or newer and nothing else.

    python league.py --reader "mycmd {file} {out}"                   one line for each file, and the counts
    python league.py --reader "mycmd {file} {out}" --formats 3ds     only the files in these folders
    python league.py --compare FILE.expected.json ANSWER             one answer only

The reader is started once for each file. It reads {file} and writes JSON to {out}:

    {"nodes": [{"name": "Box", "world": [[16 numbers], ...], "vertices": [[[x, y, z], ...], ...]}, ...],
     "materials": ["red", ...]}

``world`` and ``vertices`` have one entry for each frame, in the axes of the file and in the world; either of them, and
``materials``, may be left out. {frames} and {times} in the command become the frames and the seconds, with commas
between them. Vertices may be in any order and any number of times, so corners of faces will do.

A file is *right* if no vertex (of nodes without vertices: no entry of the matrix; of cameras and lights: no position)
is farther from its place than a thousandth of the size of the scene; *at keys* if so only at frames with keys, of which
there are at least two; else *wrong*. At frames where a node is hidden its place does not count. A reader that ends with
an error or gives no answer has *refused* the file; one that is killed by a signal, or takes more than a minute, has
*crashed*. Names of nodes and materials that are missing are reported, and do not count.

The exit code is 0 if all of the files are right, 1 if not, 2 if the command line is wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

RIGHT = 1e-3
"""largest error, relative to the size of the scene, that counts as right"""
OUTCOMES = ("right", "at keys", "wrong", "refused", "crashed")
TIMEOUT_SECONDS = 60
Points = list[list[float]]


class Score(NamedTuple):
    """What a reader makes of a file."""

    file: str
    outcome: str
    error: float
    words: str


class Part(NamedTuple):
    """Something that has a place at each frame: the vertices of a name, or a node without vertices."""

    name: str
    errors: list[float]
    still: bool


def compare(expected: dict[str, Any], answer: Any) -> Score:
    """Return the score of an answer."""
    file, frames = expected["file"], expected["frames"]
    try:
        parts = _parts(expected, answer, len(frames))
        remarks = _missing(expected, answer)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return Score(file, "wrong", math.inf, f"the answer does not have the form of league.py: {error!r}")
    if not parts:
        return Score(file, "wrong", math.inf, "; ".join(["nothing of the scene is there", *remarks]))
    errors = [max(part.errors[index] for part in parts) for index in range(len(frames))]
    worst = max(errors)
    if worst <= RIGHT:
        return Score(file, "right", worst, "; ".join(remarks))
    still = all(part.still for part in parts)
    keys = [error for frame, error in zip(frames, errors, strict=True) if frame in expected["key_frames"]]
    outcome = "at keys" if len(keys) > 1 and max(keys) <= RIGHT and not still else "wrong"
    part = max(parts, key=lambda part: max(part.errors))
    frame = frames[part.errors.index(max(part.errors))]
    words = f"{part.name or 'a mesh'} is off by {worst:.2g} of the size of the scene at frame {frame:g}"
    if len(parts) > 1:
        words += f", {sum(max(part.errors) > RIGHT for part in parts)} of {len(parts)} parts are off"
    if still:
        words = f"nothing moves, {'right' if errors[0] <= RIGHT else 'wrong'} at frame {frames[0]:g}; {words}"
    return Score(file, outcome, worst, "; ".join([words, *remarks]))


def _parts(expected: dict[str, Any], answer: Any, frames: int) -> list[Part]:
    size = expected["size"]
    wanted, given = _vertices(expected["nodes"], frames), _vertices(answer["nodes"], frames)
    parts = []
    if given and set(wanted) != set(given):  # other names: all meshes together
        wanted, given = _together(wanted), _together(given)
    for name in wanted if given else ():
        shown = _shown(node for node in expected["nodes"] if name in ("", node["name"]))
        rows = zip(wanted[name], given[name], shown, strict=True)
        errors = [_distance(mine, theirs) / size if seen else 0.0 for mine, theirs, seen in rows]
        parts.append(Part(name, errors, all(points == given[name][0] for points in given[name])))
    theirs = {node["name"]: node["world"] for node in answer["nodes"] if "world" in node}
    names = Counter(node["name"] for node in [*expected["nodes"], *answer["nodes"]])
    for node in expected["nodes"]:
        # A matrix decides only if there are no vertices: its mesh may have another origin.
        if node["name"] in theirs and names[node["name"]] == 2 and not (given and "vertices" in node):
            found = theirs[node["name"]]
            if len(found) != frames or any(len(matrix) != 16 for matrix in found):
                raise ValueError(f"{node['name']} needs {frames} matrices of 16 numbers")
            aimed = node["kind"] in ("camera", "light", "target")
            rows = zip(node["world"], found, _shown([node]), strict=True)
            errors = [_matrix_error(mine, other, size, aimed) if seen else 0.0 for mine, other, seen in rows]
            parts.append(Part(node["name"], errors, all(matrix == found[0] for matrix in found)))
    return parts


def _shown(nodes: Iterable[dict[str, Any]]) -> list[bool]:
    """Return for each frame whether all of the nodes are visible."""
    return [all(at) for at in zip(*(node["visible"] for node in nodes), strict=True)]


def _vertices(nodes: Sequence[dict[str, Any]], frames: int) -> dict[str, list[Points]]:
    """Return the vertices at each frame of all nodes that have a name."""
    found: dict[str, list[Points]] = {}
    for node in nodes:
        if node.get("vertices"):
            if len(node["vertices"]) != frames:
                raise ValueError(f"{node['name']} needs vertices at {frames} frames")
            rows = found.setdefault(node["name"], [[] for _ in range(frames)])
            for row, points in zip(rows, node["vertices"], strict=True):
                row.extend(points)
    return {name: rows for name, rows in found.items() if all(rows)}


def _together(named: dict[str, list[Points]]) -> dict[str, list[Points]]:
    frames = zip(*named.values(), strict=True)
    return {"": [[point for points in at for point in points] for at in frames]} if named else {}


def _distance(one: Points, two: Points) -> float:
    """Return how far the farthest point is from any point of the other list."""
    away = max(_nearest(point, two) for point in one), max(_nearest(point, one) for point in two)
    return max(away)


def _nearest(point: Sequence[float], points: Points) -> float:
    distances = [math.dist(point, other) for other in points]
    return math.inf if any(map(math.isnan, distances)) else min(distances)


def _matrix_error(mine: Sequence[float], other: Sequence[float], size: float, only_place: bool) -> float:
    differences = [abs(a - b) for a, b in zip(mine, other, strict=True)]
    axes = [number for number in range(12) if number % 4 < 3]
    scale = max(max(abs(mine[number]) for number in axes), 1e-6)
    errors = [differences[number] / size for number in (3, 7, 11)]
    errors += [] if only_place else [differences[number] / scale for number in axes]
    return math.inf if any(map(math.isnan, errors)) else max(errors)


def _missing(expected: dict[str, Any], answer: Any) -> list[str]:
    wanted = {"nodes": [node["name"] for node in expected["nodes"]], "materials": expected["materials"]}
    given = {"nodes": [node["name"] for node in answer["nodes"]], "materials": answer.get("materials")}
    remarks = []
    for what, names in wanted.items():
        lost = [] if given[what] is None else sorted((Counter(names) - Counter(given[what])).elements())
        if lost:
            more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
            remarks.append(f"{what} not there: {', '.join(lost[:3])}{more}")
    return remarks


def read(reader: str, path: Path, expected: dict[str, Any]) -> Score:
    """Start the reader on a file and return its score."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answer.json"
        lists = {name: ",".join(f"{value:g}" for value in expected[name]) for name in ("frames", "times")}
        fields = {"file": str(path), "out": str(out), **lists}
        command = shlex.split(reader)
        for name, value in fields.items():
            command = [word.replace(f"{{{name}}}", value) for word in command]
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Score(expected["file"], "crashed", math.inf, f"no answer after {TIMEOUT_SECONDS} seconds")
        if done.returncode < 0 or done.returncode > 128:
            return Score(expected["file"], "crashed", math.inf, f"ended by signal {abs(done.returncode) % 128}")
        if done.returncode or not out.exists():
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return Score(expected["file"], "refused", math.inf, lines[-1] if lines else "no answer and no message")
        try:
            answer = json.loads(out.read_text(encoding="utf-8"))
        except ValueError as error:
            return Score(expected["file"], "wrong", math.inf, f"the answer is not JSON: {error}")
    return compare(expected, answer)


def play(reader: str, folder: Path, formats: Iterable[str] = ()) -> list[Score]:
    """Return the scores of a reader on the files of the pack in a folder: those of some formats, or all."""
    scores = []
    for path in files_of(folder, formats):
        expected = json.loads(path.read_text(encoding="utf-8"))
        scores.append(read(reader, path.with_name(path.name[: -len(".expected.json")]), expected))
    return scores


def files_of(folder: Path, formats: Iterable[str]) -> list[Path]:
    """Return the expected values of the files of some formats, or of all."""
    chosen = set(formats)
    found = sorted(folder.rglob("*.expected.json"))
    return [path for path in found if not chosen or path.parent.name in chosen]


def line(score: Score) -> str:
    """Return a score as a line of text."""
    return f"{score.outcome:8} {score.file}" + (f": {score.words}" if score.words else "")


def main() -> int:
    parser = argparse.ArgumentParser(description="Scores a reader of keyframe animation on the files of this pack.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--reader", metavar="COMMAND", help="with {file} and {out}, and perhaps {frames} and {times}")
    what.add_argument("--compare", nargs=2, metavar=("EXPECTED", "ANSWER"), type=Path, help="compare one answer")
    parser.add_argument("--formats", nargs="+", default=[], metavar="FORMAT", help="folders of the pack: 3ds, ase, ...")
    parser.add_argument("--files", type=Path, default=Path(__file__).resolve().parent, help="the folder of the pack")
    given = parser.parse_args()
    if sys.version_info < (3, 10):  # noqa: UP036  the pack goes to other people's Python
        parser.error("this needs Python 3.10 or newer")
    if given.compare:
        expected, answer = (json.loads(path.read_text(encoding="utf-8")) for path in given.compare)
        scores = [compare(expected, answer)]
    else:
        for name in given.formats or [""]:
            if not files_of(given.files, [name] if name else []):
                parser.error(f"there are no files of the pack in {given.files / name}")
        try:
            scores = play(given.reader, given.files, given.formats)
        except OSError as error:
            parser.error(f"the reader does not start: {error}")
    for score in scores:
        print(line(score))
    counts = Counter(score.outcome for score in scores)
    print(", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
    return 0 if counts["right"] == len(scores) else 1


if __name__ == "__main__":
    sys.exit(main())
