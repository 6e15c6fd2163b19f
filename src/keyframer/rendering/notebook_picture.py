"""HTML for notebooks: pictures of scenes and poses, with a summary. The root package registers it."""

from __future__ import annotations

import base64
import html

from keyframer.errors import FormatError
from keyframer.posing import Pose
from keyframer.rendering.encoding import encode_still
from keyframer.rendering.renderer import render
from keyframer.scene import Scene
from keyframer.text import safe_text

_SIZE = 192
_MOST_NAMES = 12


def scene_html(scene: Scene) -> str:
    """Return a thumbnail, or the reason why there is none, and a summary with the names of the first nodes."""
    return _html(scene, repr(scene), None)


def pose_html(pose: Pose) -> str:
    """Return HTML like `scene_html`, with a thumbnail of the first time of a pose."""
    return _html(pose.scene, repr(pose), float(pose.frames[0]) if len(pose.frames) else None)


def _html(scene: Scene, text: str, frame: float | None) -> str:
    names = [_escape_markup(node.name) for node in scene.nodes[:_MOST_NAMES]]
    remainder = f" and {len(scene.nodes) - _MOST_NAMES} more" if len(scene.nodes) > _MOST_NAMES else ""
    description = f"<code>{_escape_markup(text)}</code><p>{', '.join(names)}{remainder}</p>"
    try:
        data = encode_still(render(scene, frame=frame, size=_SIZE))
    except FormatError as error:
        return f"<div>{description}<p>{_escape_markup(str(error))}</p></div>"
    picture = base64.b64encode(data).decode()
    return (
        f'<div><img width="{_SIZE}" height="{_SIZE}" alt="" src="data:image/png;base64,{picture}">{description}</div>'
    )


def _escape_markup(text: str) -> str:
    return html.escape(safe_text(text)[:300])
