"""Compares three ways to import five files into Blender; prints the table of docs/blender.md.

    .venv/bin/python -m tools.compare_blender_importers

These are our extension, ``keyframer convert`` with Blender's glTF importer, and Blender's 3DS importer: the add-on
io_scene_3ds, which pip installs in a temporary folder. Needs bpy and the shared corpus.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.blender.outside import OLDEST, ROOT, Case, ask, builder, python_of, ten_frames
from tests.corpus import CORPUS
from tests.exchange.players import cases_of, in_blender

import keyframer

FILES = [
    ROOT / "examples" / "windmill.3ds",
    *(
        CORPUS / "3ds" / name
        for name in (
            "blitz-research__blitz3d__mak_running.3DS",
            "joric__j3de__01-2ndreal.3DS",
            "jumalauta__red2.3ds",
            "jumalauta__cheese.3ds",
        )
    ),
]


ADDON = "io_scene_3ds==2.8.6"


def errors_of_3ds_importer(cases: list[Case], folder: Path) -> list[float]:
    """Return the error of Blender's 3DS importer for each case, with the better of its two ways to place objects."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / "addon"), ADDON]
    subprocess.run(command, check=True)
    lines = (json.dumps({"file": str(case.path), "frames": case.frames}) for case in cases)
    (folder / "requests").write_text("\n".join(lines), encoding="utf-8")
    script = ROOT / "tests" / "oracles" / "blender" / "own_importer.py"
    files = [str(folder / name) for name in ("addon", "requests", "answers")]
    subprocess.run([str(python_of(OLDEST)), str(script), *files], check=True, stdout=subprocess.DEVNULL)
    answers = (folder / "answers").read_text(encoding="utf-8").splitlines()
    return [
        min(vertex_error(case, shown) for shown in json.loads(answer))
        for case, answer in zip(cases, answers, strict=True)
    ]


def vertex_error(case: Case, shown: dict[str, list[list[list[float]]]]) -> float:
    """Return the largest error of a vertex coordinate, relative to the size of the scene."""
    errors = [0.0]
    for number, node in enumerate(case.scene.nodes):
        if node.mesh is not None:
            expected = case.in_blender(case.pose.vertices(number))
            error = np.abs(np.reshape(shown[node.name], expected.shape) - expected)[case.pose.visible[:, number]]
            errors.append(float(error.max(initial=0.0)) / case.size)
    return max(errors)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenes = [keyframer.load(path) for path in FILES]
        cases = [Case(path, scene, ten_frames(scene)) for path, scene in zip(FILES, scenes, strict=True)]
        answers = ask(builder().build(folder), [case.request() for case in cases], folder)
        ours = [
            max(error for _, _, error in case.differences(answer)) for case, answer in zip(cases, answers, strict=True)
        ]
        gltf = {}
        for case, errors in in_blender(
            cases_of((path.name, scene) for path, scene in zip(FILES, scenes, strict=True)), folder
        ):
            gltf[case.name] = max(errors.places, errors.vertices)
        print("| file | rotating nodes | this extension | glTF and its importer | 3DS importer of Blender |")
        print("| --- | --- | --- | --- | --- |")
        theirs = errors_of_3ds_importer(cases, folder)
        for path, scene, our_error, their_error in zip(FILES, scenes, ours, theirs, strict=True):
            rotating = sum(c.track.kind == "rotation" and len(c.track.times) > 1 for c in scene.clips[0].channels)
            print(
                f"| {path.name} | {rotating} of {len(scene.nodes)} | {our_error:.1e} | {gltf[path.name]:.1e} | "
                f"{their_error:.2g} |"
            )


if __name__ == "__main__":
    main()
