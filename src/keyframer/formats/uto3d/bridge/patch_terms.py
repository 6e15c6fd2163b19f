"""A changed scene as a U3D file would say it: whole frames and ticks, keys for what records cannot say at rest."""

from __future__ import annotations

from dataclasses import fields, replace

from keyframer.formats._unheld import NO_SURROUNDINGS, NO_TEXT, without_cone
from keyframer.formats.kit.frame_times import counted
from keyframer.formats.kit.key_tracks import still_key
from keyframer.formats.kit.scene_writing import frames_per_second
from keyframer.formats.kit.skin_writing import with_moved_vertices
from keyframer.scene import Channel, Material, Scene
from keyframer.scene.report import LossReport, Outcome

NO_PLACE = (
    *NO_TEXT,
    *NO_SURROUNDINGS,
    ("meshes", "*", "smoothing"),
    ("meshes", "*", "receives_shadows"),
    ("cameras", "*", "shows_cone"),
    *(("lights", "*", name) for name in ("on", "roll_degrees", "rectangular", "aspect", "casts_shadows")),
    *(("materials", "*", item.name) for item in fields(Material) if item.name != "name"),
)

has_no_place = without_cone


def in_its_terms(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """The scene with a rate, an active segment and ticks that are whole numbers of frames."""
    if not scene.clips or not before.clips:
        return scene
    given, like = scene.clips[0], before.clips[0]
    step = max(round(like.units_per_frame), 1)
    fps = frames_per_second(given)
    if (given.rate, given.units_per_frame) == (like.rate, like.units_per_frame):
        clip = given
    else:
        whole = max(round(fps), 1)
        if like.rate % whole == 0:  # as many ticks a second: no time changes
            step = round(like.rate / whole)
        clip = counted(given, like.unit, whole * float(step), float(step))
        if round(fps) != fps:
            words = f"{max(round(fps), 1)} frames a second; the clip has {fps:g}"
            report.add(Outcome.APPROXIMATED, "/clips/rate", words)
    first, last = (step * float(round(time / step)) for time in (clip.start, clip.end))
    changed = clip is not given or (clip.start, clip.end) != (like.start, like.end)
    if changed and (first, last) != (clip.start, clip.end):
        words = f"the active segment became {first / step:g} to {last / step:g}"
        report.add(Outcome.APPROXIMATED, "/clips/segment", words)
        clip = replace(clip, start=first, end=last)
    return _with_rolls(scene if clip is given else replace(scene, clips=[clip, *scene.clips[1:]]))


def _with_rolls(scene: Scene) -> Scene:
    """The scene with a key for each camera that is rolled at rest: its record cannot say so."""
    clip = scene.clips[0]
    there = {each.node for each in clip.channels if each.track.kind == "roll"}
    rolled = {
        node.camera: number
        for number, node in enumerate(scene.nodes)
        if node.camera is not None and scene.cameras[node.camera].roll_degrees
    }
    if not rolled:
        return scene
    keys = [
        Channel(number, still_key("roll", scene.cameras[camera].roll_degrees))
        for camera, number in rolled.items()
        if number not in there
    ]
    cameras = [replace(each, roll_degrees=0.0) for each in scene.cameras]
    return replace(scene, cameras=cameras, clips=[replace(clip, channels=[*clip.channels, *keys]), *scene.clips[1:]])


def in_its_order(scene: Scene, stored: Scene, report: LossReport) -> Scene:
    """The scene with skins that follow their vertices."""
    return with_moved_vertices(scene, stored)
