"""Small shows and fixtures for the tests."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

import keyframer
from keyframer.exchange.stage.fixtures import shape_of
from keyframer.scene import Material, Node, Scene, Space, TextureMap

UNIT = "{1,0,0}{0,1,0}{0,0,1}"
DATE = (2019, 5, 4, 3, 2, 0)


def box_scene(
    size: tuple[float, float, float], *, name: str = "Box", material: str = "Steel", image: str | None = None
) -> Scene:
    """Return a box of this size with its lowest corner at the origin; ``image`` is the texture of its material."""
    mesh = shape_of("Cube")
    mesh.positions = (mesh.positions + 0.5) * np.array(size)
    mesh.face_materials = np.zeros(len(mesh.corners), np.int64)
    steel = Material(material, diffuse=(0.5, 0.5, 0.75))
    if image is not None:
        steel.maps["texture1"] = TextureMap(image)
    return Scene(nodes=[Node(name, mesh=0)], meshes=[mesh], materials=[steel])


@cache
def model(
    ending: str,
    size: tuple[float, float, float] = (100.0, 200.0, 300.0),
    *,
    material: str = "Steel",
    image: str | None = None,
) -> bytes:
    """Return a box in a file; glTF files are in metres with y up, whatever the axes of the scene."""
    scene = box_scene(size, material=material, image=image)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"box{ending}"
        options = {}
        if ending == ".glb":
            scene.space = Space("z", metres_per_unit=0.001)
            options = {"unit": "file"}
        keyframer.save(scene, path, **options)
        return path.read_bytes()


def pack(members: Mapping[str, bytes | str], method: int = ZIP_DEFLATED, **others: int) -> bytes:
    """Return an archive; ``others`` are compression methods of single members."""
    stream = io.BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, content in members.items():
            info = ZipInfo(name, DATE)
            info.compress_type = others.get(name, method)
            archive.writestr(info, content)
    return stream.getvalue()


def show(
    children: str,
    members: Mapping[str, bytes | str] | None = None,
    shared: str = "",
    packed: Mapping[str, int] | None = None,
) -> bytes:
    """Return a show with one layer."""
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<GeneralSceneDescription verMajor="1" verMinor="5">
  <Scene>
    <AUXData>{shared}</AUXData>
    <Layers><Layer name="Layer 1" uuid="l1"><ChildList>{children}</ChildList></Layer></Layers>
  </Scene>
</GeneralSceneDescription>
"""
    members = {"GeneralSceneDescription.xml": text, **(members or {})}
    return pack(members | dict.fromkeys(packed or (), b"some text"), **(packed or {}))


def scene_object(geometry: str, matrix: str = "", name: str = "Object") -> str:
    placed = f"<Matrix>{matrix}</Matrix>" if matrix else ""
    return f'<SceneObject name="{name}" uuid="o1">{placed}<Geometries>{geometry}</Geometries></SceneObject>'


def fixture(models: str, geometries: str, members: Mapping[str, bytes | str] | None = None, modes: str = "") -> bytes:
    """Return a fixture type."""
    modes = modes or '<DMXMode Name="Default" Geometry="Base"><DMXChannels/></DMXMode>'
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<GDTF DataVersion="1.1">
  <FixtureType Name="Spot" LongName="A spot" Manufacturer="Keyframer" FixtureTypeID="F1">
    <Models>{models}</Models>
    <Geometries>{geometries}</Geometries>
    <DMXModes>{modes}</DMXModes>
  </FixtureType>
</GDTF>
"""
    return pack({"description.xml": text, **(members or {})})


MOVING_HEAD_MODELS = """
<Model Name="Base" Length="0.3" Width="0.3" Height="0.1" PrimitiveType="Base" File=""/>
<Model Name="Yoke" Length="0.4" Width="0.1" Height="0.3" PrimitiveType="Yoke" File=""/>
<Model Name="Head" Length="0.2" Width="0.2" Height="0.3" PrimitiveType="Undefined" File="head"/>
"""
MOVING_HEAD_GEOMETRIES = """
<Geometry Name="Base" Model="Base" Position="{1,0,0,0}{0,1,0,0}{0,0,1,0}{0,0,0,1}">
  <Axis Name="Yoke" Model="Yoke" Position="{1,0,0,0}{0,1,0,0}{0,0,1,-0.25}{0,0,0,1}">
    <Axis Name="Head" Model="Head" Position="{0,-1,0,0}{1,0,0,0}{0,0,1,-0.1}{0,0,0,1}">
      <Beam Name="Beam" BeamAngle="20" FieldAngle="30" BeamType="Spot" ColorTemperature="3200" LuminousFlux="9000"
        Position="{1,0,0,0}{0,1,0,0}{0,0,1,-0.15}{0,0,0,1}"/>
    </Axis>
  </Axis>
</Geometry>
"""
MOVING_HEAD_MODES = """
<DMXMode Name="Default" Geometry="Base"><DMXChannels>
  <DMXChannel Geometry="Yoke"><LogicalChannel Attribute="Pan"/></DMXChannel>
  <DMXChannel Geometry="Head"><LogicalChannel Attribute="Tilt"/></DMXChannel>
</DMXChannels></DMXMode>
"""


def moving_head(ending: str = ".3ds", size: tuple[float, float, float] = (200.0, 200.0, 300.0)) -> bytes:
    folder = "models/3ds" if ending == ".3ds" else "models/gltf"
    members = {f"{folder}/head{ending}": model(ending, size)}
    return fixture(MOVING_HEAD_MODELS, MOVING_HEAD_GEOMETRIES, members, MOVING_HEAD_MODES)
