"""Generated pages are up to date; if not, the failure names the command to run."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

from keyframer.cli.parser import COMMANDS
from keyframer.formats import FORMATS

ROOT = Path(__file__).resolve().parents[2]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "tools" / "generate_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES: dict[Path, str] = generator().generated_pages()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_page_is_up_to_date(path: Path) -> None:
    where = path.relative_to(ROOT)
    assert path.is_file(), f"{where} is missing: run python tools/generate_docs.py"
    assert path.read_text("utf-8") == PAGES[path], f"{where} is out of date: run python tools/generate_docs.py"


def test_stale_page_is_detected(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert generator().is_stale(page, "text")
    page.write_text("old")
    assert generator().is_stale(page, "text")
    page.write_text("text")
    assert not generator().is_stale(page, "text")


def test_no_generated_page_is_obsolete() -> None:
    generated = {path for path in PAGES if path.parent.name in ("formats", "schemas")}
    existing = {*(ROOT / "docs" / "formats").glob("*.md"), *(ROOT / "docs" / "schemas").glob("*.json")}
    assert existing == generated


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_every_record_of_every_format_is_on_its_page(known: object) -> None:
    page = PAGES[ROOT / "docs" / "formats" / f"{known.name}.md"]  # type: ignore[attr-defined]
    for name in known.record_types():  # type: ignore[attr-defined]
        assert f"`{name}`" in page


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_every_option_for_reading_is_in_the_table_of_its_page(known: object) -> None:
    page = PAGES[ROOT / "docs" / "formats" / f"{known.name}.md"]  # type: ignore[attr-defined]
    table = page.partition("| option | meaning | default |")[2].split("\n\n")[0]
    for name in known.option_types().keys() - known.scene_bridge().internal_options:  # type: ignore[attr-defined]
        assert f"`{name}`" in table


def test_page_of_3ds_has_the_descriptions_of_the_records() -> None:
    page = PAGES[ROOT / "docs" / "formats" / "3ds.md"]
    assert "| b010 | b001 AmbientNode" in page or "| b010 | b001, b002" in page
    assert "| `parent` | i16 | hierarchy father: the node id of the parent, -1 for none |" in page


def test_every_command_is_on_the_page_with_an_example() -> None:
    page = PAGES[ROOT / "docs" / "cli.md"]
    for command in COMMANDS:
        assert f"## keyframer {command}\n" in page
        assert f"\nkeyframer {command}" in page


def test_schemas_are_valid() -> None:
    for path, text in PAGES.items():
        if path.suffix == ".json":
            jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_reports_of_one_and_of_many_conversions_have_one_form() -> None:
    one, many = (json.loads(PAGES[ROOT / "docs" / "schemas" / name]) for name in ("loss.json", "convert.json"))
    converted = many["$defs"]["converted"]["properties"]
    own = {"schema", "schema_version"}  # convert has them once for all files
    assert {name: converted[name] for name in one["properties"].keys() - own} == {
        name: one["properties"][name] for name in one["properties"].keys() - own
    }


def test_every_output_with_a_schema_has_its_file() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    # samples have the version in the name, as in the files of expected poses
    named = dict(re.findall(r'^SCHEMA = "keyframer\.(\w+)(?:/|"\nSCHEMA_VERSION = )(\d+)"?$', source, re.M))
    assert len(named) == source.count('SCHEMA = "keyframer.')
    shipped = {path.stem: json.loads(text) for path, text in PAGES.items() if path.suffix == ".json"}
    assert named == {name: schema["$id"].rpartition(":")[2] for name, schema in shipped.items()}
    assert all(schema["$id"] == f"urn:keyframer:schema:{name}:{named[name]}" for name, schema in shipped.items())
    assert all({"title", "description"} <= schema.keys() for schema in shipped.values())
