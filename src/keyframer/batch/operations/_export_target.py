"""The exporter of a conversion and the extension of its files. Loads no format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyframer.exchange import Exporter, exporter_for


def suffix(options: Mapping[str, Any]) -> str:
    exporter, dialect = exporter_of(options), options.get("dialect")
    extension = exporter.extension(None if dialect is None else str(dialect))
    exporter.options_from_text(options.get("write") or {})
    if exporter.name != "gltf" and any(options.get(name) for name in ("core_only", "unit", "keys")):
        raise ValueError("--core-only, --unit and --keys are for glTF only")
    return extension


def exporter_of(options: Mapping[str, Any]) -> Exporter:
    return exporter_for("", options.get("to", "gltf"))
