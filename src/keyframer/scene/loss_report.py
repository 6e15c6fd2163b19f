"""What became of a scene on its way into another format: exact, approximated, baked, in extras, or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from keyframer.text import safe_text

SCHEMA = "keyframer.loss"
SCHEMA_VERSION = 1


class NothingToWrite(ValueError):
    """The target could hold nothing of the scene; the message says why."""


class Outcome(Enum):
    """From nothing lost to everything."""

    EXACT = "exact"
    """the same meaning, to the precision of the target's numbers"""
    APPROXIMATED = "approximated"
    """within a measured error"""
    BAKED = "baked"
    """the same picture by other means: what made it is gone from what viewers see"""
    EXTRAS = "extras"
    """kept where only a reader that knows us looks"""
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Loss:
    """One item: where it is in the scene, what became of it, why."""

    outcome: Outcome
    path: str
    """of the scene: ``/nodes/Box/position``"""
    detail: str = ""
    error: float | None = None
    """the largest difference found by sampling what was written"""
    unit: str | None = None
    """of the error: ``degree``, ``scene unit`` …"""
    source_path: str | None = None
    """where the file had it"""
    source_offset: int | None = None

    def as_dict(self, source_path: str | None = None) -> dict[str, Any]:
        """For JSON; ``source_path`` where it had to be looked up."""
        plain: dict[str, Any] = {"outcome": self.outcome.value, "path": safe_text(self.path)}
        if self.detail:
            plain["detail"] = safe_text(self.detail)
        if self.error is not None:
            plain["error"] = {"value": self.error, "unit": self.unit or ""}
        if self.source_path is not None or self.source_offset is not None:
            plain["source"] = {"path": self.source_path or source_path, "offset": self.source_offset}
        return plain

    def __str__(self) -> str:
        error = "" if self.error is None else f" (error {self.error:.2g} {self.unit})"
        return f"{self.outcome.value}: {self.path}{': ' if self.detail else ''}{self.detail}{error}"


@dataclass(eq=False, repr=False)
class LossReport:
    """The fate of everything that one conversion touched."""

    target: str
    """the format written: ``gltf`` …"""
    losses: list[Loss] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)
    """what sampling the result found, and what was allowed: ``world_error``, ``world_error_allowed``, ``size`` …"""
    source: Mapping[str, Any] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    """the files, main file first"""
    find_path: Callable[[int], str | None] | None = field(default=None, repr=False)
    """the path of what stands at an offset of the source file, where that file is at hand"""

    def add(
        self,
        outcome: Outcome,
        path: str,
        detail: str = "",
        *,
        error: float | None = None,
        unit: str | None = None,
        extras: Mapping[str, Any] | None = None,
    ) -> None:
        """Note one item; ``extras`` are those of the scene's part, which may say where the file had it."""
        where, offset = _source_of(extras)
        self.losses.append(Loss(outcome, path, detail, error, unit, where, offset))

    def add_cut_short(self, path: str, detail: str) -> None:
        """Note motion that a limit ended early, or left rougher than was asked for: the summary says so, too."""
        self.add(Outcome.DROPPED, path, f"cut short: {detail}")
        self.measured["cut_short"] = self.measured.get("cut_short", 0.0) + 1

    def forget(self, path: str) -> None:
        """Take back what was noted of a part of the scene, because it was left out after all."""
        self.losses = [loss for loss in self.losses if loss.path != path]

    def source_of(self, loss: Loss) -> tuple[str | None, int | None]:
        """Where the file had it: path and offset, as far as they are known."""
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
        """One line: what was lost, how near the rest is, then how many of each."""
        if not self.losses:
            return "nothing to say"
        dropped = self.of(Outcome.DROPPED)
        rest = "everything else" if dropped else "everything"
        said = [f"dropped: {_named(dropped)}"] if dropped else []
        cut = round(self.measured.get("cut_short", 0))
        if cut:
            said.append(f"{cut} motion{'s' if cut > 1 else ''} cut short by a limit")
        said.append(f"{rest} {self._nearness()}")
        counts = Counter(loss.outcome for loss in self.losses)
        words = ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome])
        return f"{'; '.join(said)} ({words})"

    def _nearness(self) -> str:
        """How near everything is that was not dropped."""
        kinds = {loss.outcome for loss in self.losses}
        reached = self.measured.get("world_error")
        if reached is not None:
            allowed = self.measured.get("world_error_allowed", 0.0)
            near = f"within {reached:.2g} (allowed {allowed:.2g}) scene units"
        else:
            errors: dict[str, float] = {}
            for loss in self.losses:
                if loss.error is not None and loss.outcome is not Outcome.DROPPED:
                    errors[loss.unit or ""] = max(errors.get(loss.unit or "", 0.0), loss.error)
            units = [f"{error:.2g} {unit}".rstrip() for unit, error in sorted(errors.items()) if error]
            near = f"within {', '.join(units)}" if units else "approximated" if Outcome.APPROXIMATED in kinds else ""
        words = ["exact"] if Outcome.EXACT in kinds or not near else []
        words += [near] if near else []
        words += ["baked"] if Outcome.BAKED in kinds else []
        words += ["in extras"] if Outcome.EXTRAS in kinds else []
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, as `LOSS_SCHEMA` describes."""
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


_MOST_NAMED = 4


def _named(dropped: list[Loss]) -> str:
    """What was dropped, most frequent kinds first: ``morphs of 2 nodes, textures``."""
    kinds: Counter[str] = Counter()
    for loss in dropped:
        steps = [step for step in loss.path.split("/") if step]
        if len(steps) > 2:  # /nodes/Box/morph: one part of many
            kinds[f"{steps[-1]} of {steps[0]}"] += 1
        else:
            kinds[" of ".join(reversed(steps)) or loss.detail.split(":")[0]] += 1
    words = [safe_text(f"{kind} ({count})" if count > 1 else kind) for kind, count in kinds.most_common(_MOST_NAMED)]
    more = len(kinds) - len(words)
    return ", ".join(words).replace("_", " ") + (f" and {more} more" if more > 0 else "")


def _source_of(extras: Mapping[str, Any] | None) -> tuple[str | None, int | None]:
    """The place in the file: bridges note it as ``path`` and ``offset`` under the format's id."""
    for part in (extras or {}).values():
        if isinstance(part, (dict, Mapping)) and ("offset" in part or "path" in part):
            where, offset = part.get("path"), part.get("offset")
            return (
                where if isinstance(where, str) else None,
                offset if isinstance(offset, int) else None,
            )
    return None, None


_OUTCOMES = [outcome.value for outcome in Outcome]

LOSS_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "What became of a scene on its way into another format",
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
