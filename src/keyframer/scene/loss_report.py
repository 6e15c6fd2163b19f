"""The loss report of a conversion: which parts of a scene are exact, approximated, baked, in extras, or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from keyframer.text import counted, plural, safe_text

SCHEMA = "keyframer.loss"
SCHEMA_VERSION = 1


class CannotWrite(ValueError):
    """Raised if the target format cannot store the scene; the message says why."""


class Outcome(Enum):
    """What a conversion did to one part of a scene, ordered from no loss to total loss."""

    EXACT = "exact"
    """the same meaning, to the precision of the target's numbers"""
    APPROXIMATED = "approximated"
    """within a measured error"""
    BAKED = "baked"
    """looks the same, but the authored data (keys, targets …) is no longer visible to other programs"""
    EXTRAS = "extras"
    """stored in extras, which only Keyframer reads"""
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Loss:
    """One entry of the report: a part of the scene, its outcome and the reason."""

    outcome: Outcome
    path: str
    """path in the scene: ``/nodes/Box/position``"""
    detail: str = ""
    error: float | None = None
    """largest difference between the scene and the result"""
    unit: str | None = None
    """unit of the error: ``degree``, ``scene unit`` …; ``1`` for plain numbers"""
    source_path: str | None = None
    """path of the record in the source file"""
    source_offset: int | None = None
    kind: str | None = None
    """the part in the words of a summary (``edges of 2 meshes``); None: made from the path"""

    def as_dict(self, source_path: str | None = None) -> dict[str, Any]:
        """Return plain values for JSON; ``source_path`` replaces an unknown path in the source file."""
        values: dict[str, Any] = {"outcome": self.outcome.value, "path": safe_text(self.path)}
        if self.detail:
            values["detail"] = safe_text(self.detail)
        if self.error is not None:
            values["error"] = {"value": self.error, "unit": self.unit or ""}
        if self.source_path is not None or self.source_offset is not None:
            values["source"] = {"path": self.source_path or source_path, "offset": self.source_offset}
        return values

    def __str__(self) -> str:
        error = "" if self.error is None else f" (error {error_text(self.error, self.unit)})"
        return f"{self.outcome.value}: {self.path}{': ' if self.detail else ''}{self.detail}{error}"


@dataclass(eq=False, repr=False)
class LossReport:
    """What one conversion did to each part of a scene."""

    target: str
    """the format written: ``gltf`` …"""
    losses: list[Loss] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)
    """measured errors, their limits, sizes and counts: ``world_error``, ``world_error_allowed``, ``frames`` …"""
    source: Mapping[str, Any] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    """names of the written files, main file first"""
    find_path: Callable[[int], str | None] | None = field(default=None, repr=False)
    """returns the path of the record at an offset of the source file; None if the file is not available"""

    def add(
        self,
        outcome: Outcome,
        path: str,
        detail: str = "",
        *,
        error: float | None = None,
        unit: str | None = None,
        extras: Mapping[str, Any] | None = None,
        kind: str | None = None,
    ) -> None:
        """Add one entry; ``extras`` of the part may hold its path and offset in the source file."""
        source_path, source_offset = _source_of(extras)
        self.losses.append(Loss(outcome, path, detail, error, unit, source_path, source_offset, kind))

    def add_incomplete_motion(self, path: str, detail: str, extras: Mapping[str, Any] | None = None) -> None:
        """Add an entry for motion that the written keys do not follow; the summary counts these."""
        self.add(Outcome.DROPPED, path, f"incomplete motion: {detail}", extras=extras)
        self.measured["cut_short"] = self.measured.get("cut_short", 0.0) + 1

    def forget(self, path: str) -> None:
        """Remove the entries with this path: in the end, the part was left out or written in another way."""
        self.losses = [loss for loss in self.losses if loss.path != path]

    def source_of(self, loss: Loss) -> tuple[str | None, int | None]:
        """Return path and offset of a part in the source file; None if unknown."""
        if loss.source_path is None and loss.source_offset is not None and self.find_path is not None:
            return self.find_path(loss.source_offset), loss.source_offset
        return loss.source_path, loss.source_offset

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.losses)

    def __len__(self) -> int:
        return len(self.losses)

    def count(self, outcome: Outcome) -> int:
        return sum(loss.outcome is outcome for loss in self.losses)

    def of(self, outcome: Outcome) -> list[Loss]:
        return [loss for loss in self.losses if loss.outcome is outcome]

    def summary(self) -> str:
        """Return one line: what was dropped or is missing, the largest error, how many parts had which outcome, and
        what only Keyframer reads."""
        if not self.losses:
            return "no losses"
        dropped, in_extras = self.of(Outcome.DROPPED), self.of(Outcome.EXTRAS)
        missing = round(self.measured.get("missing_images", 0))
        parts = [f"dropped: {_kinds_of(dropped, _MOST_KINDS)}"] if dropped else []
        parts += [f"{counted(missing, 'image')} missing"] if missing else []
        parts = parts or ["nothing dropped"]
        incomplete = round(self.measured.get("cut_short", 0))
        if incomplete:
            parts.append(counted(incomplete, "incomplete motion"))
        parts += [f"largest error {error}" for error in [self._largest_error()] if error]
        counts = Counter(loss.outcome for loss in self.losses)
        shown = [outcome for outcome in Outcome if counts[outcome] and outcome is not Outcome.EXTRAS]
        outcomes = [f"{counts[outcome]} {outcome.value}" for outcome in shown]
        parts += [f"parts: {', '.join(outcomes)}"] if outcomes else []
        parts += [f"in extras: {_kinds_of(in_extras, _MOST_IN_EXTRAS)}"] if in_extras else []
        return "; ".join(parts)

    def _largest_error(self) -> str:
        """Return the measured error of the whole scene, or else the largest stated error in each unit."""
        measured = self.measured.get("world_error")
        if measured is not None:
            allowed = self.measured.get("world_error_allowed", 0.0)
            return f"{error_text(measured, 'scene unit')} (allowed {allowed:.2g})"
        errors: dict[str, float] = {}
        for loss in self.losses:
            if loss.error is not None and loss.outcome is not Outcome.DROPPED:
                errors[loss.unit or ""] = max(errors.get(loss.unit or "", 0.0), loss.error)
        return ", ".join(error_text(error, unit) for unit, error in sorted(errors.items()) if error)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, as `LOSS_SCHEMA` describes."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "target": self.target,
            "source": dict(self.source),
            "written": [safe_text(name) for name in self.written],
            "summary": {outcome.value: self.count(outcome) for outcome in Outcome},
            "measured": dict(self.measured),
            "losses": [loss.as_dict(self.source_of(loss)[0]) for loss in self.losses],
        }

    def __repr__(self) -> str:
        return f"<LossReport to {self.target}: {self.summary()}>"


def error_text(error: float, unit: str | None) -> str:
    """Return an error with its unit: ``0.5 degrees``; only the number if the unit is None or ``1``."""
    number = f"{error:.2g}"
    if not unit or unit == "1":
        return number
    return f"{number} {plural(unit) if number != '1' and unit.endswith(('degree', 'unit')) else unit}"


_MOST_KINDS, _MOST_IN_EXTRAS = 4, 3
"""maximum numbers of kinds of parts that a summary names"""
_PARTS = {"nodes": "node", "meshes": "mesh", "materials": "material", "cameras": "camera", "lights": "light"}
_PARTS |= {"skins": "skin", "clips": "clip", "models": "model"}
_PATHS_IN_WORDS = {
    "/clips/current": "current time",
    "/clips/end": "end of the clip",
    "/clips/keys": "late keys",
    "/clips/name": "name of the clip",
    "/clips/rate": "frame rate",
    "/clips/segment": "active segment",
    "/environment/ambient": "ambient light",
    "/extras": "data without a place in a scene",
    "/lights/ambient": "ambient light",
}
_MINOR = ("/title", "/author", "/copyright", "/name")
"""ends of the paths of parts that a summary names last"""


def _kinds_of(losses: list[Loss], most: int) -> str:
    """Return the kinds of the given parts: ``morph of 2 nodes, camera Eye``. Names and titles are last, otherwise the
    most frequent kinds are first."""
    named: dict[str, list[str]] = {}
    minor: set[str] = set()
    for loss in losses:
        section, _, name = loss.path.strip("/").partition("/")
        kind = _PATHS_IN_WORDS.get(loss.path) or loss.kind
        if kind is None and section in _PARTS and name and "/" not in name:  # a whole part
            kind = f"/{section}"
        elif kind is None:
            kind = _words_of(loss)
        named.setdefault(kind, []).append(name)
        minor |= {kind} if loss.path.endswith(_MINOR) else set()
    kinds = sorted(named, key=lambda kind: (kind in minor, -len(named[kind])))
    texts = [safe_text(_with_count(kind, named[kind])) for kind in kinds[:most]]
    omitted = len(kinds) - len(texts)
    return ", ".join(texts) + (f" and {omitted} more" if omitted > 0 else "")


def _words_of(loss: Loss) -> str:
    """Return a path in words: ``/nodes/Box/morph`` as ``morph of nodes``."""
    steps = [step for step in loss.path.split("/") if step]
    if len(steps) > 2:
        steps = [steps[0], steps[-1]]
    return (" of ".join(reversed(steps)) or loss.detail.split(":")[0]).replace("_", " ")


def _with_count(kind: str, names: list[str]) -> str:
    if kind.startswith("/"):
        section = kind[1:]
        return f"{_PARTS[section]} {names[0]}" if len(names) == 1 else f"{len(names)} {section}"
    what, _, section = kind.rpartition(" of ")
    parts = {name.rpartition("/")[0] for name in names}
    if section in _PARTS and len(parts) > 1:
        return f"{what} of {len(parts)} {section}"
    return f"{kind} ({len(names)})" if len(names) > 1 else kind


def _source_of(extras: Mapping[str, Any] | None) -> tuple[str | None, int | None]:
    """Return path and offset in the source file, which bridges store in extras under the id of the format."""
    for values in (extras or {}).values():
        if isinstance(values, (dict, Mapping)) and ("offset" in values or "path" in values):
            path, offset = values.get("path"), values.get("offset")
            return (
                path if isinstance(path, str) else None,
                offset if isinstance(offset, int) else None,
            )
    return None, None


_OUTCOMES = [outcome.value for outcome in Outcome]

LOSS_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "What a conversion did to each part of a scene",
    "type": "object",
    "required": ["schema", "schema_version", "target", "source", "written", "summary", "measured", "losses"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": SCHEMA},
        "schema_version": {"const": SCHEMA_VERSION},
        "target": {"type": "string"},
        "source": {"type": "object"},
        "written": {"type": "array", "items": {"type": "string"}},
        "summary": {
            "type": "object",
            "required": _OUTCOMES,
            "additionalProperties": False,
            "properties": {name: {"type": "integer", "minimum": 0} for name in _OUTCOMES},
        },
        "measured": {"type": "object", "additionalProperties": {"type": "number"}},
        "losses": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["outcome", "path"],
                "additionalProperties": False,
                "properties": {
                    "outcome": {"enum": _OUTCOMES},
                    "path": {"type": "string"},
                    "detail": {"type": "string"},
                    "error": {
                        "type": "object",
                        "required": ["value", "unit"],
                        "additionalProperties": False,
                        "properties": {"value": {"type": "number", "minimum": 0}, "unit": {"type": "string"}},
                    },
                    "source": {
                        "type": "object",
                        "required": ["path", "offset"],
                        "additionalProperties": False,
                        "properties": {
                            "path": {"type": ["string", "null"]},
                            "offset": {"type": ["integer", "null"]},
                        },
                    },
                },
            },
        },
    },
}
"""JSON Schema of `LossReport.as_dict`"""
