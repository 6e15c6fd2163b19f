"""Renders the picture of docs/gltf.md: ``python tools/make_gltf_pictures.py``, or ``make pictures``.

Three textured, animated files of this project are converted by the command and shown by three.js in Chromium at two
times.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.exchange.textured import make_files  # noqa: E402
from tests.oracles.gltf.pictures import open_painter, why_no_pictures  # noqa: E402

from keyframer.cli import main as keyframer  # noqa: E402

OUT = ROOT / "docs" / "pictures" / "gltf-three.png"
SIZE = (300, 260)
TIME_FRACTIONS = (0.0, 0.4)
_CAPTION_HEIGHT = 18
_COLORS = 96


def main() -> int:
    reason = why_no_pictures()
    if reason is not None:
        print(f"the picture was not rendered: {reason}", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as name, open_painter() as painter:
        sources = make_files(Path(name))
        sheet = Image.new("RGB", (SIZE[0] * len(sources), (SIZE[1] + _CAPTION_HEIGHT) * len(TIME_FRACTIONS)), "white")
        for column, source in enumerate(sources):
            target = source.with_suffix(".glb")
            if keyframer(["convert", "-q", str(source), str(target)]) != 0:
                return 1
            shown = painter.show(target, TIME_FRACTIONS, SIZE)
            for row, picture in enumerate(shown.pictures):
                x, y = SIZE[0] * column, (SIZE[1] + _CAPTION_HEIGHT) * row
                sheet.paste(picture, (x, y + _CAPTION_HEIGHT))
                caption = f"{source.name}:  {TIME_FRACTIONS[row] * shown.seconds:.2f} s"
                ImageDraw.Draw(sheet).text((x + 6, y + 3), caption, fill="black")
        if painter.troubles:
            print("\n".join(painter.troubles), file=sys.stderr)
            return 1
    sheet.quantize(_COLORS, dither=Image.Dither.NONE).save(OUT, optimize=True)
    print(f"{OUT.relative_to(ROOT)}: {OUT.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
