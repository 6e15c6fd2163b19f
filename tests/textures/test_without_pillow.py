"""Without Pillow, as in Blender: only decoding and drawing images needs it, and the message says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = "import sys; sys.modules['PIL'] = None\n"

EVERYTHING = """
import json, tempfile
from pathlib import Path
import keyframer
from keyframer.errors import FormatError
from keyframer.exchange import EXPORTERS

loaded = converted = 0
exporters = [exporter for exporter in EXPORTERS if exporter.takes_any_scene]
samples = [path for folder in ("tests/samples", "examples") for path in sorted(Path(folder).glob("**/*"))]
with tempfile.TemporaryDirectory() as folder:
    for path in samples:
        if path.suffix in (".py", ".md", "") or not path.is_file():
            continue
        try:
            scene = keyframer.load(path, salvage=True)
        except FormatError:
            continue
        loaded += 1
        pose = keyframer.pose(scene, frames=[0, 5])
        for number in range(len(scene.nodes)):
            pose.vertices(number)
        keyframer.save(scene, Path(folder) / "out.glb", overwrite=True)
        exporter = exporters[loaded % len(exporters)]  # each gets its share of the samples
        target = Path(folder) / f"out{exporter.extensions[0]}"
        try:
            keyframer.save(scene, target, format=exporter.name, overwrite=True)
        except ValueError:  # the format could hold nothing of the scene
            continue
        converted += 1
print(json.dumps([loaded, converted, sorted(name for name in sys.modules if name.startswith("PIL."))]))
"""


def run(code: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BLOCK + code], capture_output=True, text=True, cwd=cwd, check=False)


def test_all_samples_load_pose_and_convert_without_pillow() -> None:
    result = run(EVERYTHING)
    assert result.returncode == 0, result.stderr[-2000:]
    loaded, converted, modules = json.loads(result.stdout.splitlines()[-1])
    assert loaded > 40
    assert converted > loaded / 2
    assert modules == []


DRAWING = [
    ["thumbnail", "examples/windmill.3ds", "-o", "{out}.png"],
    ["thumbnail", "examples/windmill.3ds", "--sheet", "2", "-o", "{out}.png"],
    ["thumbnail", "examples/windmill.3ds", "-o", "{out}.gif"],
    ["plot", "examples/windmill.3ds", "--node", "Rotor", "-o", "{out}.png"],
]


def test_commands_that_draw_pictures_say_in_one_line_that_pillow_is_missing(tmp_path: Path) -> None:
    given = [[argument.format(out=tmp_path / "out") for argument in arguments] for arguments in DRAWING]
    result = run(f"from keyframer.cli import main; print([main(arguments) for arguments in {given!r}])")
    assert result.stdout.splitlines()[-1] == str([3] * len(given)), result.stderr
    line = "keyframer: examples/windmill.3ds: RUN_PILLOW_MISSING at 0x0 in /: images need Pillow"
    assert sum(said.startswith(line) for said in result.stderr.splitlines()) == len(given)
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_conversions_keep_image_names_and_report_why_images_are_not_embedded(tmp_path: Path) -> None:
    (tmp_path / "STONE.PNG").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "windmill.3ds").write_bytes((ROOT / "examples" / "windmill.3ds").read_bytes())
    arguments = ["convert", str(tmp_path / "windmill.3ds"), str(tmp_path / "out.glb"), "--report", "-"]
    result = run(f"from keyframer.cli import main; sys.exit(main({arguments!r}))")
    assert "RUN_PILLOW_MISSING" in result.stdout + result.stderr
    assert (tmp_path / "out.glb").exists()


def test_keyframer_info_needs_no_pillow() -> None:
    result = run("from keyframer.cli import main; sys.exit(main(['info', 'examples/windmill.3ds']))")
    assert result.returncode == 0
    assert "12, 5 of them animated" in result.stdout
