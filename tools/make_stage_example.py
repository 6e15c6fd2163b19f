"""Writes examples/stage.mvr, a small show with 3D Studio models, symbols and fixtures."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

import keyframer
from keyframer.exchange.stage.fixtures import shape_of
from keyframer.scene import Material, Mesh, Node, Scene

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "examples" / "stage.mvr"
DATE = (2026, 11, 16, 12, 0, 0)
Box = tuple[tuple[float, float, float], tuple[float, float, float]]

SPOT = """<?xml version="1.0" encoding="UTF-8"?>
<GDTF DataVersion="1.1">
  <FixtureType Name="Example Spot" LongName="Example Spot" Manufacturer="Keyframer"
      FixtureTypeID="3B2D9E0A-0000-4000-8000-000000000001">
    <Models>
      <Model Name="Base" Length="0.32" Width="0.32" Height="0.12" PrimitiveType="Base" File=""/>
      <Model Name="Yoke" Length="0.4" Width="0.14" Height="0.34" PrimitiveType="Yoke" File=""/>
      <Model Name="Head" Length="0.26" Width="0.26" Height="0.4" PrimitiveType="Head" File=""/>
    </Models>
    <Geometries>
      <Geometry Name="Base" Model="Base">
        <Axis Name="Yoke" Model="Yoke" Position="{1,0,0,0}{0,1,0,0}{0,0,1,-0.29}{0,0,0,1}">
          <Axis Name="Head" Model="Head" Position="{1,0,0,0}{0,0.94,0.342,0}{0,-0.342,0.94,-0.08}{0,0,0,1}">
            <Beam Name="Beam" BeamType="Spot" BeamAngle="18" FieldAngle="24" ColorTemperature="5600"
                LuminousFlux="12000" Position="{1,0,0,0}{0,1,0,0}{0,0,1,-0.21}{0,0,0,1}"/>
          </Axis>
        </Axis>
      </Geometry>
    </Geometries>
    <DMXModes>
      <DMXMode Name="Standard" Geometry="Base">
        <DMXChannels>
          <DMXChannel Geometry="Yoke"><LogicalChannel Attribute="Pan"/></DMXChannel>
          <DMXChannel Geometry="Head"><LogicalChannel Attribute="Tilt"/></DMXChannel>
        </DMXChannels>
      </DMXMode>
    </DMXModes>
  </FixtureType>
</GDTF>
"""


def model(name: str, boxes: list[Box], color: tuple[float, float, float]) -> bytes:
    """Return a 3D Studio file with one object made of boxes, each given by two corners in millimetres."""
    cube = shape_of("Cube")
    assert cube is not None
    parts = [np.asarray(low) + (cube.positions + 0.5) * np.subtract(high, low) for low, high in boxes]
    corners = np.concatenate([cube.corners + 8 * number for number in range(len(boxes))])
    mesh = Mesh(name, np.concatenate(parts), corners, face_materials=np.zeros(len(corners), np.int64))
    scene = Scene(nodes=[Node(name, mesh=0)], meshes=[mesh], materials=[Material(f"{name} paint", diffuse=color)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.3ds"
        keyframer.save(scene, path)
        return path.read_bytes()


def truss(length: float = 2000.0, width: float = 300.0, tube: float = 40.0) -> list[Box]:
    """Return four tubes along x, and braces between them."""
    edges = [(y, z) for y in (0.0, width) for z in (0.0, width)]
    boxes: list[Box] = [((0.0, y, z), (length, y + tube, z + tube)) for y, z in edges]
    for x in np.arange(0.0, length + 1.0, length / 5):
        boxes += [((x, 0.0, z), (x + tube / 2, width + tube, z + tube)) for z in (0.0, width)]
        boxes += [((x, y, 0.0), (x + tube / 2, y + tube, width + tube)) for y in (0.0, width)]
    return boxes


def element(tag: str, name: str, number: int, origin: tuple[float, float, float], content: str) -> str:
    """Return the XML element of an object of the show."""
    x, y, z = (f"{value:g}" for value in origin)
    matrix = f"{{1,0,0}}{{0,1,0}}{{0,0,1}}{{{x},{y},{z}}}"
    uuid = f"00000000-0000-4000-8000-{number:012d}"
    return f'        <{tag} name="{name}" uuid="{uuid}"><Matrix>{matrix}</Matrix>{content}</{tag}>\n'


def description() -> str:
    """Return the XML description of the show."""
    symbol = '<Geometries><Symbol uuid="00000000-0000-4000-8000-000000000100" symdef="truss"/></Geometries>'
    objects = element("SceneObject", "Floor", 1, (-4000, -3000, 0), geometry("floor.3ds"))
    objects += element("SceneObject", "Wall", 2, (-4000, 3000, 0), geometry("wall.3ds"))
    objects += "".join(
        element("Truss", f"Truss {n + 1}", 10 + n, (-4000 + 2000 * n, -170, 4000), symbol) for n in range(4)
    )
    spec = "<GDTFSpec>Keyframer@Example Spot.gdtf</GDTFSpec><GDTFMode>Standard</GDTFMode>"
    for number in range(6):
        fixture_id = f"<FixtureID>{number + 1}</FixtureID>"
        objects += element(
            "Fixture", f"Spot {number + 1}", 20 + number, (-3300 + 1320 * number, 0, 4000), spec + fixture_id
        )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<GeneralSceneDescription verMajor="1" verMinor="6" provider="Keyframer" providerVersion="1">
  <Scene>
    <AUXData>
      <Symdef uuid="truss" name="Truss 2 m"><ChildList><Geometry3D fileName="truss.3ds"/></ChildList></Symdef>
    </AUXData>
    <Layers>
      <Layer name="Stage" uuid="00000000-0000-4000-8000-000000000000">
        <ChildList>
{objects}        </ChildList>
      </Layer>
    </Layers>
  </Scene>
</GeneralSceneDescription>
"""


def geometry(name: str) -> str:
    return f'<Geometries><Geometry3D fileName="{name}"/></Geometries>'


def pack(members: dict[str, bytes]) -> bytes:
    """Return a zip archive of these members."""
    stream = io.BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, content in members.items():
            info = ZipInfo(name, DATE)
            info.compress_type = ZIP_DEFLATED
            archive.writestr(info, content)
    return stream.getvalue()


def main() -> None:
    steps: list[Box] = [((2500.0, 500.0 + 300 * n, 600.0), (5500.0, 2900.0, 600.0 + 200 * (n + 1))) for n in range(3)]
    floor: list[Box] = [((0.0, 0.0, 0.0), (8000.0, 6000.0, 600.0)), *steps]
    members = {
        "GeneralSceneDescription.xml": description().encode(),
        "floor.3ds": model("Floor", floor, (0.45, 0.32, 0.22)),
        "wall.3ds": model("Wall", [((0.0, 0.0, 0.0), (8000.0, 100.0, 5000.0))], (0.25, 0.27, 0.33)),
        "truss.3ds": model("Truss", truss(), (0.75, 0.76, 0.78)),
        "Keyframer@Example Spot.gdtf": pack({"description.xml": SPOT.encode()}),
    }
    TARGET.write_bytes(pack(members))
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
