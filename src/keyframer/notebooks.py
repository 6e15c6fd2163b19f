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
from keyframer.inspecting.drawing import escape_markup
from keyframer.inspecting.panels import panel_of, value_label
from keyframer.posing import Pose
from keyframer.rendering.encoding import encode_still
from keyframer.rendering.renderer import render
from keyframer.scene import Channel, Clip, Scene
from keyframer.wire.record import Record

_SIZE = 192
_MOST_NAMES = _ROWS = 12


def scene_html(scene: Scene) -> str:
    """Return a thumbnail, or the reason why there is none, and a summary with the names of the first nodes."""
    return _html(scene, repr(scene), None)


def pose_html(pose: Pose) -> str:
    """Return HTML like `scene_html`, with a thumbnail of the first time of a pose."""
    return _html(pose.scene, repr(pose), float(pose.frames[0]) if len(pose.frames) else None)


def _html(scene: Scene, text: str, frame: float | None) -> str:
    names = [escape_markup(node.name) for node in scene.nodes[:_MOST_NAMES]]
    remainder = f" and {len(scene.nodes) - _MOST_NAMES} more" if len(scene.nodes) > _MOST_NAMES else ""
    description = f"<code>{escape_markup(text)}</code><p>{', '.join(names)}{remainder}</p>"
    try:
        data = encode_still(render(scene, frame=frame, size=_SIZE))
    except FormatError as error:
        return f"<div>{description}<p>{escape_markup(str(error))}</p></div>"
    picture = base64.b64encode(data).decode()
    return (
        f'<div><img width="{_SIZE}" height="{_SIZE}" alt="" src="data:image/png;base64,{picture}">{description}</div>'
    )


def track_html(track: Track) -> str:
    """Return the curve as HTML, or a short text if there are no keys."""
    if not len(track.times):
        return f"<code>{escape_markup(repr(track))}</code>"
    panel = panel_of(track, track.kind, "time", value_label(track.kind, Scene()), None)
    return chart([panel], width=640).svg()


def channel_html(channel: Channel) -> str:
    return f"<div><code>{escape_markup(repr(channel))}</code><br>{track_html(channel.track)}</div>"


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
    """Return a small HTML table with escaped cells."""
    head = "".join(f"<th>{escape_markup(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape_markup(cell)}</td>' for cell in row)}</tr>" for row in rows)
    heading = f"<code>{escape_markup(title)}</code>" if title else ""
    return f"<div>{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
