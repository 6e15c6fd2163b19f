"""Run the command line in tests: inside this process, or as a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from keyframer.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"
STYLES = ("pretty", "json", "jsonl", "csv", "md")
START = "import sys; from keyframer.cli import main; sys.exit(main())"


class Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def json(self) -> Any:
        return json.loads(self.out)


class Run:
    """Runs the command in this process: ``run("identify", path)``."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Ran:
        self._capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        return Ran(code, captured.out, captured.err)


def spawn(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a separate process."""
    return subprocess.run(
        [sys.executable, "-c", START, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


def check_schema(name: str, value: Any, part: str | None = None) -> None:
    """Validate a value against the schema that the package ships, or against one of its ``$defs``."""
    text = files("keyframer.inspecting").joinpath("schemas", f"{name}.json").read_text("utf-8")
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    if part is not None:
        schema = {"$defs": schema["$defs"], "$ref": f"#/$defs/{part}"}
    jsonschema.Draft202012Validator(schema).validate(value)
