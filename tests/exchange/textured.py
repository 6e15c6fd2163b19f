"""Three textured, animated files of our own, with their images, for pictures and for tests of pictures.

``make_files`` writes into a folder: the bundled windmill (3D Studio) with a wall of stones, a globe and its moon (3D
Renderer, images as TGA and GIF, named in capitals), and a snake (Hale3D: a skinned model and its animation).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from PIL import Image

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.scene import Channel, Clip, Material, Mesh, Node, NodeKind, Scene, Skin, Space, TextureMap

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"


def make_files(folder: Path) -> list[Path]:
    """Write the files to convert, with their images beside them."""
    stones().save(folder / "stone.png")
    shutil.copy(EXAMPLE, folder / "windmill.3ds")
    world().save(folder / "world.tga")
    dots().save(folder / "dots.gif")
    keyframer.save(globe(), folder / "globe.3ds")
    rings().save(folder / "rings.png")
    keyframer.save(snake(), folder / "snake.anim", format="hale3d")
    return [folder / "windmill.3ds", folder / "globe.3ds", folder / "snake.anim"]


def stones(size: int = 64) -> Image.Image:
    """Return an image of rows of grey stones with light joints."""
    y, x = np.mgrid[0:size, 0:size]
    course = y // 8
    joint = (y % 8 == 0) | ((x + 8 * (course % 2)) % 16 == 0)
    shade = 95 + 45 * np.sin(7.0 * course + 3.0 * ((x + 8 * (course % 2)) // 16))
    rgb = np.stack([np.where(joint, 215, shade + 25), np.where(joint, 205, shade + 10), np.where(joint, 185, shade)], 2)
    return Image.fromarray(rgb.astype(np.uint8))


def world(size: int = 128) -> Image.Image:
    """Return an image with red above, blue below, and green land on a sea between, to tell top from bottom."""
    v, u = np.mgrid[0:size, 0 : 2 * size] / (size, 2 * size)[0]
    land = np.sin(3 * np.pi * u) + np.cos(5 * np.pi * v + 2 * np.pi * u) > 0.35
    rgb = np.where(land[..., None], (60, 150, 60), (90, 150, 215))
    rgb = np.where((v < 0.25)[..., None], (200, 40, 30), rgb)
    rgb = np.where((v > 0.7)[..., None], (30, 40, 190), rgb)
    return Image.fromarray(rgb.astype(np.uint8))


def dots(size: int = 64) -> Image.Image:
    y, x = np.mgrid[0:size, 0:size] % 16 - 8
    return Image.fromarray(np.where(x * x + y * y < 20, 90, 225).astype(np.uint8)).convert("P")


def rings(size: int = 64) -> Image.Image:
    y, _ = np.mgrid[0:size, 0:size]
    rgb = np.where(((y // 8) % 2 == 0)[..., None], (235, 190, 40), (40, 90, 60))
    return Image.fromarray(rgb.astype(np.uint8))


def _lathe(radii: np.ndarray, heights: np.ndarray, around: int, turns: float = 1.0) -> Mesh:
    """Return a surface of revolution about Z; u runs around, v runs up."""
    angle = np.linspace(0, 2 * np.pi, around + 1)
    points = np.stack([
        np.outer(radii, np.cos(angle)), np.outer(radii, np.sin(angle)), np.repeat(heights[:, None], around + 1, 1)
    ], 2)  # fmt: skip
    uv = np.stack(np.meshgrid(np.linspace(0, turns, around + 1), np.linspace(0, 1, len(radii))), 2)
    row, column = np.mgrid[0 : len(radii) - 1, 0:around]
    first = (row * (around + 1) + column).ravel()
    above = first + around + 1
    corners = np.concatenate([np.stack([first, first + 1, above + 1], 1), np.stack([first, above + 1, above], 1)])
    mesh = Mesh("", points.reshape(-1, 3).astype(np.float32), corners, uv=uv.reshape(-1, 2).astype(np.float32))
    mesh.face_materials = np.zeros(len(corners), np.int32)
    mesh.smoothing = np.ones(len(corners), np.int32)
    return mesh


def _ball(radius: float, around: int, rows: int) -> Mesh:
    angle = np.linspace(-np.pi / 2, np.pi / 2, rows)
    return _lathe(radius * np.cos(angle), radius * np.sin(angle), around)


def globe() -> Scene:
    """Return a globe that turns half about its axis, and a moon that goes round it, with the same keys."""
    ball, moon = _ball(10.0, 32, 17), _ball(3.0, 20, 11)
    ball.name, moon.name = "Globe", "Moon"
    moon.face_materials[:] = 1
    earth = Material("WORLD", diffuse=(0.8, 0.8, 0.8), maps={"texture1": TextureMap("WORLD.TGA")})
    dotted = Material("DOTS", diffuse=(0.8, 0.8, 0.8), maps={"texture1": TextureMap("DOTS.GIF", scale=(2.0, 1.0))})
    times, angle = np.arange(0.0, 61.0, 15.0), np.linspace(0, np.pi, 5)
    turns = np.stack([np.zeros(5), np.zeros(5), np.sin(angle / 2), np.cos(angle / 2)], 1)
    way = np.stack([14 * np.cos(2 * angle - 2.4), 14 * np.sin(2 * angle - 2.4), 5 * np.sin(2 * angle)], 1)
    spinning = Track("rotation", times, turns, Interpolation.TCB, form=RotationForm.QUATERNION_ABSOLUTE)
    circling = Track("position", times, way, Interpolation.TCB)
    clip = Clip("globe", end=60.0, channels=[Channel(0, spinning), Channel(1, circling)])
    nodes = [Node("Globe", mesh=0), Node("Moon", mesh=1, position=way[0])]
    return Scene(nodes=nodes, meshes=[ball, moon], materials=[earth, dotted], clips=[clip], space=Space("z"))


def snake(joints: int = 6) -> Scene:
    """Return a tube that stands on the ground and sways, each joint a little more than the one below it."""
    rows = 4 * joints + 1
    part = np.linspace(0, 1, rows)
    mesh = _lathe(1.6 * (1 - part**4), part * 4.0 * joints, 20, 2.0)
    mesh.name = "Snake"
    bones = [
        Node(f"bone{at}", NodeKind.BONE, parent=None if at == 0 else at - 1, position=np.array([0, 0, 4.0 * (at > 0)]))
        for at in range(joints)
    ]
    height = np.asarray(mesh.positions)[:, 2]
    near = np.clip(height / 4.0, 0, joints - 1.001)
    low, share = near.astype(int), near % 1.0
    vertex = np.repeat(np.arange(len(height)), 2)
    influence, weights = np.stack([low, low + 1], 1).ravel(), np.stack([1 - share, share], 1).ravel()
    inverse = np.repeat(np.eye(4)[None], joints, 0)
    inverse[:, 2, 3] = -4.0 * np.arange(joints)
    skin = Skin("Snake", list(range(joints)), inverse, vertex, influence, weights)
    frames = np.arange(0.0, 49.0)
    channels = []
    for at in range(joints):
        sway = np.radians(4 + 5 * at) * np.sin(2 * np.pi * (frames / 48 - at / 9))
        turns = np.stack([0 * sway, np.sin(sway / 2), 0 * sway, np.cos(sway / 2)], 1)
        form = RotationForm.QUATERNION_ABSOLUTE
        channels.append(Channel(at, Track("rotation", frames, turns, Interpolation.LINEAR, form=form)))
    clip = Clip("snake", end=48.0, rate=24.0, channels=channels)
    painted = Material("RINGS", diffuse=(0.8, 0.8, 0.8), maps={"texture1": TextureMap("rings.png")})
    nodes = [*bones, Node("Snake", mesh=0, skin=0)]
    return Scene(nodes=nodes, meshes=[mesh], materials=[painted], skins=[skin], clips=[clip], space=Space("z"))
