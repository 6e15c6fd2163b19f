"""Counts keys and bytes of the three ways to write glTF keys, for the table in docs/gltf.md.

    .venv/bin/python tools/measure_gltf_keys.py FILE_OR_FOLDER ...

Files that cannot be loaded, are not animated or are in a folder ``invalid`` are left out. Without arguments, the
samples and the examples of the repository are measured.
"""

from __future__ import annotations

import sys
from pathlib import Path

import keyframer
from keyframer.exchange.gltf import KEY_STYLES
from keyframer.exchange.gltf.write import GltfOptions, export
from keyframer.exchange.gltf.write.asset import glb_parts

ROOT = Path(__file__).resolve().parents[1]


def animated_scenes(names: list[str]) -> list[keyframer.Scene]:
    """Load the animated files with these names or in these folders."""
    paths = [Path(name) for name in names] or [ROOT / "tests" / "samples", ROOT / "examples"]
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    scenes = []
    for file in files:
        if file.is_file() and "invalid" not in file.parts:
            try:
                scene = keyframer.load(file)
            except (keyframer.FormatError, ValueError):
                continue
            if any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels):
                scenes.append(scene)
    return scenes


def main() -> None:
    scenes = animated_scenes(sys.argv[1:])
    print(f"{len(scenes)} animated files\n")
    print("| keys | number of keys | animation, KiB | GLB, KiB | largest error / allowed |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for style in KEY_STYLES:
        keys = motion = size = 0
        worst = 0.0
        for scene in scenes:
            asset, report = export(scene, GltfOptions(keys=style))
            size += sum(len(part) for part in glb_parts(asset))
            accessors = asset.buffers.accessors
            used = {(sampler["input"], sampler["output"]) for clip in asset.animations for sampler in clip["samplers"]}
            keys += sum(accessors[times]["count"] for times, _ in used)
            motion += sum(_byte_size(accessors[number]) for number in {number for pair in used for number in pair})
            if report.measured.get("world_error_allowed"):
                worst = max(worst, report.measured["world_error"] / report.measured["world_error_allowed"])
        print(f"| `{style}` | {keys:,} | {motion / 1024:,.0f} | {size / 1024:,.0f} | {worst:.2f} |")


def _byte_size(accessor: dict[str, object]) -> int:
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[str(accessor["type"])]
    return int(str(accessor["count"])) * width * (4 if accessor["componentType"] == 5126 else 1)


if __name__ == "__main__":
    main()
