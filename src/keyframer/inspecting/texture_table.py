"""The table of the images of a scene: found, guessed, embedded, refused or missing."""

from __future__ import annotations

from keyframer.formats.kit.summary_tables import Table
from keyframer.inspecting import TABLES
from keyframer.scene import Scene
from keyframer.textures import TextureFinder, TextureUse, scene_textures

COLUMNS = ("name", "status", "found", "rule", "image", "used by", "note")
_SHOWN = 4
"""most users of one image that are named"""


def texture_table(scene: Scene, finder: TextureFinder | None) -> Table:
    """Return a table with one row per name; ``status`` is one of `keyframer.textures.texture_usage.STATUSES`."""
    table = Table("textures", TABLES["textures"], COLUMNS)
    for use in scene_textures(scene, finder):
        table.add(use.name, use.status, _where(use, finder), use.rule, use.image, _users(use), use.note)
    return table


def _where(use: TextureUse, finder: TextureFinder | None) -> str | None:
    """Return the path of an image below the searched folder; the full path if several folders were searched."""
    if use.embedded is not None:
        return use.embedded.name
    if use.match is None or use.match.path is None or finder is None:
        return None
    if len(finder.folders) > 1:
        return str(use.match.path)
    return str(use.match.path.relative_to(finder.folders[0]))


def _users(use: TextureUse) -> str:
    more = len(use.users) - _SHOWN
    return ", ".join(use.users[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
