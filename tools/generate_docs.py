"""Makes the generated pages: ``python tools/generate_docs.py`` writes them, ``--check`` only says what is stale.

docs/cli.md comes from the parser, docs/issues.md from the catalogue, docs/formats/<id>.md from the records of each
format and docs/formats/notes/<id>.md, docs/schemas/*.json from the schemas that the package ships, and a table in
docs/converting.md from what the formats declare to hold.
"""

from __future__ import annotations

import sys
from pathlib import Path

from keyframer.checking.issues_page import issues_page
from keyframer.cli.commands_page import page
from keyframer.formats import FORMATS
from keyframer.inspecting.format_pages import HOW, format_page, schemas, with_holdings

DOCS = Path(__file__).resolve().parents[1] / "docs"


def pages() -> dict[Path, str]:
    """Every generated page and its text."""
    made = {DOCS / "cli.md": page(), DOCS / "issues.md": issues_page()}
    for known in FORMATS:
        notes = DOCS / "formats" / "notes" / f"{known.name}.md"
        text = notes.read_text("utf-8") if notes.is_file() else ""
        made[DOCS / "formats" / f"{known.name}.md"] = format_page(known, text)
    converting = DOCS / "converting.md"
    made[converting] = with_holdings(converting.read_text("utf-8"), FORMATS)
    for name, text in schemas().items():
        made[DOCS / "schemas" / name] = text
    return made


def stale(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_text("utf-8") != text


def main() -> int:
    old = [path for path, text in pages().items() if stale(path, text)]
    if "--check" in sys.argv[1:]:
        for path in old:
            print(f"{path.relative_to(DOCS.parent)} is stale: run {HOW}")
        return 1 if old else 0
    for path, text in pages().items():
        if path in old:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
            print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
