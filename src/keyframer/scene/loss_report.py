"""The loss report of a conversion: which parts of a scene are exact, approximated, baked, in extras, or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import isfinite
from numbers import Integral
from typing import Any

from keyframer.issues import sentence
from keyframer.text import counted, plural, safe_text

SCHEMA = "keyframer.loss"
SCHEMA_VERSION = 2


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
class LossType:
    """One case of a type of loss: code and case never change, the words may. Templates are those of
    `issues.sentence`; the value ``target`` is "this format" unless given."""

    code: str
    outcome: Outcome
    """the usual outcome; where it is measured, an entry may have another one"""
    template: str
    """what happened"""
    summary: str | None = ""
    """a template of the noun for it in summaries; empty: made from the path; None: not in summaries, because it changes
    neither what is shown nor what is kept"""
    advice: str = ""
    """what to do if this matters: an option, another target"""
    unit: str | None = None
    """usual unit of the error"""
    case: str = ""
    """which of several reasons; empty if the type has one"""

    @property
    def key(self) -> str:
        """Code and case, as they are counted: ``LIGHTS_UNSUPPORTED:ambient``."""
        return f"{self.code}:{self.case}" if self.case else self.code

    def detail(self, args: Mapping[str, object]) -> str:
        """Return what happened, in a sentence."""
        return sentence(self.template, {"target": "this format", **args})

    def noun(self, args: Mapping[str, object]) -> str:
        """Return the noun of a summary; empty if it is made from the path."""
        return sentence(self.summary or "", {"target": "this format", **args})


@dataclass(frozen=True, slots=True)
class Loss:
    """One entry of the report: a part of the scene, and what became of it."""

    type: LossType
    path: str
    """path in the scene: ``/nodes/Box/position``"""
    outcome: Outcome
    args: Mapping[str, object] = field(default_factory=dict, hash=False)
    """the values in its sentence"""
    advice: str = ""
    error: float | None = None
    """largest difference between the scene and the result"""
    unit: str | None = None
    """unit of the error: ``degree``, ``scene unit`` …; ``1`` for plain numbers"""
    source_path: str | None = None
    """path of the record in the source file"""
    source_offset: int | None = None

    @property
    def code(self) -> str:
        return self.type.code

    @property
    def case(self) -> str:
        """Which of several reasons; empty if its type has one."""
        return self.type.case

    @property
    def detail(self) -> str:
        """What happened, in a sentence."""
        return self.type.detail(self.args)

    def as_dict(self, source_path: str | None = None) -> dict[str, Any]:
        """Return plain values for JSON; ``source_path`` replaces an unknown path in the source file."""
        values: dict[str, Any] = {"code": self.code}
        if self.case:
            values["case"] = self.case
        values |= {"outcome": self.outcome.value, "path": safe_text(self.path), "detail": safe_text(self.detail)}
        if self.args:
            values["args"] = {name: _plain(value) for name, value in self.args.items()}
        if self.advice:
            values["advice"] = safe_text(self.advice)
        if self.error is not None:
            values["error"] = {"value": self.error, "unit": self.unit or ""}
        if self.source_path is not None or self.source_offset is not None:
            values["source"] = {"path": self.source_path or source_path, "offset": self.source_offset}
        return values

    def __str__(self) -> str:
        error = "" if self.error is None else f" (error {error_text(self.error, self.unit)})"
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.outcome.value}: {self.path}: {self.detail}{advice}{error}"


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
        kind: LossType,
        path: str,
        /,
        *,
        outcome: Outcome | None = None,
        advice: str | None = None,
        error: float | None = None,
        unit: str | None = None,
        extras: Mapping[str, Any] | None = None,
        **args: object,
    ) -> None:
        """Add one entry with the values in its sentence; outcome, advice and unit are those of its type unless given.

        ``extras`` of the part may hold its path and offset in the source file.
        """
        unit = None if error is None else unit or kind.unit
        advice = kind.advice if advice is None else advice
        self.losses.append(Loss(kind, path, outcome or kind.outcome, args, advice, error, unit, *_source_of(extras)))

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

    def counts(self) -> dict[str, int]:
        """Return the number of entries of each `LossType.key`, except for exact ones."""
        return dict(sorted(Counter(loss.type.key for loss in self.losses if loss.outcome is not Outcome.EXACT).items()))

    def summary(self) -> str:
        """Return one line: what was lost, what looks or moves differently and by how much, what is stored in another
        form, and what is kept as a note that only Keyframer reads."""
        if not self.losses:
            return "no losses"
        lost, *others = ((words, self._nouns(outcome)) for outcome, words in OUTCOME_WORDS.items())
        missing = round(self.measured.get("missing_images", 0))
        parts = [": ".join(lost)] if lost[1] else []
        parts += [f"{counted(missing, 'image')} missing"] if missing else []
        parts = parts or ["nothing lost"]
        parts += [": ".join(other) for other in others if other[1]]
        error = self.measured.get("world_error")
        if error is not None:
            allowed = self.measured.get("world_error_allowed", 0.0)
            parts.append(f"largest error {error_text(error, 'scene unit')} (allowed {allowed:.2g})")
        return "; ".join(parts)

    def _nouns(self, outcome: Outcome) -> str:
        """Return what has an outcome, in the words of a summary: ``morph of 2 nodes, camera Eye``; the most frequent
        first."""
        groups: dict[tuple[str, str], list[Loss]] = {}
        for loss in self.losses:
            if loss.outcome is outcome and loss.type.summary is not None:
                groups.setdefault(_group_of(loss), []).append(loss)
        order = sorted(groups, key=lambda group: -len(groups[group]))
        texts = [_noun(*group, groups[group]) for group in order[:_MOST_NOUNS]]
        omitted = len(order) - len(texts)
        return ", ".join(texts) + (f" and {omitted} more" if omitted > 0 else "")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, as ``schemas/loss.json`` describes."""
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "target": self.target,
            "source": dict(self.source),
            "written": [safe_text(name) for name in self.written],
            "summary": {outcome.value: self.count(outcome) for outcome in Outcome},
            "counts": self.counts(),
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
    return f"{number} {plural(unit) if number != '1' and unit.endswith(('degree', 'unit', 'second')) else unit}"


OUTCOME_WORDS = {
    Outcome.DROPPED: "lost",
    Outcome.APPROXIMATED: "differs",
    Outcome.BAKED: "looks the same, stored differently",
    Outcome.EXTRAS: "kept as notes",
}
"""what people read for an outcome, in the order of a summary"""
_MOST_NOUNS = 3
"""maximum number of nouns for each outcome in a summary"""
FIELD_WORDS = {
    "ambient": "ambient colour", "clip": "clip planes", "color": "colour", "diffuse": "diffuse colour",
    "fov": "field of view", "rotation_xyzw": "rotation", "scale_axes_xyzw": "scale axes", "shift": "lens shift",
    "smoothing": "smoothing groups", "specular": "specular colour", "texture1": "image",
    "uv2": "second texture coordinates",
}  # fmt: skip
"""fields of a scene in plain words; the names of the others are plain"""
_PARTS = {"nodes": "node", "meshes": "mesh", "materials": "material", "cameras": "camera", "lights": "light"}
_PARTS |= {"skins": "skin", "clips": "clip", "models": "model"}


def _group_of(loss: Loss) -> tuple[str, str]:
    """Return the noun of a loss, and the section of the scene that it is in (empty if the noun says enough)."""
    section, _, rest = loss.path.strip("/").partition("/")
    template = loss.type.summary or ""
    section = section if section in _PARTS and rest and "{parts}" not in template else ""
    noun = loss.type.noun(loss.args)
    if not noun and (section == "" or "/" in rest):
        name = loss.path.rpartition("/")[2]
        noun = FIELD_WORDS.get(name, name.replace("_", " ")) or loss.detail
    return safe_text(noun), section


def _noun(noun: str, section: str, losses: list[Loss]) -> str:
    """Return a noun with the parts that have it, and the largest error: ``rotation of 3 nodes (up to 0.1 degrees)``."""
    errors: dict[str | None, float] = {}
    for loss in losses:
        if loss.error and loss.outcome is Outcome.APPROXIMATED:
            errors[loss.unit] = max(errors.get(loss.unit, 0.0), loss.error)
    largest = ", ".join(error_text(error, unit) for unit, error in errors.items())
    parts: Counter[str] = Counter()  # names; several parts may have the same one, and then the same path
    for path, count in Counter(loss.path for loss in losses if section).items():
        name = path.split("/")[2]
        parts[name] = max(parts[name], count)
    total = parts.total()
    words = [noun] if noun else []
    if not section and len(losses) > 1:
        words = [f"{noun} ({len(losses)})"]
    if total > 1:
        words.append(f"{total} {section}")
    elif total and not (noun and section == "clips"):
        name = safe_text(next(iter(parts)))
        words.append(name if noun and name and not name.isdecimal() else f"{_PARTS[section]} {name}".strip())
    return " of ".join(words) + (f" (up to {largest})" if largest else "")


def _plain(value: object) -> str | int | float:
    """Return a value of a sentence for JSON."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, float) and isfinite(value) else safe_text(str(value))


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
