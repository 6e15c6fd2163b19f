"""Makes the conformance pack: small files for importers, with the values that they should have. ``make conformance``

    .venv/bin/python -m tools.make_conformance [OUT]

Each file shows one feature, or is a sample of its format. The JSON file beside it has one line about it, world
matrices, visibility, animated values and world positions of vertices at some frames. They are computed by Keyframer,
whose own tests compare them with independent truth (tests/truth, tests/reference_curves). `tools.league` is in the
pack and scores a reader on it; for validators there are pairs of files for each issue code (`tools.issue_pairs`). Two
runs write the same bytes.
"""

from __future__ import annotations

import json
import math
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from tests.building import threeds_records as make
from tests.samples import FOLDER as SAMPLES
from tools import league
from tools.issue_pairs import pairs

import keyframer
from keyframer.formats.kit.coordinates import to_right_handed_y_up
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk
from keyframer.inspecting.samples import Sample
from keyframer.scene import NodeKind, Scene

ROOT = Path(__file__).resolve().parents[1]
FRAMES = [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 45.0]
BOX = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.5]]
TURN = math.pi / 2
Track = tuple[Sequence[int], Sequence[Sequence[float]]]

README = """Keyframer's conformance pack: small files with keyframe animation, and what an importer should make of them.

Made by Keyframer {version}. Every file FILE has a file FILE.expected.json:

  file        the name of the file
  about       what the file shows
  evidence    what the expected values rest on besides our own reading of the format; null if nothing
  axes        up: the axis that points up; handedness; metres_per_unit: null if unknown; to_y_up: 16 numbers, row by
              row, the matrix to right-handed axes with Y up. All values are in the axes and the unit of the file
  size        the size of the scene: the longest side of the box around all vertices at all frames, or around all
              nodes in files without vertices
  frame_rate  frames per second; null if the file has no animation
  frames      frames at which the values are given, the same in all files; times: the same in seconds
  key_frames  those of the frames at which the file has a key
  materials   the names of the materials
  nodes       a list with an entry for each node:
    name          the name that is shown. It need not be unique, and a format without names has invented ones
    id            the number of the node in the file; null if the format has none. It tells nodes of one name apart
    kind          {kinds}
    parent        the name of the parent; null for none
    parent_index  the index of the parent in this list; null for none
    world         for each frame the matrix from the node to the world: 16 numbers, row by row, for column vectors
    visible       for each frame whether the node is visible
    and, where they exist:
    vertices      for each frame the positions of the vertices of the mesh in the world, in the order of the file
    fov_degrees   for each frame the field of view of a camera, across the width of the picture
    color, multiplier, hotspot_degrees, falloff_degrees   for each frame the values of a light; cones are full angles
    morph         shapes: names of the meshes between which the node changes; weights: for each frame the weight of
                  each of these shapes

Numbers have seven significant digits, files store floats of 24 bits: a value is right if it differs by less than one
thousandth of the size of the scene, an angle or a weight by less than 0.01.

league.py (Python 3.10 or newer, nothing else) starts a reader on every file and says what is wrong:

  python league.py --reader "mycmd {{file}} {{out}}"
  python league.py --reader "mycmd {{file}} {{out}}" --formats 3ds ase
  python league.py --compare 3ds/windmill.3ds.expected.json ANSWER

The reader "mycmd" is your program. It writes JSON to {{out}}, and may leave out "world", "vertices" or "materials":

  {{"nodes": [{{"name": "Box", "world": [8 times 16 numbers], "vertices": [8 times [[x, y, z], ...]]}}, ...],
   "materials": ["red", ...]}}

8 is the number of frames; they are the same in all files, and {{frames}} or {{times}} in the command become their list.
The first lines of league.py say the rest. The exit code is 0 if all of the files are right.

issues.json is for validators. Each entry has a code (docs/issues.md in Keyframer's documentation), a format and two
files, "with" the code and "without" it, each with its verdict and its codes and how often they occur. The files are the
smallest known, and the one without is as near to the other as there is one. "limits" are limits that Keyframer does not
have by default; both files are read with them. Verdicts: not readable, damaged, readable with problems, clean.

Files:

{files}

The files are free: use them for whatever you like (CC0).
"""


class Case(NamedTuple):
    """A file of the pack."""

    name: str
    about: str
    data: bytes


def node(name: str, number: int, *inside: Chunk, parent: int = -1, kind: str = "object", **tracks: Any) -> r.Node:
    """A node with the given tracks; the others have one key, as 3D Studio writes them.

    A track is ``(frames, values)``, optionally followed by its flags and by tension to ease.
    """
    standard: dict[str, Any] = {"position": ([0], [[0, 0, 0]])}
    if kind == "object":
        standard |= {"rotation": ([0], [[0, 0, 0, 1]]), "scale": ([0], [[1, 1, 1]])}
    stored = [_track(which, *track) for which, track in {**standard, **tracks}.items()]
    pivot = [] if kind != "object" or any(isinstance(chunk, r.Pivot) for chunk in inside) else [r.Pivot()]
    return make.node(kind, name, number, *pivot, *inside, *stored, parent=parent)


def _track(kind: str, frames: Sequence[int], values: Any, flags: int = 0, shape: dict[str, Any] | None = None) -> Chunk:
    return make.track(kind, frames, values, flags, **shape or {})


def one(about: str, name: str, *inside: Chunk, matrix: Any = None, points: Any = BOX, **tracks: Any) -> Case:
    """A file with one mesh and its node."""
    objects = [make.mesh("Box", points, matrix=matrix)]
    return Case(f"3ds/{name}.3ds", about, make.file_bytes(objects, [node("Box", 0, *inside, **tracks)]))


PATH: Track = ([0, 10, 20, 30], [[0, 0, 0], [10, 0, 0], [10, 10, 0], [0, 10, 5]])
ROTATION: Track = ([0, 10, 30], [[0.0, 0, 0, 1], [TURN, 0, 0, 1], [TURN / 2, 1, 0, 0]])


def studio_cases() -> Iterator[Case]:
    """Yield the cases of 3D Studio: one feature each."""
    still = keyframer.encode(keyframer.decode(make.file_bytes([make.mesh("Box", BOX)], [])))
    yield Case("3ds/still.3ds", "A mesh without nodes: the vertices are shown as stored.", still)
    yield one(
        "Four position keys: the path between them is smooth (Kochanek-Bartels, all parameters 0).",
        "position",
        position=PATH,
    )
    shapes = {
        "tension": ("Tension 1 at the second key: the path has a corner there.", {"tension": [0, 1, 0, 0]}),
        "continuity": (
            "Continuity -1 at the second key: the motion changes its direction at once.",
            {"continuity": [0, -1, 0, 0]},
        ),
        "bias": ("Bias 1 at the second key: the path overshoots.", {"bias": [0, 1, 0, 0]}),
        "ease": (
            "Ease to and ease from at the second key: the motion slows down there.",
            {"ease_to": [0, 1, 0, 0], "ease_from": [0, 0.5, 0, 0]},
        ),
    }
    for name, (about, shape) in shapes.items():
        yield one(about, name, position=(*PATH, 0, shape))
    yield one(
        "Three rotation keys. Each is an axis and a clockwise angle, relative to the key before it.",
        "rotation",
        rotation=ROTATION,
    )
    long_way = ([0, 20, 30], [[0, 0, 0, 1], [3 * TURN, 0, 0, 1], [0, 0, 0, 1]])
    yield one("A turn of 270 degrees in one key: it goes the long way, as stored.", "rotation_270", rotation=long_way)
    turns = ([0, 30], [[0, 0, 0, 1], [8 * TURN, 0, 0, 1]])
    yield one("Two complete turns between two keys.", "rotation_two_turns", rotation=turns)
    yield one(
        "Three scale keys with different factors for each axis.",
        "scale",
        scale=([0, 10, 30], [[1, 1, 1], [2, 1, 0.5], [1, 3, 1]]),
    )
    yield one(
        "Scale keys with a negative factor: the mesh is mirrored.",
        "scale_negative",
        scale=([0, 20], [[-1, 1, 1], [-2, 1, 1]]),
    )
    yield one(
        "A pivot: the mesh turns about the point (2, 0, 0) of its own coordinates.",
        "pivot",
        r.Pivot((2.0, 0.0, 0.0)),
        rotation=ROTATION,
    )
    axes = [[0, 1, 0], [-1, 0, 0], [0, 0, 1], [4, 0, 0]]
    about = (
        "A mesh matrix (4160) with rotation and origin: vertices are stored in the world, and keys replace the matrix."
    )
    yield one(about, "matrix", matrix=axes, rotation=ROTATION)
    mirror = [[-1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    yield one("A mesh matrix (4160) that mirrors.", "matrix_mirrored", matrix=mirror, position=PATH)
    yield one(
        "The first key is at frame 10: before it, its value holds.",
        "before_first_key",
        position=([10, 20], [[5, 0, 0], [5, 5, 0]]),
    )
    short = ([0, 5, 10], [[0, 0, 0], [5, 0, 0], [5, 5, 0]])
    yield one("A track that repeats after its last key (flags 2).", "repeat", position=(*short, 2))
    yield one(
        "A track that loops smoothly after its last key (flags 3).",
        "loop",
        position=(*([0, 5, 10], [[0, 0, 0], [5, 0, 0], [0, 0, 0]]), 3),
    )
    yield one("A hide track: each key toggles the visibility.", "hide", make.hide([10, 20]), position=PATH)
    yield from _hierarchies()
    yield from _cameras_and_lights()


def _hierarchies() -> Iterator[Case]:
    meshes = [make.mesh("Base", BOX), make.mesh("Arm", BOX)]
    child = node("Arm", 1, parent=0, position=([0], [[3, 0, 0]]), rotation=ROTATION)
    nodes = [node("Base", 0, position=PATH, rotation=ROTATION), child]
    yield Case(
        "3ds/hierarchy.3ds", "A child that turns, on a parent that moves and turns.", make.file_bytes(meshes, nodes)
    )
    scaled = [node("Base", 0, scale=([0, 20], [[1, 1, 1], [2, 1, 1]])), child]
    about = "A child that turns, on a parent with different scale factors: the child is sheared."
    yield Case("3ds/hierarchy_scaled.3ds", about, make.file_bytes(meshes, scaled))
    pivoted = [node("Base", 0, r.Pivot((1.0, 0.0, 0.0)), rotation=ROTATION), child]
    yield Case(
        "3ds/hierarchy_pivot.3ds",
        "The pivot of a parent moves its own mesh, but not its children.",
        make.file_bytes(meshes, pivoted),
    )
    box = [r.InstanceName(b"Handle"), r.BoundBox((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))]
    dummy = [node("$$$DUMMY", 0, *box, position=PATH), node("Arm", 1, parent=0)]
    yield Case(
        "3ds/dummy.3ds", "A mesh that follows a dummy object, which has no mesh.", make.file_bytes(meshes[1:], dummy)
    )
    twice = [node("Arm", 0, position=PATH), node("Arm", 1, r.InstanceName(b"Second"), position=([0], [[0, 0, 9]]))]
    yield Case("3ds/instance.3ds", "Two nodes that show the same mesh.", make.file_bytes(meshes[1:], twice))
    big = [[2 * x, 2 * y, 2 * z] for x, y, z in BOX]
    morph = make.morph([0, 20], [b"Arm", b"Big"])
    data = make.file_bytes([meshes[1], make.mesh("Big", big)], [node("Arm", 0, morph), node("Big", 1)])
    yield Case("3ds/morph.3ds", "A morph track: from one mesh to another of the same number of vertices.", data)


def _cameras_and_lights() -> Iterator[Case]:
    eye: dict[str, Track] = {
        "position": ([0, 20], [[0, -20, 5], [20, 0, 5]]),
        "fov": ([0, 20], [[45], [30]]),
        "roll": ([0, 20], [[0], [30]]),
    }
    target = node("Eye", 1, kind="camera target", position=([0, 20], [[0, 0, 0], [0, 5, 0]]))
    data = make.file_bytes([make.camera("Eye", (0, -20, 5), (0, 0, 0))], [node("Eye", 0, kind="camera", **eye), target])
    yield Case("3ds/camera.3ds", "A camera that looks at a moving target, with keys for field of view and roll.", data)
    lamp: dict[str, Track] = {
        "position": ([0, 20], [[0, 0, 10], [5, 0, 10]]),
        "color": ([0, 20], [[1, 1, 1], [1, 0, 0]]),
        "hotspot": ([0, 20], [[30], [10]]),
        "falloff": ([0, 20], [[40], [20]]),
    }
    data = make.file_bytes(
        [make.spot("Lamp", (0, 0, 10), (0, 0, 0))],
        [node("Lamp", 0, kind="spot", **lamp), node("Lamp", 1, kind="spot target")],
    )
    yield Case("3ds/spot.3ds", "A spot light with keys for position, colour, hotspot and falloff.", data)


SAMPLE_LINES = {
    "3ds/windmill.3ds": "A complete scene: meshes, materials, a camera, lights and most kinds of tracks.",
    "3ds/tracks.3ds": (
        "Keys with optional numbers, undefined flag bits and no keys at all. A dummy moves, turns and is scaled; "
        "the tracks of a camera and a light have no object that they could change."
    ),
    "ase/controllers.ase": "Controllers of all kinds: sampled, linear, Bezier and TCB keys.",
    "ase/morphing.ase": "A mesh with animated vertices.",
    "ase/skinned.ase": "A mesh that bones deform.",
    "ase/stage.ase": "Cameras, lights, helpers and a hierarchy.",
    "ase/textured.ase": "Materials with maps.",
    "uto3d/maxscript.u3d": "A scene in the layout of the MAXScript exporter: linear and TCB keys.",
    "uto3d/flexporter.u3d": "A scene in the layout of the Flexporter.",
    "uto3d/literal.u3d": "A scene exactly as the specification describes it.",
    "hale3d/wave-nul-ended.anim": "Three joints, some of whose components are animated; text ends with NUL.",
    "hale3d/wave-length.anim": "The same; text follows its length.",
    "hale3d/still.anim": "Joints without animated components.",
    "midtown/retail.anim": "A walk of 19 bones in the layout of the retail game.",
    "midtown/document.anim": "A clip of one channel in the layout of the beta.",
    "midtown/old.anim": "A clip in the old layout.",
    "b3d/swaying.b3d": "A strip with two bones: one turns, the other moves.",
    "b3d/layered.b3d": "Brushes with several textures, a second set of coordinates and colours with alpha.",
    "vue/turning.vue": "Two objects with a matrix for each frame, two lights, a camera.",
    "md5/wave.md5anim": "Three joints: one turns, one moves.",
    "md5/body.md5mesh": "Two meshes moved by three joints.",
    "horde3d/wave.anim": "Four entities; two have one frame for all times.",
    "horde3d/arm_mesh.geo": "A strip moved by two joints, and a triangle that no joint moves.",
    "nodeanim/default_mixed.nanim": "Nodes with linear, Bezier and TCB keys in the default layout.",
    "nodeanim/tcb_by_key.nanim": "The flags of each key say whether it has TCB parameters.",
}


STUDIO = "3D Studio for DOS: frames that it rendered and whose matrices it wrote down have this feature"
LIB3DS = "lib3ds, which shares no code with Keyframer, comes to the same matrices"
MAX = "3ds Max: matrices that it wrote of 472 nodes, most of them below dummies"
IRRLICHT = "Irrlicht, which shares no code with Keyframer, comes to the same vertices"
MD5_FILE = "an MD5 file: the only known real animation was made from it"
STUDIO_FILES = {
    **dict.fromkeys(("position", "tension", "continuity", "ease", "rotation", "rotation_270"), STUDIO),
    **dict.fromkeys(("scale", "loop", "hierarchy", "camera"), STUDIO),
    **dict.fromkeys(("scale_negative", "pivot", "matrix", "hierarchy_scaled", "hierarchy_pivot"), LIB3DS),
}
EVIDENCE = {
    **{f"3ds/{name}.3ds": source for name, source in STUDIO_FILES.items()},
    "3ds/dummy.3ds": MAX,
    "ase/controllers.ase": "3ds Max: it exported the same scenes as ASE and as 3DS",
    "b3d/layered.b3d": IRRLICHT,
    "b3d/swaying.b3d": IRRLICHT,
    "hale3d/wave-length.anim": MD5_FILE,
    "hale3d/wave-nul-ended.anim": MD5_FILE,
    "horde3d/wave.anim": "the source of Horde3D: a slow computation after it comes to the same matrices",
    **dict.fromkeys(
        ("md5/body.md5mesh", "md5/wave.md5anim"),
        "the source of Doom 3: a slow computation after it comes to the same places",
    ),
    **dict.fromkeys(
        ("midtown/document.anim", "midtown/old.anim"),
        "two decompilations of the game: a slow computation after them comes to the same matrices",
    ),
    "vue/turning.vue": "3D Studio for DOS: the matrices that its VUE renderer wrote mean the same",
}
"""What tests compare the same feature with in real files (tests/truth), or the same file (tests/test_league.py, and
``poses.py`` of the samples). Where nothing is said, the values rest on our own reading of the format."""


def cases() -> list[Case]:
    """Return all files of the pack."""
    samples = [Case(name, about, (SAMPLES / name).read_bytes()) for name, about in SAMPLE_LINES.items()]
    return [*studio_cases(), *samples]


def expected(case: Case, path: Path) -> dict[str, Any]:
    """Return the expected values of a file that was written to ``path``."""
    scene = keyframer.load(path)
    sample = Sample(scene, frames=FRAMES, times=None)
    record = sample.record()
    del record["schema"], record["raw_channels"]
    space = scene.space
    record["axes"] = {
        "up": space.up,
        "handedness": space.handedness.value,
        "metres_per_unit": space.metres_per_unit,
        "to_y_up": to_right_handed_y_up(space)[0].ravel().tolist(),
    }
    record["frame_rate"] = scene.clips[0].frames_per_second if scene.clips else None
    record["key_frames"] = [frame for frame in FRAMES if frame in _key_frames(scene)]
    record["materials"] = [material.name for material in scene.materials]
    record["size"] = _size(sample)
    for number, (stored, shown) in enumerate(zip(scene.nodes, record["nodes"], strict=True)):
        shown["parent_index"] = stored.parent
        if stored.mesh is not None:
            shown["vertices"] = sample.pose.vertices(number).tolist()
    values: dict[str, Any] = _rounded(record)
    return {
        "file": case.name,
        "about": case.about,
        "evidence": EVIDENCE.get(case.name),
        **{name: value for name, value in values.items() if name != "nodes"},
        "nodes": values["nodes"],
    }


def _key_frames(scene: Scene) -> set[float]:
    return {
        round(time / clip.units_per_frame, 6)
        for clip in scene.clips[:1]
        for channel in clip.channels
        for time in channel.track.times.tolist()
    }


def _size(sample: Sample) -> float:
    """Return the longest side of the box around all vertices at all frames, or around all nodes if there are none."""
    meshes = [number for number, node in enumerate(sample.scene.nodes) if node.mesh is not None]
    vertices = [sample.pose.vertices(number).reshape(-1, 3) for number in meshes]
    points = np.concatenate([part for part in vertices if len(part)] or [sample.pose.world[..., :3, 3].reshape(-1, 3)])
    return float(np.ptp(points, axis=0).max()) or 1.0


def _rounded(value: Any) -> Any:
    """Return the value with seven significant digits, and no negative zeros."""
    if isinstance(value, float):
        return float(f"{value:.7g}") + 0.0 if abs(value) > 1e-9 else 0.0
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value


def _json(value: Any) -> bytes:
    return (_lines(value, "\n") + "\n").encode()


def _lines(value: Any, newline: str) -> str:
    """Return JSON with each list of numbers, and each short list of such lists, on one line."""
    short = json.dumps(value)
    if not isinstance(value, (dict, list)) or not value or (isinstance(value, list) and _is_line(value, short)):
        return short
    inside = newline + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_lines(one, inside)}" for key, one in value.items()]
    else:
        parts = [_lines(one, inside) for one in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + inside + f",{inside}".join(parts) + newline + closing


def _is_line(value: list[Any], short: str) -> bool:
    return "{" not in short and (not isinstance(value[0], list) or len(short) <= 100)


def write(out: Path) -> int:
    """Write the pack and return the number of its files."""
    listed = cases()
    lines = "\n".join(f"  {case.name}: {case.about}" for case in listed)
    kinds = ", ".join(kind.value for kind in NodeKind)
    files = {
        "README.txt": README.format(version=keyframer.__version__, kinds=kinds, files=lines).encode(),
        "league.py": Path(league.__file__).read_bytes(),
        "issues.json": _json([pair.record() for pair in pairs()]),
    }
    for pair in pairs():
        for name, (data, _) in zip(pair.names(), (pair.with_it, pair.without), strict=True):
            files[name] = data
    with TemporaryDirectory() as folder:
        for case in listed:
            path = Path(folder) / Path(case.name).name
            path.write_bytes(case.data)
            files[case.name] = case.data
            files[f"{case.name}.expected.json"] = _json(expected(case, path))
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"conformance/{name}")  # dated 1980: the same bytes in every run
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, files[name])
    return len(listed)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "conformance.zip"
    print(f"{target}: {write(target)} files with their expected values")
