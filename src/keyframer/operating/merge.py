"""A clip from one file on the skeleton or model of another."""

from __future__ import annotations

from dataclasses import replace

from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Channel, Scene


def merge(clip: Scene, model: Scene, *, by: str = "name") -> Scene:
    """The model, moved by the clips of another scene.

    Nodes are the same where their names are (``by="name"``; letters large and small are the same) or their numbers
    (``by="order"``, for files whose names are lost; the model must have at least as many nodes). The clip's axes are
    turned to the model's. Nodes that the clip does not move stay as the model has them; of tracks without a node in the
    model nothing stays. ValueError where nothing is left.
    """
    if by not in ("name", "order"):
        raise ValueError(f"by must be name or order, not {by!r}")
    turned = in_space(clip, replace(model.space, v_up=clip.space.v_up))
    if by == "name":
        known = {node.name.lower(): number for number, node in reversed(list(enumerate(model.nodes)))}
        place = {i: known[node.name.lower()] for i, node in enumerate(clip.nodes) if node.name.lower() in known}
    else:
        place = {number: number for number in range(min(len(clip.nodes), len(model.nodes)))}
    clips = [
        replace(clip, channels=[Channel(place[one.node], one.track) for one in clip.channels if one.node in place])
        for clip in turned.clips
    ]
    if not any(clip.channels for clip in clips):
        raise ValueError("no node of the clip matches a node of the model")
    return replace(model, clips=clips, origin=None)
