"""The batch operation ``thumbnail``: renders a picture of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput, note_issues
from keyframer.inspecting.clip_choice import keep_clip
from keyframer.rendering import Renderer, Settings
from keyframer.rendering.renderer import Presentation
from keyframer.textures import TextureSource


def suffix(options: Mapping[str, Any]) -> str:
    settings_of(options)  # raises ValueError before the first job starts
    return f".{presentation_of(options).kind}"


def settings_of(options: Mapping[str, Any]) -> Settings:
    """Return the settings; raises ValueError if they are invalid."""
    values = dict(options.get("settings") or {})
    if isinstance(values.get("background"), list):
        values["background"] = tuple(values["background"])
    return Settings(**values)


def presentation_of(options: Mapping[str, Any]) -> Presentation:
    values = dict(options.get("presentation") or {})
    for name in ("sheet", "frames"):
        if name in values:
            values[name] = tuple(values[name])
    return Presentation(**values)


def execute(job_input: JobInput, result: Result) -> None:
    scene = job_input.scene(result)
    note_issues(result, scene.issues)
    if job_input.options.get("clip") is not None:
        keep_clip(scene, job_input.options["clip"])
    finder = job_input.finder()
    source = None if finder is None else TextureSource(finder)
    renderer = Renderer(scene, settings_of(job_input.options), textures=source)
    try:
        data = presentation_of(job_input.options).data(renderer)
    except LookupError as error:  # not every file has a camera of this name
        raise ValueError(str(error.args[0] if error.args else error)) from None
    job_input.write(job_input.job.output, data)
    job_input.note_images(result, finder)
    opened = [] if source is None else source.opened
    images = {str(opening.match): opening.texture is not None for opening in opened}
    result["details"] = {"frames": len(renderer.frames or ()), "images": images, "complete": renderer.complete}
