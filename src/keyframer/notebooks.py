"""HTML for notebooks: pictures of scenes and poses, curves of tracks and channels, tables of clips and documents.

The root package registers these functions.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence

from keyframer.curves import Track
from keyframer.errors import FormatError
from keyframer.formats.document import Document
from keyframer.inspecting.charts import chart
from keyframer.inspecting.panels import panel_of, value_label
from keyframer.markup import Markup, escape, row, tag
from keyframer.posing import Pose
from keyframer.rendering.encoding import encode_still
from keyframer.rendering.renderer import render
from keyframer.scene import Channel, Clip, Scene
from keyframer.text import shortened
from keyframer.wire.record import Record

_SIZE = 192
_MOST_NAMES = _ROWS = 12
_LONGEST = 300
"""maximum number of characters of one text"""


def scene_html(scene: Scene) -> str:
    """Return a thumbnail, or the reason why there is none, and a summary with the names of the first nodes."""
    return _html(scene, repr(scene), None)


def pose_html(pose: Pose) -> str:
    """Return HTML like `scene_html`, with a thumbnail of the first time of a pose."""
    return _html(pose.scene, repr(pose), float(pose.frames[0]) if len(pose.frames) else None)


def _html(scene: Scene, text: str, frame: float | None) -> Markup:
    names = ", ".join(shortened(node.name, _LONGEST) for node in scene.nodes[:_MOST_NAMES])
    remainder = f" and {len(scene.nodes) - _MOST_NAMES} more" if len(scene.nodes) > _MOST_NAMES else ""
    description = (_code(text), tag("p", names, remainder))
    try:
        data = encode_still(render(scene, frame=frame, size=_SIZE))
    except FormatError as error:
        return tag("div", *description, tag("p", escape(error, _LONGEST)))
    source = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    return tag("div", tag("img", width=_SIZE, height=_SIZE, alt="", src=source), *description)


def _code(text: str) -> Markup:
    return tag("code", escape(text, _LONGEST))


def track_html(track: Track) -> str:
    """Return the curve as HTML, or a short text if there are no keys."""
    if not len(track.times):
        return _code(repr(track))
    panel = panel_of(track, track.kind, "time", value_label(track.kind, Scene()), None)
    return chart([panel], width=640).svg()


def channel_html(channel: Channel) -> str:
    return tag("div", _code(repr(channel)), tag("br"), Markup(track_html(channel.track)))


def clip_html(clip: Clip) -> str:
    """Return a table of the kinds of tracks and the number of channels of each."""
    kinds = Counter(channel.track.kind for channel in clip.channels)
    rows = [(kind, str(count)) for kind, count in kinds.most_common(_ROWS)]
    return table_html(repr(clip), ("track", "channels"), rows)


def document_html(document: Document) -> str:
    """Return tables of the most frequent record types and of the first issues."""
    kinds = Counter(type(record).__name__ for record in document.find(Record))
    rows = [(name, str(count)) for name, count in kinds.most_common(_ROWS)]
    if len(kinds) > _ROWS:
        rows.append(("…", str(sum(kinds.values()) - sum(count for _, count in kinds.most_common(_ROWS)))))
    issues = [(issue.severity.label, f"{issue.code} in {issue.path}") for issue in document.issues][:_ROWS]
    text = table_html(repr(document), ("record", "count"), rows)
    return text + (table_html("", ("severity", "issue"), issues) if issues else "")


def table_html(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a small HTML table."""
    head = tag("thead", tag("tr", *(tag("th", column) for column in columns)))
    body = tag("tbody", *(row(escape(cell, _LONGEST) for cell in cells) for cells in rows))
    return tag("div", _code(title) if title else "", tag("table", head, body))
