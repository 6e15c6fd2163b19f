"""Renders the pictures of the documentation with the commands: ``make pictures``.

They show only the examples of this project. Pictures differ in a few pixels between versions of numpy and Pillow, so
they are rendered again only after a visible change.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from keyframer.cli import main as keyframer
from keyframer.exchange.opening import read
from keyframer.formats.document import write
from keyframer.formats.threeds.records import RotationTrack

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
EXAMPLE = "examples/windmill.3ds"
SHOW = "examples/stage.mvr"

COMMANDS: dict[str, list[str]] = {
    "windmill.png": ["thumbnail", EXAMPLE, "--size", "256", "-o"],
    "windmill-sheet.png": ["thumbnail", EXAMPLE, "--size", "144", "--sheet", "4x2", "--camera", "fit", "-o"],
    "windmill.gif": ["thumbnail", EXAMPLE, "--size", "160", "--pictures", "30", "--camera", "fit", "-o"],
    "windmill-curves.svg": ["plot", EXAMPLE, "--node", "Cock", "--node", "Rotor", "--track", "rotation", "-o"],
    "windmill-path.svg": ["plot", EXAMPLE, "--motion", "--node", "Camera", "-o"],
    "stage.png": ["thumbnail", SHOW, "--size", "480", "-o"],
    "windmill-diff.svg": ["diff", EXAMPLE, "EDITED", "--what", "motion", "--plot"],
}
"""the command for each picture; the path of the picture is appended"""


def main() -> int:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        edited = _edited_example(Path(folder))
        for name, words in COMMANDS.items():
            arguments = [str(edited) if word == "EDITED" else word for word in words]
            arguments = [str(ROOT / word) if word in (EXAMPLE, SHOW) else word for word in arguments]
            code = keyframer([*arguments, str(PICTURES / name), "-f", "-q"])
            if code not in (0, 1):  # 1: diff found a difference
                return code
            print(f"docs/pictures/{name}: {(PICTURES / name).stat().st_size} bytes")
    return 0


def _edited_example(folder: Path) -> Path:
    """Write the example with a weathercock that turns only half as far."""
    document = read(ROOT / EXAMPLE)
    track = max(document.find(RotationTrack), key=lambda track: len(track.keys.value))
    angle_and_axis = np.array(track.keys.value)
    angle_and_axis[:, 0] *= 0.5
    track.keys = track.keys.replace(value=angle_and_axis)
    path = folder / "half.3ds"
    write(document, path)
    return path


if __name__ == "__main__":
    sys.exit(main())
