"""Small scenes built in Python, one for each feature of the exporter; `SCENES` lists them all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Handedness,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
    TextureMap,
)
from tests.building.scenes import as_read_from_a_file

CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32) * (1.0, 1.25, 1.5)
FACES = np.array(
    [
        *((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)),
        *((2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
    ]
)
"""outwards, two triangles a side"""


def cube(name: str = "cube", **others: object) -> Mesh:
    return Mesh(name, CUBE.copy(), FACES.copy(), **others)  # type: ignore[arg-type]


def tcb(kind: str, times: object, values: object, **others: object) -> Track:
    return Track(kind, np.array(times, float), np.array(values, float), Interpolation.TCB, **others)  # type: ignore[arg-type]


def turning(times: object, axis_angles: object, **others: object) -> Track:
    """Return rotation increments about axes, as 3D Studio stores them."""
    values = np.array(axis_angles, float)
    others.setdefault("form", RotationForm.AXIS_ANGLE_RELATIVE)
    return tcb("rotation", times, values, **others)


def moved(*tracks: tuple[int, Track], start: float = 0.0, end: float = 30.0, **others: object) -> Clip:
    return Clip("clip", [Channel(node, track) for node, track in tracks], start=start, end=end, **others)  # type: ignore[arg-type]


def static() -> Scene:
    mesh = cube(smoothing=np.array([1] * 4 + [2] * 4 + [0] * 4), face_materials=np.array([0] * 6 + [1] * 5 + [-1]))
    glass = Material("glass", diffuse=(0.5, 0.7, 1.0), transparency=0.4, two_sided=True, self_illumination=0.5)
    glass.maps["texture1"] = TextureMap("PANELS.JPG")
    return Scene(nodes=[Node("box", mesh=0)], meshes=[mesh], materials=[Material("red", diffuse=(1, 0, 0)), glass])


def splines() -> Scene:
    """TCB positions and scales, a chain of rotations beyond 180 degrees, a pivot."""
    nodes = [
        Node("base", mesh=0, pivot=np.array([0.5, 0.0, 1.0])),
        Node("arm", parent=0, mesh=0, position=np.array([4.0, 0, 0])),
        Node("hand", parent=1, mesh=0, position=np.array([3.0, 1, 0]), pivot=np.array([0.0, 2.0, 0])),
    ]
    path = tcb(
        "position",
        [0, 7, 20, 30],
        [(0, 0, 0), (3, 1, 0), (2, 5, 1), (9, 5, 1)],
        tension=[0, 0.5, -0.3, 0],
        continuity=[0, 0.4, 0, 0],
        bias=[0, -0.6, 0.2, 0],
    )
    size = tcb("scale", [0, 15, 30], [(1, 1, 1), (1, 2, 0.5), (1.5, 1, 1)])
    spin = turning([0, 12, 30], [(0, 0, 1, 0.3), (0, 1, 1, 4.0), (1, 0, 0.2, -7.5)])
    bend = turning([3, 12, 25], [(0, 1, 0, 0.0), (0, 1, 0, 1.2), (1, 1, 0, -2.0)], tension=[0, 1, 0])
    return Scene(nodes=nodes, meshes=[cube()], clips=[moved((0, path), (1, size), (1, spin), (2, bend), (0, spin))])


def eased() -> Scene:
    ease = {"ease_to": [0, 0.7, 0.2], "ease_from": [0.5, 0.2, 0]}
    path = tcb("position", [0, 12, 30], [(0, 0, 0), (5, 0, 0), (5, 5, 0)], **ease)
    spin = turning([0, 12, 30], [(0, 0, 1, 0.0), (0, 0, 1, 2.0), (1, 0, 0, 2.5)], **ease)
    return Scene(nodes=[Node("box", mesh=0)], meshes=[cube()], clips=[moved((0, path), (0, spin))])


def wrapped() -> Scene:
    """Repeat and loop, keys that begin late or before 0, and a clip that ends during a rotation."""
    nodes = [Node(name, mesh=0) for name in ("repeat", "loop", "late", "early", "spin")]
    points = [(0, 0, 0), (4, 1, 0), (4, 4, 2), (1, 0, 3)]
    clip = moved(
        (0, tcb("position", [0, 3, 7, 10], points, wrap=Wrap.REPEAT)),
        (1, tcb("position", [0, 3, 7, 10], [*points[:3], points[0]], wrap=Wrap.LOOP)),
        (2, tcb("position", [4, 6, 9], points[:3], wrap=Wrap.REPEAT)),
        (3, tcb("position", [-5, 2, 8], points[1:], wrap=Wrap.REPEAT)),
        (4, turning([0, 4, 9], [(0, 0, 1, 0.2), (0, 1, 0, 1.5), (0, 0, 1, 2.5)], wrap=Wrap.REPEAT)),
        end=34.0,
    )
    return Scene(nodes=nodes, meshes=[cube()], clips=[clip])


def straight() -> Scene:
    """Linear keys, some with many revolutions, and one value for each frame."""
    nodes = [Node("lift", mesh=0), Node("wheel", parent=0, mesh=0), Node("frames", mesh=0)]
    wheel = Track(
        "rotation",
        np.array([0.0, 10, 30]),
        np.array([(0, 1, 0, 0.0), (0, 1, 0, 11.0), (1, 1, 0, -3.3)]),
        form=RotationForm.AXIS_ANGLE_RELATIVE,
    )
    lift = Track("position", np.array([0.0, 10, 25]), np.array([(0, 0, 0), (0, 5, 0), (1, 5, 2.0)]))
    generator = np.random.default_rng(5)
    frames = Track.sampled("rotation", generator.normal(size=(31, 4)), form=RotationForm.QUATERNION_ABSOLUTE)
    steps = Track("scale", np.array([0.0, 10, 20]), np.array([(1, 1, 1), (2, 2, 2), (1, 1, 3.0)]), Interpolation.STEP)
    return Scene(
        nodes=nodes, meshes=[cube()], clips=[moved((0, lift), (1, wheel), (2, frames), (2, steps))], space=Space("y")
    )


def jumping() -> Scene:
    """Equal key times: at the first key, in the middle and at the last."""
    path = tcb("position", [5, 5, 12, 12, 30, 30], [(0, 0, 0), (1, 0, 0), (2, 2, 0), (6, 0, 0), (7, 1, 0), (0, 9, 0)])
    spin = turning([5, 5, 12, 12, 30, 30], [(0, 0, 1, 0.3)] * 6)
    return Scene(nodes=[Node("cut", mesh=0)], meshes=[cube()], clips=[moved((0, path), (0, spin))])


def left_handed() -> Scene:
    """Y up, left-handed, with rotated scale axes, a child, a camera with a target, texture coordinates."""
    mesh = cube(uv=np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)], float))
    mesh.uv_corners = np.array([(0, 1, 2), (4, 2, 3)] * 6)
    mesh.colors = np.array([(1, 0, 0), (0, 1, 0)], float)
    mesh.color_corners = np.array([(0, 0, 0)] * 6 + [(1, 1, 1)] * 6)
    nodes = [
        Node("body", mesh=0, scale=np.array([1, 2, 3.0]), scale_axes_xyzw=np.array([0.5, 0.5, -0.5, 0.5])),
        Node("child", parent=0, mesh=0, position=np.array([3.0, 1, -2]), pivot=np.array([0, 0, 1.0])),
        Node("camera", NodeKind.CAMERA, camera=0, target=3, position=np.array([10.0, 4, 3])),
        Node("goal", NodeKind.TARGET, position=np.array([0, 1.0, 0])),
    ]
    clip = moved(
        (0, tcb("rotation", [0, 3200, 4800], [(0, 0, 0, 1), (0.3, 0.1, 0, 0.9), (0, 0, 0.9, 0.4)], form=_RELATIVE)),
        (0, tcb("scale", [0, 4800], [(1, 2, 3), (2, 1, 1)])),
        (0, tcb("scale_axes", [0, 4800], [(0.5, 0.5, -0.5, 0.5), (0, 0.6, 0, 0.8)], form=_ABSOLUTE)),
        (3, tcb("position", [0, 2000, 4800], [(0, 1, 0), (3, -2, 5), (-8, 0, -6)])),
        (2, tcb("position", [0, 4800], [(10, 4, 3), (2, 4, 9)])),
        (2, tcb("roll", [0, 4800], [0, 30])),
        end=4800,
        rate=4800.0,
        unit="tick",
        units_per_frame=160.0,
    )
    space = Space("y", Handedness.LEFT, 0.01)
    return Scene(nodes=nodes, meshes=[mesh], cameras=[Camera("camera")], clips=[clip], space=space)


_RELATIVE, _ABSOLUTE = RotationForm.QUATERNION_RELATIVE, RotationForm.QUATERNION_ABSOLUTE


def looking() -> Scene:
    """Cameras and spot lights with targets: at the root, below a uniformly and below a non-uniformly scaled parent."""
    nodes = [
        Node("even", scale=np.full(3, 2.0), position=np.array([1.0, 2, 3])),
        Node("uneven", scale=np.array([1, 2, 1.0])),
        Node("free", NodeKind.CAMERA, camera=0, target=5, position=np.array([0, -10.0, 4])),
        Node("in even", NodeKind.CAMERA, parent=0, camera=1, target=5, position=np.array([0, -4.0, 1])),
        Node("in uneven", NodeKind.LIGHT, parent=1, light=0, target=5, position=np.array([6.0, 0, 5])),
        Node("goal", NodeKind.TARGET),
        Node("on camera", parent=2, mesh=0, position=np.array([0, 0, -5.0])),
        Node("stored", NodeKind.CAMERA, camera=2, position=np.array([5.0, 5, 5])),
    ]
    cameras = [Camera("free", fov_degrees=60), Camera("in even"), Camera("stored", target=(0.0, 0.0, 1.0))]
    lights = [Light("spot", LightType.SPOT, hotspot_degrees=30, falloff_degrees=45, multiplier=1.5)]
    clip = moved(
        (5, tcb("position", [0, 10, 30], [(0, 0, 0), (5, 2, 0), (-4, 3, 6)])),
        (0, turning([0, 30], [(0, 0, 1, 0.0), (0, 0, 1, 2.0)])),
        (1, turning([0, 30], [(0, 1, 0, 0.0), (0, 0, 1, 1.0)])),
        (2, tcb("fov", [0, 15, 30], [60, 20, 90])),
        (2, tcb("roll", [0, 30], [0, 90])),
        (4, tcb("hotspot", [0, 30], [30, 80])),
        (4, tcb("falloff", [0, 30], [45, 81])),
        (4, tcb("color", [0, 30], [(1, 1, 1), (0.2, 0.5, 1)])),
        (4, tcb("multiplier", [0, 30], [1.5, 0.5])),
    )
    return Scene(nodes=nodes, meshes=[cube()], cameras=cameras, lights=lights, clips=[clip])


def hidden() -> Scene:
    nodes = [
        Node("always", mesh=0, hidden=True),
        Node("child", parent=0, mesh=0, position=np.array([3.0, 0, 0])),
        Node("blinks", mesh=0, pivot=np.array([1.0, 0, 0])),
        Node("bone", NodeKind.BONE),
    ]
    blink = Track("visible", np.array([-1.0, 5, 9, 20]), np.array([1.0, 0, 1, 0]), Interpolation.STEP)
    spin = turning([0, 30], [(0, 0, 1, 0.0), (0, 0, 1, 2.0)])
    return Scene(nodes=nodes, meshes=[cube()], clips=[moved((2, blink), (3, blink), (0, spin))])


def morphing() -> Scene:
    shapes = [CUBE * 1.0, CUBE * (2.0, 1, 1), CUBE * (1, 1, 3.0)]
    weights = tcb("morph", [0, 10, 20, 30], np.eye(3)[[0, 1, 2, 0]], tension=[0, 0.5, 0, 0])
    node = Node("blob", mesh=0, morph=Morph(["a", "b", "c"], shapes), pivot=np.array([0.0, 0, 1]))
    return Scene(nodes=[node], meshes=[cube(smoothing=np.ones(12, int))], clips=[moved((0, weights))])


def skinned() -> Scene:
    """Two joints that bend a cube, a vertex without influences, and influences of zero."""
    nodes = [
        Node("hip", NodeKind.BONE),
        Node("knee", NodeKind.BONE, parent=0, position=np.array([0, 0, 1.0])),
        Node("skin", mesh=0, skin=0),
    ]
    owners = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6, 6])
    joints = np.array([0, 1, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1])
    weights = np.array([0.5, 0.5, 3, 0.5, 0.5, 1, 0.2, 0.8, 1, 0.3, 0.7, 0.0, 1])
    inverse = np.stack([np.eye(4), np.eye(4)])
    inverse[1, 2, 3] = -1
    bend = turning([0, 15, 30], [(1, 0, 0, 0.0), (1, 0, 0, 1.5), (0, 1, 0, -1.0)])
    lift = tcb("position", [0, 30], [(0, 0, 0), (2, 3, 1)])
    skin = Skin("skin", [0, 1], inverse, owners, joints, weights)
    clip = moved((1, bend), (0, lift), (0, bend))
    return Scene(nodes=nodes, meshes=[cube()], skins=[skin], clips=[clip], space=Space("z", v_up=False))


def two_clips() -> Scene:
    walk = moved((0, tcb("position", [0, 30], [(0, 0, 0), (5, 0, 0)])), (1, turning([0], [(0, 0, 1, 1.0)])))
    jump = moved((0, tcb("position", [10, 20], [(0, 0, 0), (0, 0, 5)])), start=10.0, end=25.0)
    jump.name = "jump"
    jump.channels.append(Channel(1, turning([0], [(1, 0, 0, 2.0)])))
    nodes = [Node("a", mesh=0), Node("b", parent=0, mesh=0)]
    return Scene(nodes=nodes, meshes=[cube()], clips=[walk, jump])


def mirrored() -> Scene:
    """Negative scale, an axis without extent, and names that need escaping."""
    nodes = [
        Node("", scale=np.array([-1, 1, 1.0]), mesh=0),
        Node("", parent=0, scale=np.array([1, 0, 1.0]), mesh=0),
        Node("a\x1b[31m\u202e", mesh=1, position=np.array([2.0, 2, 2])),
        Node("a", mesh=2),
    ]
    flat = Mesh("flat", np.zeros((3, 3)), np.array([[0, 1, 2], [0, 0, 0]]), smoothing=np.array([1, 1]))
    empty = Mesh("empty", np.zeros((4, 3)), np.empty((0, 3), int))
    return Scene(nodes=nodes, meshes=[cube(), flat, empty])


def nothing() -> Scene:
    return Scene()


@as_read_from_a_file()
def sick() -> Scene:
    """Non-finite or very large numbers wherever a file may have them."""
    nan, inf, huge = float("nan"), float("inf"), 1e300
    mesh = cube(uv=np.full((8, 2), nan), colors=np.full((8, 3), inf))
    mesh.positions = mesh.positions.astype(float)
    mesh.positions[2] = (nan, inf, -huge)
    nodes = [
        Node("a", mesh=0, position=np.array([nan, 0, 0]), scale=np.array([inf, 1, 1]), pivot=np.array([0, 1.0, 0])),
        Node("b", parent=0, mesh=0, rotation_xyzw=np.array([nan, 0, 0, 1]), position=np.array([1e30, 0, 0])),
        Node("eye", NodeKind.CAMERA, camera=0),
        Node("lamp", NodeKind.LIGHT, light=0, position=np.array([inf, 0, 0])),
    ]
    path = tcb("position", [0, nan, 10, 20], [(0, 0, 0), (1, 1, 1), (nan, 0, 0), (1e60, 0, 0)])
    size = tcb("scale", [0, 5, 20], [(1, 1, 1), (huge, 1, 1), (2, 2, 2)], tension=[nan, inf, -5])
    spin = turning([0, 5, 20], [(nan, 0, 1, 1), (0, 0, 0, 1), (0, 0, 1, 2)])
    clip = moved((0, path), (1, size), (1, spin), (9, path), end=inf, rate=nan)
    clip.extras = {"3ds": {"odd": nan, "bytes": b"\xff", "array": np.array([nan, 1])}}
    material = Material("m", diffuse=(nan, inf, -1.0), transparency=nan, shininess=inf, self_illumination=-huge)
    light = Light("lamp", LightType.SPOT, (nan, 2.0, -1.0), multiplier=-inf, hotspot_degrees=nan, falloff_degrees=inf)
    camera = Camera("eye", fov_degrees=nan, roll_degrees=inf, target=(nan, 0.0, 0.0))
    parts = {"meshes": [mesh], "materials": [material], "lights": [light], "cameras": [camera], "clips": [clip]}
    return Scene(nodes=nodes, **parts)  # type: ignore[arg-type]


SCENES: dict[str, Callable[[], Scene]] = {
    make.__name__: make
    for make in (
        *(static, splines, eased, wrapped, straight, jumping, left_handed, looking, hidden, morphing, skinned),
        *(two_clips, mirrored, nothing, sick),
    )
}
