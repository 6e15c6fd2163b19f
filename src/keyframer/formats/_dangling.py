"""Links of a scene made by hand that lead nowhere, or back to where they began: they count as none."""

from __future__ import annotations

from dataclasses import replace

from keyframer.formats._writing import plain_path
from keyframer.posing.order import placing_order
from keyframer.scene import Clip, Node, Scene


def without_dangling(scene: Scene) -> tuple[Scene, list[tuple[str, str]]]:
    """The scene without parents, targets and channels of nodes that it does not have, and without circles of parents:
    itself where there are none; and the path of what is lost by that, with the reason."""
    count = len(scene.nodes)
    cut = set(placing_order(scene.nodes).cut)
    nodes = [_with_known(node, count, number in cut) for number, node in enumerate(scene.nodes)]
    ghosts = [each for clip in scene.clips for each in clip.channels if not 0 <= each.node < count]
    lost = [(f"/clips/channels/{each.node}/{each.track.kind}", "there is no such node") for each in ghosts]
    clips = [_of_known(clip, count) for clip in scene.clips] if ghosts else scene.clips
    lost += [
        (f"{plain_path('nodes', scene.nodes[each].name)}/parent", "is among its own parents") for each in sorted(cut)
    ]
    if not lost and all(one is other for one, other in zip(nodes, scene.nodes, strict=True)):
        return scene, lost
    return replace(scene, nodes=nodes, clips=clips), lost


def _with_known(node: Node, count: int, circular: bool) -> Node:
    has_parent = _is_known(node.parent, count) and not circular
    if has_parent and _is_known(node.target, count):
        return node
    target = node.target if _is_known(node.target, count) else None
    return replace(node, parent=node.parent if has_parent else None, target=target)


def _is_known(number: int | None, count: int) -> bool:
    return number is None or 0 <= number < count


def _of_known(clip: Clip, count: int) -> Clip:
    return replace(clip, channels=[each for each in clip.channels if 0 <= each.node < count])
