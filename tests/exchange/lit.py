"""A grey sphere in the middle of a scene, lit by the lights of the scene as in our thumbnails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import keyframer
from keyframer.rendering.renderer import Renderer, Settings
from keyframer.scene import Light, LightType, Material, Mesh, Node, NodeKind, Scene
from tests.building.gltf_scenes import cube

SHARE = 0.1
"""the radius, of the scene's size"""
_RINGS = 24

CORPUS_FILES = (
    "jumalauta__sun.3ds",
    "assimp__assimp__pyramob.3DS",
    "netpipe__IrrlichtDemos__woman_head.3ds",
    "blitz-research__blitz3d__house.3ds",
    "netpipe__IrrlichtDemos__pilot_head.3ds",
    "jumalauta__red2.3ds",
    "epitron__3dspin__tie.3ds",
)
"""with one to six lights, omni and spot, near and far"""


@dataclass
class Ball:
    """Where the sphere and its camera are, in the axes of the exported file."""

    path: Path
    centre: list[float]
    radius: float
    eye: list[float]
    thumbnails: dict[str, float]
    """how bright our thumbnail shows it, 0 to 1: with the lights of the ``file`` alone, and as it is by default"""

    def request(self, mode: str) -> dict[str, Any]:
        return {
            "file": str(self.path),
            "mode": mode,
            "centre": self.centre,
            "radius": self.radius,
            "eye": self.eye,
        }


def lamps() -> Scene:
    """Return a small object in the light of three distant lamps, as in a scene in inches."""
    nodes = [
        Node("thing", mesh=0, scale=np.full(3, 100.0)),
        Node("Sun", NodeKind.LIGHT, light=0, position=np.array([150.0, -300.0, 80.0])),
        Node("Spot", NodeKind.LIGHT, light=1, target=3, position=np.array([-5000.0, -4000.0, 1000.0])),
        Node("Goal", NodeKind.TARGET),
        Node("Day", NodeKind.LIGHT, light=2, target=3, position=np.array([0.0, -10.0, 500.0])),
    ]
    lights = [
        Light("Sun", LightType.OMNI, multiplier=1.0),
        Light("Spot", LightType.SPOT, (0.9, 0.6, 0.3), multiplier=0.7, hotspot_degrees=40.0, falloff_degrees=60.0),
        Light("Day", LightType.DIRECTIONAL, multiplier=0.2),
    ]
    return Scene(nodes=nodes, meshes=[cube()], lights=lights)


def ball(scene: Scene, folder: Path, name: str) -> Ball:
    """Place the sphere in a Z up scene, and export the scene itself to ``folder``."""
    path = folder / f"{name}.glb"
    keyframer.save(scene, path, textures=False)
    frame = scene.clips[0].start / scene.clips[0].units_per_frame if scene.clips else 0.0
    pose = keyframer.pose(scene, frames=[frame])
    points = np.concatenate(
        [pose.vertices(number)[0] for number, node in enumerate(scene.nodes) if node.mesh is not None]
    )
    low, high = points.min(axis=0), points.max(axis=0)
    centre, radius = (low + high) / 2, SHARE * float(np.linalg.norm(high - low))
    lit = replace(
        scene,
        nodes=[*(replace(node, mesh=None, skin=None, morph=None) for node in scene.nodes), Node("ball", mesh=0)],
        meshes=[_sphere(centre, radius)],
        materials=[Material("grey", diffuse=(0.5, 0.5, 0.5), shininess=0.0, shininess_strength=0.0)],
    )
    thumbnails = {lights: _brightness(lit, lights, frame) for lights in ("file", "auto")}
    around, above = np.radians(30.0), np.radians(22.0)
    way = np.array([np.sin(around) * np.cos(above), -np.cos(around) * np.cos(above), np.sin(above)])
    eye = centre + 8 * radius * way
    in_file = [[float(x), float(z), float(-y)] for x, y, z in (centre, eye)]
    return Ball(path, in_file[0], radius, in_file[1], thumbnails)


def _brightness(scene: Scene, lights: str, frame: float) -> float:
    """Return the mean of the pixels that show the scene, in a thumbnail with the lights of the file or with ours."""
    settings = Settings(64, 64, camera="fit", lights=lights, background=None, around_degrees=30.0, above_degrees=22.0)
    picture = np.asarray(Renderer(scene, settings, frames=[frame]).picture(frame), np.float64)
    return float(picture[picture[..., 3] > 250][:, :3].mean() / 255)


def _sphere(centre: Any, radius: float) -> Mesh:
    across, down = np.meshgrid(np.linspace(0, 2 * np.pi, 2 * _RINGS + 1), np.linspace(0, np.pi, _RINGS + 1))
    points = np.stack([np.sin(down) * np.cos(across), np.sin(down) * np.sin(across), np.cos(down)], axis=-1)
    corner = np.arange(_RINGS * (2 * _RINGS + 1)).reshape(_RINGS, -1)[:, :-1].reshape(-1)
    below = corner + 2 * _RINGS + 1
    faces = np.concatenate(
        [np.stack([corner, below, corner + 1], axis=1), np.stack([corner + 1, below, below + 1], axis=1)]
    )
    ones = np.ones(len(faces), np.int64)
    return Mesh("ball", centre + radius * points.reshape(-1, 3), faces, smoothing=ones, face_materials=0 * ones)
