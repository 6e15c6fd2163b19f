"""A picture of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyframer.batch.job import Result
from keyframer.batch.operations._subject import Subject, note_also, note_issues
from keyframer.rendering import Settings, Studio, encode_still
from keyframer.textures import TextureFinder, TextureSource


def suffix(options: Mapping[str, Any]) -> str:
    settings_of(options)
    return ".png"


def settings_of(options: Mapping[str, Any]) -> Settings:
    """ValueError for a size that no picture has."""
    width, height = options.get("size") or (256, 256)
    return Settings(int(width), int(height))


def carry_out(subject: Subject, result: Result) -> None:
    options = subject.options
    scene = subject.scene(result)
    note_issues(result, scene.issues)
    source = None
    if not options.get("no_textures"):
        folders = [*([subject.folder] if subject.folder is not None else []), *(options.get("texture_path") or ())]
        source = TextureSource(TextureFinder(folders))
    studio = Studio(scene, settings_of(options), textures=source)
    frame = options.get("frame")
    frame = studio.default_frame if frame is None else float(frame)
    studio.frames = [frame]
    subject.write(result, subject.job.output, encode_still(studio.picture(frame)))
    opened = source.opened if source is not None else []
    note_also(result, (each.match.path for each in opened if each.match.path is not None))
    result["details"] = {"frame": frame, "images": {str(each.match): each.texture is not None for each in opened}}
