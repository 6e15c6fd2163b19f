"""Scripts in the style of the documentation pass mypy --strict and pyright, and constructors state the fields of their
classes."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import re
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import keyframer

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """
from pathlib import Path

import numpy as np

import keyframer
from keyframer import Camera, Channel, Clip, Interpolation, Light, LightType, Material, Mesh, Morph, Node, NodeKind
from keyframer import RotationForm, Scene, Skin, Space, TextureMap, Track, Wrap

points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 4.0], [-1.0, 0.0, 4.0]])
sail = Mesh("sail", positions=[[0, 0, 0], [1, 0, 4], [-1, 0, 4]], corners=[[0, 1, 2]], face_materials=[0])
flag = Mesh("flag", points, np.array([[0, 1, 2]]), uv=((0, 0), (1, 0), (0, 1)), smoothing=np.ones(1, np.int32))
skin = Skin("skin", [0], [np.eye(4)], vertex_indices=range(3), joint_indices=[0, 0, 0], weights=(1, 1, 1))
scene = Scene(
    nodes=[
        Node("hub", NodeKind.DUMMY, position=[0, 0, 10], rotation_xyzw=(0, 0, 0, 1), scale=np.ones(3)),
        Node("sail", parent=0, mesh=0, pivot=(0, 0, 1), morph=Morph(["wide"], [2 * points])),
        Node("flag", parent=0, mesh=1, skin=0),
        Node("eye", NodeKind.CAMERA, camera=0, position=np.array([0, -30, 12]), target=0),
        Node("sun", NodeKind.LIGHT, light=0, position=(50, -20, 60)),
    ],
    meshes=[sail, flag],
    materials=[Material("canvas", diffuse=[0.9, 0.85, 0.7], maps={"texture1": TextureMap("a.png", scale=[2, 2])})],
    cameras=[Camera("eye", fov_degrees=48, target=[0, 0, 10])],
    lights=[Light("sun", LightType.SPOT, color=np.array([1.0, 0.9, 0.8]), target=(0, 0, 0))],
    skins=[skin],
    space=Space("z", metres_per_unit=1.0),
)
turning = Track(
    "rotation",
    times=[0, 30, 60],
    values=[[0, 1, 0, 0.0], [0, 1, 0, 2 * np.pi], (0, 1, 0, 2 * np.pi)],
    interpolation=Interpolation.TCB,
    form=RotationForm.AXIS_ANGLE_RELATIVE,
    wrap=Wrap.REPEAT,
    tension=(0, 0, 1),
)
scene.clips.append(Clip("turning", [Channel(scene.find("hub"), turning)], start=0, end=60, rate=30))
height: float = float(scene.node("hub").position[2])
positions = sail.positions * 2.0

posed = keyframer.pose(scene, frames=range(3), clip="turning")
tips = posed.vertices("sail")[:, 1]
rig = keyframer.Rig(scene, "turning")
world = keyframer.pose(scene, [0.0, 0.5], rig=rig).world[:, scene.find("hub")]


def jobs(source: Path, folder: Path) -> str:
    keyframer.pose(source, frames=[0]).visible.all()
    keyframer.render(str(source), frame=10, size=(320, 200), clip=0).save(folder / "a.png")
    keyframer.plot(source, node="Rotor", track=["rotation"]).save(folder / "a.svg")
    with open(folder / "a.glb", "wb") as stream:
        report = keyframer.save(keyframer.load(source), stream, format="gltf")
    return report.summary()
"""

WRONG = """
from keyframer import Node, Track

Node("a", position=None)
Track("fov", times=None, values=[1])
Node("a").position = [1, 2, 3]
"""
"""statements that a checker must refuse, so that this test can fail; an attribute is an array"""


def documented_examples() -> str:
    pages = (ROOT / "docs/scenes.md", ROOT / "README.md", *sorted((ROOT / "docs/howto").glob("*.md")))
    texts = [page.read_text(encoding="utf-8") for page in pages]
    return "\n".join(block for text in texts for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL))


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    for name, text in (("built", SCRIPT), ("documented", documented_examples()), ("wrong", WRONG)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def check(*command: str, folder: Path) -> tuple[int, str]:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_scripts_pass_mypy(scripts: Path) -> None:
    strict = ("mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(ROOT / ".mypy_cache" / "scripts"))
    assert check(*strict, "built.py", "documented.py", folder=scripts)[0] == 0, check(
        *strict, "built.py", folder=scripts
    )
    _, said = check(*strict, "wrong.py", folder=scripts)
    assert "Found 3 errors" in said, said


@pytest.mark.skipif(find_spec("basedpyright") is None, reason="basedpyright, a pyright with its own binary, is missing")
def test_scripts_pass_pyright(scripts: Path) -> None:
    settings = f'{{"typeCheckingMode": "standard", "extraPaths": ["{ROOT / "src"}"], "pythonVersion": "3.11"}}'
    (scripts / "pyrightconfig.json").write_text(settings)
    code, said = check("basedpyright", "built.py", "documented.py", folder=scripts)
    assert code == 0, said
    _, said = check("basedpyright", "wrong.py", folder=scripts)
    assert "3 errors" in said, said


CLASSES = ("Camera", "Clip", "Light", "Material", "Mesh", "Morph", "Node", "RawChannel", "Skin", "TextureMap", "Track")


@pytest.mark.parametrize("name", CLASSES)
def test_constructor_for_type_checkers_has_the_fields_of_the_class(name: str) -> None:
    cls: Any = getattr(keyframer, name)
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    (constructor,) = (
        node for node in ast.walk(declared) if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    arguments = constructor.args.args[1:]
    fields = [field for field in dataclasses.fields(cls) if field.init]
    assert [argument.arg for argument in arguments] == [field.name for field in fields]
    optional = [argument.arg for argument in arguments[len(arguments) - len(constructor.args.defaults) :]]
    has_default = [
        field.name
        for field in fields
        if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    ]
    assert optional == has_default
    for argument, default in zip(optional, constructor.args.defaults, strict=True):
        stated = ast.unparse(default)
        field = next(field for field in fields if field.name == argument)
        if stated != "...":
            assert eval(stated, {"NodeKind": keyframer.NodeKind, **vars(inspect.getmodule(cls))}) == field.default
