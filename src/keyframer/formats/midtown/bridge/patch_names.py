"""New names of bones as the text of a skeleton can have them: one word each, and no two alike."""

from __future__ import annotations

from dataclasses import replace

from keyframer.formats.kit.scene_writing import NamesThatFit, encode_name, plain_path
from keyframer.formats.midtown.bridge.writing import one_word
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome


def in_its_order(scene: Scene, stored: Scene, report: LossReport) -> Scene:
    """The scene with names that fit where they are others than in the file; ``stored`` has the same nodes."""
    pairs = list(zip(scene.nodes, stored.nodes, strict=True))
    names = NamesThatFit(reserved=[encode_name(was.name) for node, was in pairs if node.name == was.name])
    nodes = []
    for node, was in pairs:
        if node.name == was.name:
            nodes.append(node)
            continue
        shown = names.shown(names.claim(one_word(node.name), fallback="bone"))
        if shown not in (node.name, was.name):
            report.add(Outcome.BAKED, plain_path("nodes", node.name), f"is called {shown!r} in the skeleton")
        nodes.append(replace(node, name=shown))
    return replace(scene, nodes=nodes)
