"""The code of docs/add-a-format.md is taken as it stands, listed, and its own tests pass."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "add-a-format.md"

RUN = """
import importlib.util, sys
import keyframer.formats
keyframer.formats.__path__.append(sys.argv[1])
from keyframer.formats import wagtail
keyframer.formats.FORMATS = (*keyframer.formats.FORMATS, wagtail.FORMAT)  # before anybody asks for it
spec = importlib.util.spec_from_file_location("test_wagtail", sys.argv[1] + "/test_wagtail.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for name in [name for name in dir(module) if name.startswith("test_")]:
    getattr(module, name)()
    print(name)
import keyframer
for size in range(1, len(module.TWO_BIRDS)):
    cut = module.TWO_BIRDS[:size]
    try:
        assert keyframer.encode(keyframer.decode(cut, format="wagtail")) == cut
    except keyframer.FormatError as error:
        assert error.code and error.path
print("every prefix keeps the law")
"""


def test_the_example_works_as_it_stands(tmp_path: Path) -> None:
    package = tmp_path / "wagtail"
    package.mkdir()
    sections = re.split(r"^## \d+\. ", PAGE.read_text(encoding="utf-8"), flags=re.M)
    written = []
    for section in sections[1:]:
        title, block = section.split("\n", 1)[0], re.search(r"^```python\n(\"\"\".*?)^```", section, re.M | re.S)
        if block is None:
            continue
        named = re.search(r"`(\w+\.py)`", title)
        target = package / named[1] if named else tmp_path / "test_wagtail.py"
        target.write_text(block[1], encoding="utf-8")
        written.append(target.name)
    assert written == ["__init__.py", "sniff.py", "records.py", "document.py", "test_wagtail.py"]
    ran = subprocess.run([sys.executable, "-c", RUN, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split("\n")[:4] == [
        "test_a_count_that_cannot_be_true",
        "test_a_track_more",
        "test_fields",
        "every prefix keeps the law",
    ]
