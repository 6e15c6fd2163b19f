"""The records of cameras (``.md5camera``) and their text, as for animations and models (`document`).

A cut is the number of the last frame of a shot: that frame and the next one are at the same time. Doom 3 BFG VR added
places for headsets to cuts, which are kept as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Singles
from keyframer.catalogue import LINK_COUNT_MISMATCH
from keyframer.formats.document import Document
from keyframer.formats.md5 import VERSION
from keyframer.formats.md5.text import Md5Text, Span, quoted, written
from keyframer.wire.cursor import frozen
from keyframer.wire.field_types import array_to_end, i32, strz, u32
from keyframer.wire.record import NO_CHILDREN, Record, record

NUMBERS = 7
"""of a frame: position, orientation, field of view"""


@record
class CameraPath(Record):
    """The settings of a camera, with its cuts and frames as children. Counts are those of the children when the text is
    written anew."""

    segment = "camera"

    version: int = u32("MD5Version", default=VERSION)
    command_line: bytes = strz("commandline: how the exporter was called")
    frame_count: int = u32("numFrames")
    frame_rate: int = u32("frameRate, frames per second", default=24)
    cut_count: int = u32("numCuts")
    text: str | None = None
    """the text of the file: what does not change is written as it is here; None for a new file"""


@record
class Cut(Record):
    """A cut."""

    repeats = True

    frame: int = i32("the last frame of a shot; the next one is at the same time")
    headset: bytes = strz("pos ( x y z ), rot ( x y z ) or rotA ( angles ): where a headset stands during the shot")


@record
class CameraFrames(Record):
    """All frames, one row each."""

    segment = "frames"

    rows: Singles = array_to_end(
        ("<f4", (NUMBERS,)), "position x y z, orientation x y z with w <= 0, horizontal field of view in degrees"
    )


Singled = Callable[[npt.ArrayLike], Array]


def add_path(top: CameraPath, text: Md5Text, document: Document, singles: Singled) -> None:
    """Add the cuts and the frames of a text to a camera with its settings, and report counts that are wrong."""
    for start, _, (frame, headset) in text.cuts:
        cut = Cut(frame, headset)
        cut.offset, cut.children = start, NO_CHILDREN
        top.children.append(cut)
    frames = CameraFrames(_rows(text, singles))
    frames.offset = max([text.cuts[-1].end if text.cuts else 0, text.camera[0].start if text.camera else 0])
    frames.children = NO_CHILDREN
    top.children.append(frames)
    for field, what, found in (("frame_count", "frames", text.camera), ("cut_count", "cuts", text.cuts)):
        if getattr(top, field) != len(found):
            at = text.settings[field].start if field in text.settings else 0
            claimed = getattr(top, field)
            document.issues.add(
                LINK_COUNT_MISMATCH, f"/camera/{field}", at, claimed=claimed, what=what, found=len(found)
            )


def _rows(text: Md5Text, singles: Singled) -> Array:
    return frozen(singles([row.value for row in text.camera]).reshape(-1, NUMBERS))


def parts_of(top: CameraPath) -> tuple[list[Cut], Array]:
    """Return the cuts and the frames (n, 7)."""
    cuts = [child for child in top.children if isinstance(child, Cut)]
    frames = [child for child in top.children if isinstance(child, CameraFrames)]
    if len(frames) > 1 or len(frames) + len(cuts) != len(top.children):
        raise ValueError("a camera has cuts and one record of frames")
    return cuts, np.asarray(frames[0].rows) if frames else np.zeros((0, NUMBERS), "<f4")


def changed_path(top: CameraPath, text: Md5Text, singles: Singled) -> list[Span] | None:
    """Return the cuts and frames that changed; None if there are more or fewer of them."""
    cuts, rows = parts_of(top)
    before = _rows(text, singles)
    if len(cuts) != len(text.cuts) or rows.shape != before.shape:
        return None
    spans = []
    for cut, (start, end, value) in zip(cuts, text.cuts, strict=True):
        if (cut.frame, cut.headset) != value:
            spans.append((start, end, _cut_text(cut)))
    for number in np.flatnonzero(~((rows == before) | (np.isnan(rows) & np.isnan(before))).all(axis=1)).tolist():
        start, end, _ = text.camera[number]
        spans.append((start, end, _frame_text(rows[number])))
    return spans


def new_path_lines(top: CameraPath) -> Iterator[str]:
    cuts, rows = parts_of(top)
    yield f"MD5Version {top.version}"
    yield f"commandline {quoted(top.command_line)}"
    yield f"\nnumFrames {len(rows)}\nframeRate {top.frame_rate}\nnumCuts {len(cuts)}\n\ncuts {{"
    yield from (f"\t{_cut_text(cut)}" for cut in cuts)
    yield "}\n\ncamera {"
    yield from (f"\t{_frame_text(row)}" for row in rows)
    yield "}"


def _cut_text(cut: Cut) -> str:
    return f"{cut.frame} {cut.headset.decode('latin-1')}".rstrip()


def _frame_text(row: Any) -> str:
    return f"( {written(row[:3])} ) ( {written(row[3:6])} ) {written(row[6:])}"
