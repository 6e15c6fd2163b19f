"""Makes what the registries of others can take, with a letter for each: build/submissions. ``make submissions``

    .venv/bin/python -m tools.make_submissions [OUT]

Everything is made from the declarations of the formats; the test files are samples of this project. Two runs write the
same bytes.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from keyframer.cli import main as keyframer
from keyframer.describing import DESCRIPTIONS
from keyframer.formats import FORMATS

ROOT = Path(__file__).resolve().parents[1]
SAMPLES, SHOW = ROOT / "tests/samples", ROOT / "examples/stage.mvr"

PRONOM = """# To PRONOM, The National Archives

Each folder here is one submission for github.com/nationalarchives/pronom: copy its `submissions` folder into a fork and
open a pull request. One pull request for each folder, because all that one adds gets the same number. The `id` of a
container signature must be free in the registry: 112000 was the highest in July 2026.

| folder | files to test with |
| --- | --- |
{rows}

The patterns follow from programs that write or read such files; Keyframer reads every file that they match, and tests
them with `file`, FIDO and Siegfried on real files. The test files were made for Keyframer and are under its licence
(MIT). Already in the registry, and right: 3D Studio scenes (x-fmt/19), projects (fmt/1831), lofts (fmt/1830), shapes
(x-fmt/102) and Blitz3D (fmt/1182). Not submitted: formats that begin with nothing that tells them apart ({without}).

One remark on x-fmt/19: its signatures require the version, then the editor. Files without an editor, or with other
chunks before it, are not found. `4D4D{{4}}(0200|3D3D|00B0|0000|0500)` finds them.
"""

FILE = """# To the maintainers of file(1)

`keyframer` is a file for `magic/Magdir`. It names {titles}.

Every entry tests at least four bytes, or two at the beginning and two at the first chunk inside. All were tried on
samples and on real files of each kind, and on strangers such as TIFF files, which begin like 3D Studio's.
"""

KAITAI = """# To Kaitai Struct's gallery

{count} descriptions for `game/` and `3d/` of github.com/kaitai-io/kaitai_struct_formats. They are made from the
declarations that Keyframer reads and writes with. Its tests compile them, and compare every field of samples and real
files with its own reader.

They read intact files; a chunk that is longer than the one around it ends with that one. A format with several layouts
has a file for each.
"""

MIME = """# To shared-mime-info

`keyframer.xml` has types for {titles}. Types without a registered name are called `application/x-` and their id. An
extension is registered if no other of these formats has it. `image/x-3ds` exists; new are its magic numbers.
"""


def make(out: Path) -> None:
    """Write all submissions into a folder."""
    with TemporaryDirectory() as folder:
        with zipfile.ZipFile(SHOW) as show:
            fixtures = [name for name in show.namelist() if name.endswith(".gdtf")]
            for name in fixtures:
                Path(folder, Path(name).name).write_bytes(show.read(name))
        Path(folder, SHOW.name).write_bytes(SHOW.read_bytes())
        sources = ["--samples", str(SAMPLES), "--samples", folder]
        if keyframer(["formats", "--pronom-submission", str(out / "pronom"), *sources, "-f"]):
            raise SystemExit("the submissions to PRONOM could not be written")
    for kind, folder_name, rename in (("magic", "file", "keyframer"), ("kaitai", "kaitai", ""), ("mime", "mime", "")):
        (out / folder_name).mkdir(parents=True, exist_ok=True)
        for name, text in DESCRIPTIONS[kind]().items():
            (out / folder_name / (rename or name)).write_text(text)
    folders = sorted(path for path in (out / "pronom").iterdir() if path.is_dir())
    rows = (f"| `{path.name}` | {len(list(path.glob('submissions/files/*')))} |" for path in folders)
    titles = ", ".join(known.title for known in FORMATS if known.signatures)
    without = ", ".join(known.title for known in FORMATS if not known.signatures)
    for name, text in {
        "pronom": PRONOM.format(rows="\n".join(rows), without=without),
        "file": FILE.format(titles=titles),
        "kaitai": KAITAI.format(count=len(DESCRIPTIONS["kaitai"]())),
        "mime": MIME.format(titles=titles),
    }.items():
        (out / name / "LETTER.md").write_text(text)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/submissions")
