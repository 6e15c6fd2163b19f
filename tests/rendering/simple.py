"""Small scenes with predictable pictures."""

from __future__ import annotations

import numpy as np

from keyframer.curves import Track
from keyframer.posing import pose
from keyframer.rendering.drawable_scene import DrawableScene
from keyframer.rendering.frame import Exposure, render
from keyframer.rendering.viewpoint import View
from keyframer.scene import Channel, Clip, Material, Mesh, Node, Scene
from keyframer.textures import TextureSource

FRONT = View(np.array([0.0, -10.0, 0.0]), np.eye(3)[0], np.eye(3)[2], np.eye(3)[1], 0.2, 0.2, 0.1)
"""from the front, ten units away: 4 x 4 units fill the picture"""


def square(size: float = 1.0, y: float = 0.0) -> Mesh:
    """A square perpendicular to the view direction of `FRONT`."""
    points = np.array([[-size, y, -size], [size, y, -size], [size, y, size], [-size, y, size]])
    return Mesh("square", points, np.array([[0, 1, 2], [0, 2, 3]]))


def turned_square(y: float = 0.0) -> Mesh:
    """A square that shows its back to `FRONT`: its corners run clockwise."""
    mesh = square(y=y)
    mesh.corners = mesh.corners[:, ::-1]
    return mesh


def scene_of(*meshes: Mesh, materials: list[Material] | None = None) -> Scene:
    """Each mesh on a separate node, with the material of the same index."""
    for number, mesh in enumerate(meshes):
        if materials:
            mesh.face_materials = np.full(len(mesh.corners), number)
    nodes = [Node(f"node {number}", mesh=number) for number in range(len(meshes))]
    return Scene(nodes=nodes, meshes=list(meshes), materials=materials or [], source_format="3ds")


def rendered(
    scene: Scene,
    view: View = FRONT,
    size: int = 32,
    source: TextureSource | None = None,
    finer: int = 1,
    two_sided: bool = False,
) -> np.ndarray:
    """The picture in studio light."""
    stage = DrawableScene(scene, source, two_sided=two_sided)
    return render(stage, pose(scene, frames=[0.0]), 0, view, size, size, Exposure("studio"), finer)


def moving_scene() -> Scene:
    """A square that moves to the right and back within 20 frames."""
    scene = scene_of(square(), materials=[Material("red", diffuse=(1.0, 0.0, 0.0))])
    track = Track("position", np.array([0.0, 10.0, 20.0]), np.array([[0.0, 0, 0], [4, 0, 0], [0, 0, 0]]))
    scene.clips.append(Clip("move", [Channel(0, track)], 0.0, 20.0, 20.0))
    return scene
