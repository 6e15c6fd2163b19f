"""What conversions write: the exporter that the options ask for, and the ending of its files. Loads no format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyframer.exchange import Exporter, exporter_for


def suffix(options: Mapping[str, Any]) -> str:
    exporter, dialect = exporter_of(options), options.get("dialect")
    if exporter.name == "nodeanim" and dialect is not None:
        from keyframer.formats.nodeanim.dialect import Dialect

        Dialect.parse(str(dialect))
    elif dialect is not None and dialect not in exporter.dialects:
        known = f"it has: {', '.join(exporter.dialects)}" if exporter.dialects else "it has none"
        raise ValueError(f"{exporter.name} has no dialect {dialect!r} ({known})")
    if exporter.name == "gltf":
        if options.get("write"):
            raise ValueError("--write is for the formats that can be read; glTF has options of its own")
        return exporter.extensions[exporter.dialects.index(str(dialect)) if dialect is not None else 0]
    if any(options.get(name) for name in ("core_only", "unit", "keys")):
        raise ValueError("--core-only, --unit and --keys are for glTF only")
    return exporter.extensions[0]


def exporter_of(options: Mapping[str, Any]) -> Exporter:
    return exporter_for("", options.get("to", "gltf"))
