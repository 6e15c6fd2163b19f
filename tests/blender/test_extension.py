"""The extension as users see it: operators, options, reports, damaged files, export, reload."""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer import Channel, Clip, Interpolation, Material, Mesh, Node, Scene, TextureMap, Track
from keyframer.exchange import EXPORTERS, IMPORTERS, Exporter
from keyframer.formats import FORMATS
from keyframer.formats.threeds import records
from keyframer.formats.threeds.document import new_document
from keyframer.rendering.drawable_scene import corner_normals, face_normals, normal_groups
from tests.blender.outside import ROOT, Answer, Case, ask, builder, needs_blender, ten_frames
from tests.corpus import CORPUS, invalid_files
from tests.exchange.lit import CORPUS_FILES, Ball, ball, lamps

pytestmark = needs_blender
WINDMILL = ROOT / "examples" / "windmill.3ds"
SAMPLES = ROOT / "tests" / "samples"
CLASSES = ["IMPORT_SCENE_OT_keyframer", "EXPORT_SCENE_OT_keyframer", "VIEW3D_PT_keyframer_clips", "IO_FH_keyframer"]


class Session:
    """Requests by name, carried out in order by one Blender."""

    folder: Path

    def __init__(self) -> None:
        self.requests: dict[str, dict[str, Any]] = {}
        self.answers: dict[str, Answer] = {}

    def add(self, name: str, do: str, **more: Any) -> None:
        self.requests[name] = {"do": do, **more}

    def run(self, archive: Path, folder: Path) -> None:
        self.answers = dict(zip(self.requests, ask(archive, list(self.requests.values()), folder), strict=True))

    def said(self, name: str) -> dict[str, Any]:
        return self.answers[name].said


def play_request(path: Path, **operator: Any) -> dict[str, Any]:
    return {"operator": {"filepath": str(path), **operator}, "frames": [0, 10, 50]}


@pytest.fixture(scope="module")
def session(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("session")
    files = folder / "files"
    files.mkdir()
    damaged = files / "damaged.3ds"
    damaged.write_bytes(WINDMILL.read_bytes()[:2000])
    (files / "windmill.3ds").write_bytes(WINDMILL.read_bytes())
    (files / "noise.3ds").write_bytes(bytes(range(256)) * 8)
    (files / "notes.txt").write_text("not for us")
    textured = folder / "textured"
    textured.mkdir()
    (textured / "windmill.3ds").write_bytes(WINDMILL.read_bytes())
    Image.new("RGB", (8, 4), (120, 110, 100)).save(textured / "stone.png")
    session = Session()
    session.add("state first", "state", classes=CLASSES)
    session.add("windmill", "play", **play_request(WINDMILL))
    session.add("scaled", "play", **play_request(WINDMILL, scale=2.0))
    session.add("converted", "play", **play_request(WINDMILL, unit="CONVERT"), metres=0.01)
    session.add("among others", "play", **play_request(WINDMILL), metres=0.01, others=True)
    session.add("in a new scene", "play", **play_request(WINDMILL), others=True)
    session.add("scene of another unit", "play", **play_request(WINDMILL), metres=0.01)
    session.add("faster", "play", operator={"filepath": str(WINDMILL), "fps": 60.0}, frames=[0, 20, 100])
    session.add("baked", "play", **play_request(WINDMILL, keys="BAKE"))
    session.add("local", "play", **play_request(local_vertices(folder)))
    session.add("raw", "play", **play_request(local_vertices(folder), options="geometry=raw"))
    session.add("textured", "play", **play_request(textured / "windmill.3ds"))
    session.add("images", "images")
    session.add("laid on", "play", **play_request(write_transformed_map(folder / "textured")))
    session.add("mappings", "mappings")
    looked = {
        "operator": {"filepath": str(write_textured_squares(folder / "textured"))},
        "picture": str(folder / "painted.png"),
    }
    session.add("painted", "look", **looked)
    session.add("alternating clips", "play", **play_request(alternating_clips(folder)))
    session.add("unknown option", "operate", operator={"filepath": str(WINDMILL), "options": "shape=round"})
    session.add("bad option", "operate", operator={"filepath": str(WINDMILL), "options": "round"})
    session.add("damaged", "operate", operator={"filepath": str(damaged)})
    session.add("salvaged", "operate", operator={"filepath": str(damaged), "salvage": True})
    session.add("missing", "operate", operator={"filepath": str(files / "nothing.3ds")})
    session.add("noise", "operate", operator={"filepath": str(files / "noise.3ds")})
    several = [{"name": name} for name in ("windmill.3ds", "damaged.3ds")]
    session.add("several", "operate", operator={"directory": str(files), "files": several})
    session.add("folder", "operate", operator={"directory": str(files)})
    pairs = folder / "pairs"
    pairs.mkdir()
    keyframer.save(keyframer.load(WINDMILL), pairs / "windmill.gltf")
    (pairs / "wave.anim").write_bytes((SAMPLES / "hale3d" / "wave-length.anim").read_bytes())
    (pairs / "wave.mdl").write_bytes((SAMPLES / "hale3d" / "arm-length.mdl").read_bytes())
    session.add("pairs", "operate", operator={"directory": str(pairs)})
    session.add("empty folder", "operate", operator={"directory": str(folder / "settings")})
    session.add("dropped", "dropping")
    session.add("interrupted", "interrupted", operator={"filepath": str(textured / "windmill.3ds")})
    session.add(
        "left out", "unsupported", operator={"filepath": str(two_clips(folder))}, target=str(folder / "left.3ds")
    )
    for name, lit in sphere_requests(folder).items():
        session.add(f"sphere in {name}", "sphere", **lit)
    session.add("popup", "popup", operator={"filepath": str(WINDMILL)})
    session.add("undo", "undo", operator={"filepath": str(WINDMILL)})
    for name, source, target in ROUND_TRIPS:
        scene = keyframer.load(source)
        request = {"operator": {"filepath": str(source)}, "frames": ten_frames(scene), "target": str(folder / target)}
        session.add(name, "round_trip", **request)
    for name, options in EXPORTS.items():
        exporter = {"filepath": str(folder / f"{name}.3ds"), "into": "NEW", **options}
        session.add(name, "export", operator={"filepath": str(WINDMILL)}, select=["Tower"], exporter=exporter)
    session.folder = folder
    for format in WRITTEN:
        for kind, source in (("objects", WINDMILL), ("bones", SAMPLES / "hale3d" / "wave-length.anim")):
            exporter = {"filepath": str(folder / f"{kind}-{format.name}{format.extensions[0]}"), "format": format.name}
            exporter["into"] = "NEW"
            request = {"operator": {"filepath": str(source)}, "select": [], "exporter": exporter}
            session.add(f"{kind} to {format.name}", "export", **request)
    for number, (name, data) in enumerate(damaged_samples()):
        torn = folder / f"{number}-{name}"
        torn.write_bytes(data)
        session.add(f"torn {number}", "operate", operator={"filepath": str(torn), "salvage": bool(number % 2)})
    session.add("disable", "disable")
    session.add("state disabled", "state", classes=CLASSES)
    session.add("enable", "enable")
    session.add("state again", "state", classes=CLASSES)
    session.add("windmill again", "play", **play_request(WINDMILL))
    session.run(archive, folder)
    return session


def local_vertices(folder: Path) -> Path:
    """Write a file whose node is far from the vertices that it stores."""
    points, faces = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], "<f4"), np.array([(0, 1, 2, 7)], "<u2")
    named = records.NamedObject(
        b"Face", children=[records.Mesh(children=[records.PointArray(points), records.FaceArray(faces)])]
    )
    place = records.PositionTrack(keys=records.Keys.make(np.zeros(1, int), np.array([[5.0, 6.0, 7.0]])))
    node = records.ObjectNode(children=[records.NodeId(0), records.NodeHeader(b"Face"), place])
    document = new_document(
        records.Editor(children=[named]), records.Keyframer(children=[records.KeyframerHeader(length=50), node])
    )
    path = folder / "local.3ds"
    path.write_bytes(keyframer.encode(document))
    return path


def two_clips(folder: Path) -> Path:
    """Write a file with two clips."""
    track = Track("position", [0, 10], [(0, 0, 0), (4, 0, 1)], Interpolation.LINEAR)
    clips = [Clip(name, [Channel(0, track)], 0, 10) for name in ("first", "second")]
    path = folder / "two.glb"
    keyframer.save(Scene(nodes=[Node("Thing")], clips=clips), path)
    return path


def alternating_clips(folder: Path) -> Path:
    """Write a file with two nodes and two clips, each of which moves another node."""
    track = Track("position", [0, 10], [(0, 0, 0), (4, 3, 1)], Interpolation.LINEAR)
    clips = [Clip(name, [Channel(number, track)], 0, 10) for number, name in enumerate(("first", "second"))]
    path = folder / "alternating.glb"
    keyframer.save(Scene(nodes=[Node("One"), Node("Other")], clips=clips), path)
    return path


TEXTURED_SQUARES = {
    "holes": TextureMap("window.png", alpha_source=True),
    "decal": TextureMap("window.png", decal=True, scale=(2.0, 2.0)),
    "negative": TextureMap("window.png", negative=True, alpha_source=True),
    "material through holes": TextureMap("window.png"),
    "material through a negative": TextureMap("window.png", negative=True),
    "uncovered": TextureMap("window.png", ignore_alpha=True),
}
"""ways to use an image that is red and opaque, but for its middle, which is yellow and clear"""


def write_textured_squares(folder: Path) -> Path:
    """Write squares in a row that emit blue light under an image with holes."""
    pixels = np.zeros((16, 16, 4), np.uint8)
    pixels[:] = (255, 0, 0, 255)
    pixels[4:12, 4:12] = (255, 255, 0, 0)
    Image.fromarray(pixels).save(folder / "window.png")
    square = np.array([(0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)], np.float64)
    uv, faces = [(0, 0), (1, 0), (1, 1), (0, 1)], [(0, 1, 2), (0, 2, 3)]
    meshes = [
        Mesh(name, np.add(square, (number, 0, 0)), faces, uv=uv, face_materials=[number] * 2)
        for number, name in enumerate(TEXTURED_SQUARES)
    ]
    materials = [
        Material(name, diffuse=(0, 0, 1), self_illumination=1.0, two_sided=True, maps={"texture1": texture})
        for name, texture in TEXTURED_SQUARES.items()
    ]
    nodes = [Node(name, mesh=number) for number, name in enumerate(TEXTURED_SQUARES)]
    path = folder / "painted.3ds"
    keyframer.save(Scene(nodes=nodes, meshes=meshes, materials=materials), path)
    return path


LIT: dict[str, Ball] = {}
"""by name, what a grey sphere in the middle of a file's scene should look like"""


def sphere_requests(folder: Path) -> dict[str, dict[str, Any]]:
    """Return requests to render a sphere lit by the lights of files; its place is in Blender's axes."""
    (folder / "balls").mkdir()
    keyframer.save(lamps(), folder / "lamps.glb")
    files = [folder / "lamps.glb", *(CORPUS / "3ds" / name for name in CORPUS_FILES if CORPUS.is_dir())]
    requests = {}
    for path in files:
        scene = lamps() if path.stem == "lamps" else keyframer.load(path)
        sphere = LIT[path.name] = ball(scene, folder / "balls", path.name)
        (centre, eye) = ([x, -z, y] for x, y, z in (sphere.centre, sphere.eye))
        requests[path.name] = {
            "operator": {"filepath": str(path)},
            "oracle": str(ROOT / "tests" / "oracles" / "blender" / "light.py"),
            "centre": centre,
            "eye": eye,
            "radius": sphere.radius,
            "picture": str(folder / "sphere.png"),
        }
    return requests


TRANSFORMED_MAP = TextureMap("stone.png", scale=(2.0, 3.0), offset=(0.1, -0.2), rotation_degrees=30.0)


def write_transformed_map(folder: Path) -> Path:
    """Write a file whose image is tiled, moved and turned."""
    points, uv = [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 0), (1, 0), (0, 1)]
    mesh = Mesh("Face", points, [(0, 1, 2)], uv=uv, face_materials=[0])
    material = Material("Laid", diffuse=(1, 1, 1), maps={"texture1": TRANSFORMED_MAP})
    path = folder / "laid.3ds"
    keyframer.save(Scene(nodes=[Node("Face", mesh=0)], meshes=[mesh], materials=[material]), path)
    return path


ROUND_TRIPS = [
    ("windmill by 3ds", WINDMILL, "windmill.3ds"),
    ("windmill by glb", WINDMILL, "windmill.glb"),
    ("skin by glb", SAMPLES / "ase" / "skinned.ase", "skinned.glb"),
    ("bones by glb", SAMPLES / "hale3d" / "wave-length.anim", "wave.glb"),
    ("morph by ase", SAMPLES / "ase" / "morphing.ase", "morphing.glb"),
]


WRITTEN = [exporter for exporter in EXPORTERS if exporter.takes_any_scene]
READ = {known.name for known in (*FORMATS, *IMPORTERS)}
EXPORTS: dict[str, dict[str, Any]] = {
    "everything": {},
    "selected": {"selected": True},
    "still": {"animated": False},
    "larger": {"scale": 10.0},
    "odd option": {"options": "shape=round"},
    "unknown": {"filepath": "nowhere.xyz"},
}


SAMPLES_TO_DAMAGE = (
    *("3ds/windmill.3ds", "3ds/tracks.3ds", "ase/stage.ase", "uto3d/literal.u3d", "hale3d/wave-length.anim"),
    *("hale3d/arm-length.mdl", "midtown/retail.anim", "nodeanim/default_mixed.nanim"),
)


def damaged_samples() -> list[tuple[str, bytes]]:
    """Return samples that are cut or have wrong bytes, always the same ones, and damaged real files: each twice,
    because every second one is to be salvaged."""
    generator = np.random.default_rng(26)
    samples = []
    for path in (*(SAMPLES / name for name in SAMPLES_TO_DAMAGE), ROOT / "examples" / "stage.mvr"):
        data = path.read_bytes()
        for _ in range(3):
            samples.append((path.name, data[: int(generator.integers(1, len(data)))]))
            wrong = bytearray(data)
            for place in generator.integers(0, len(data), 12):
                wrong[place] = int(generator.integers(0, 256))
            samples.append((path.name, bytes(wrong)))
    return samples + [(path.name, path.read_bytes()) for path in invalid_files() for _ in range(2)]


def test_blenders_own_command_line_accepts_the_zip(archive: Path) -> None:
    checked = builder().validate(archive)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_zip_contains_manifest_licence_and_a_wheel_of_its_own_name(archive: Path) -> None:
    """The wheel has no viewer, so it must not have the name of the wheel of the release."""
    with zipfile.ZipFile(archive) as members:
        manifest = tomllib.loads(members.read("blender_manifest.toml").decode())
        (wheel,) = manifest["wheels"]
        assert wheel == f"./wheels/keyframer-{keyframer.__version__}-0noviewer-py3-none-any.whl"
        assert members.read(wheel.removeprefix("./")) == next(archive.parent.glob("*.whl")).read_bytes()
        assert b"0noviewer" in members.read("LICENSE.md")
    assert manifest["name"] == "Keyframer: legacy animation formats"
    assert "blender" not in manifest["name"].lower() + manifest["id"]
    assert manifest["version"] == keyframer.__version__
    assert manifest["license"] == ["SPDX:GPL-3.0-or-later"]
    assert manifest["blender_version_min"] == "5.0.0"
    assert set(manifest["permissions"]) == {"files"}


def test_page_names_every_option_and_shows_its_pictures() -> None:
    page = (ROOT / "docs" / "blender.md").read_text(encoding="utf-8")
    source = (ROOT / "blender" / "operators.py").read_text(encoding="utf-8")
    importing = source[source.index("class IMPORT_SCENE_OT") : source.index("class EXPORT_SCENE_OT")]
    labels = re.findall(r'name="([^"]+)"', importing)
    assert len(labels) == 7
    assert [label for label in labels if f"**{label}**" not in page] == []
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", page):
        assert (ROOT / "docs" / picture).stat().st_size < 200_000


def test_every_module_of_the_extension_states_its_licence() -> None:
    for path in (ROOT / "blender").glob("*.py"):
        assert path.read_text(encoding="utf-8").startswith("# SPDX-License-Identifier: GPL-3.0-or-later\n"), path.name


def test_extension_uses_the_bundled_library_and_no_other_package_than_numpy(
    session: Session, tmp_path_factory: Any
) -> None:
    folder = next(tmp_path_factory.getbasetemp().glob("session*/modules.json")).resolve().parent
    where, unwanted = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    assert str(folder / "settings") in where
    assert unwanted == []


def test_windmill_is_imported_completely(session: Session) -> None:
    answer = session.said("windmill")
    assert answer["result"] == ["FINISHED"]
    assert (answer["fps"], answer["range"], answer["actions"]) == (30.0, [0, 100], ["WINDMILL"])
    assert answer["texts"] == ["Keyframer: windmill.3ds"]
    assert answer["curves"]["rotation_quaternion"] == 8  # the camera tracks its target
    assert answer["curves"]["lens"] == 1
    assert answer["curves"]["spot_size"] == answer["curves"]["spot_blend"] == 1
    meshes = answer["meshes"].values()
    assert sum(mesh["faces"] for mesh in meshes) == 150
    assert {name for mesh in meshes for name in mesh["materials"]} == {"STONE", "CLOTH", "BRASS"}
    assert any("fitted: 15 keys" in loss for loss in answer["losses"])
    assert answer["tracks"] == "tracks: 2 kept, 5 fitted, 0 sampled"


def test_errors_have_the_unit_of_their_property(session: Session) -> None:
    errors = {loss.partition(": ")[2].partition(":")[0]: loss for loss in session.said("windmill")["losses"]}
    assert re.search(r"\(error \S+ mm\) \[", errors["/nodes/Camera/lens"])
    assert re.search(r"\(error \S+ degrees?\) \[", errors["/nodes/Cock/rotation"])
    assert re.search(r"\(error [0-9.e-]+\) \[", errors["/nodes/Lamp/cone"])


def test_keys_that_only_make_clips_switchable_are_not_counted_as_tracks(session: Session) -> None:
    answer = session.said("alternating clips")
    assert answer["curves"]["location"] == 12
    assert answer["tracks"] == "tracks: 2 kept, 0 fitted, 0 sampled"
    assert sum("/position" in loss for loss in answer["losses"]) == 2


def test_normals_follow_the_smoothing_groups(session: Session) -> None:
    scene = keyframer.load(WINDMILL)
    compared = 0
    for number, node in enumerate(scene.nodes):
        mesh = None if node.mesh is None else scene.meshes[node.mesh]
        if mesh is None or mesh.smoothing is None or not np.any(mesh.smoothing):
            continue
        corners = np.asarray(mesh.corners, np.int64)
        groups = normal_groups(corners, np.asarray(mesh.smoothing, np.int64), np.zeros(len(corners), bool), False)
        wanted = corner_normals(face_normals(np.asarray(mesh.positions, np.float64), corners), groups)
        found = session.answers["windmill"].arrays[f"normals {number}"]
        assert np.abs(found - wanted.reshape(found.shape)).max() < 1e-3
        compared += 1
    assert compared


def test_scale_changes_only_lengths(session: Session) -> None:
    once, twice = session.answers["windmill"].arrays, session.answers["scaled"].arrays
    for name, found in once.items():
        if name.startswith("vertices"):
            assert np.allclose(twice[name], 2.0 * found, atol=1e-3)
        elif name.startswith("world"):
            assert np.allclose(twice[name][..., :3, :3], found[..., :3, :3], atol=1e-5)


def test_unit_of_the_file_becomes_that_of_a_new_scene(session: Session) -> None:
    for name in ("windmill", "in a new scene", "scene of another unit"):
        metres, *shown = session.said(name)["unit"]
        assert (metres, shown) == (pytest.approx(0.0254), ["IMPERIAL", "INCHES"]), name
        (line,) = [loss for loss in session.said(name)["losses"] if loss.endswith("[LENGTHS_CONVERTED:unit taken]")]
        assert line.startswith("exact: /space/unit: ")
        assert "0.0254 m" in line


def test_numbers_are_kept_in_a_scene_with_other_objects_and_a_unit_of_its_own(session: Session) -> None:
    answer = session.said("among others")
    assert answer["unit"] == [pytest.approx(0.01), "METRIC", "METERS"]
    (line,) = [loss for loss in answer["losses"] if loss.endswith("[LENGTHS_CONVERTED:other unit]")]
    assert line.startswith("dropped: /space/unit: a unit is 0.0254 m in the file and 0.01 m in")
    for name, found in session.answers["windmill"].arrays.items():
        assert np.array_equal(session.answers["among others"].arrays[name], found), name


def test_lengths_can_be_converted_to_the_unit_of_the_scene(session: Session) -> None:
    assert session.said("converted")["unit"] == [pytest.approx(0.01), "METRIC", "METERS"]
    for name, found in session.answers["windmill"].arrays.items():
        if name.startswith("vertices"):
            converted = session.answers["converted"].arrays[name]
            assert np.allclose(converted, 2.54 * found, rtol=1e-4, atol=1e-2), name


def test_cameras_and_3d_views_see_the_whole_scene(session: Session) -> None:
    arrays = session.answers["windmill"].arrays
    size = max(float(np.ptp(found, axis=(0, 1)).max()) for name, found in arrays.items() if name.startswith("vertices"))
    clips = session.said("windmill")["clips"]
    assert len(clips) > 1, "the camera, and the 3D views"
    for near, far in clips:
        assert near < 0.01 * size
        assert far > 3 * size


def test_import_at_another_frame_rate_keeps_times(session: Session) -> None:
    answer = session.said("faster")
    assert (answer["fps"], answer["range"]) == (60.0, [0, 200])
    original, faster = session.answers["windmill"].arrays, session.answers["faster"].arrays
    for name in original:
        if name.startswith("world"):
            assert np.allclose(original[name], faster[name], atol=1e-2), name


def test_baked_keys_are_on_every_frame_and_play_the_same(session: Session) -> None:
    kept, baked = session.answers["windmill"].arrays, session.answers["baked"].arrays
    for name in kept:
        if name.startswith(("world", "vertices")):
            assert np.allclose(kept[name], baked[name], atol=2e-2), name
    assert any("sampled: 101 keys" in loss for loss in session.said("baked")["losses"])
    assert not any("fitted" in loss for loss in session.said("baked")["losses"])


def test_options_of_the_format_are_applied(session: Session) -> None:
    path = session.folder / "local.3ds"
    raw = Case(path, keyframer.load(path, geometry="raw"), [0.0, 10.0, 50.0])
    assert raw.troubles(session.answers["raw"]) == []
    assert raw.troubles(session.answers["local"]) != []
    for name, words in (("unknown option", "shape"), ("bad option", "name=value")):
        answer = session.said(name)
        assert answer["result"] == ["ERROR"]
        assert words in answer["said"]
        assert "Traceback" not in answer["said"]


def test_images_beside_the_file_are_found(session: Session) -> None:
    assert session.said("images")["STONE"] == [["stone.png", 8, 4]]
    assert not any("STONE" in loss and "not found" in loss for loss in session.said("textured")["losses"])
    assert any("STONE.PNG: not found" in loss for loss in session.said("windmill")["losses"])


def test_images_are_tiled_moved_and_turned_as_in_the_scene(session: Session) -> None:
    """``w' = R S (w - 1/2 - offset) + 1/2`` with v running down (`TextureMap`); in Blender v runs up."""
    mapping = session.said("mappings")["Laid"]
    angle = mapping["Rotation"][2]
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    own = np.radians(TRANSFORMED_MAP.rotation_degrees)
    wanted_turn = np.array([[np.cos(own), -np.sin(own)], [np.sin(own), np.cos(own)]])
    for point in ((0.0, 0.0), (1.0, 0.0), (0.3, 0.8)):
        coordinates = np.array(mapping["Location"][:2]) + turn @ (np.array(mapping["Scale"][:2]) * point)
        down = np.array([point[0], 1.0 - point[1]])
        u, v = wanted_turn @ (np.array(TRANSFORMED_MAP.scale) * (down - 0.5 - np.array(TRANSFORMED_MAP.offset))) + 0.5
        assert np.allclose(coordinates, [u, 1.0 - v], atol=1e-5), point


def test_images_with_holes_decals_and_negatives(session: Session) -> None:
    with Image.open(session.folder / "painted.png") as picture:
        pixels = np.asarray(picture.convert("RGB"), np.int64)
    assert pixels.shape == (40, 240, 3)
    red, yellow, blue, cyan = (255, 0, 0), (255, 255, 0), (0, 0, 255), (0, 255, 255)
    grey = (63, 63, 63)  # Blender's usual world behind
    wanted = {
        "holes": (red, grey),
        "decal": (blue, blue),
        "negative": (cyan, grey),
        "material through holes": (red, blue),
        "material through a negative": (cyan, blue),
        "uncovered": (red, yellow),
    }
    assert list(wanted) == list(TEXTURED_SQUARES)
    for number, (edge, middle) in enumerate(wanted.values()):
        for (x, y), color in (((3, 3), edge), ((20, 20), middle)):
            pixel = pixels[y, 40 * number + x]
            assert np.abs(pixel - color).max() < 60, (list(wanted)[number], (x, y), pixel)
    assert np.abs(pixels[20, 40 + 12] - red).max() < 60  # the decal itself


def test_damaged_file_is_reported_in_one_line_and_leaves_no_data(session: Session) -> None:
    for name, words in (("damaged", "STRUCT_TRUNCATED"), ("missing", "nothing.3ds"), ("noise", "noise.3ds")):
        answer = session.said(name)
        assert answer["result"] == ["ERROR"], name
        assert words in answer["said"]
        assert len(answer["said"].strip().splitlines()) == 1, answer["said"]
        assert (answer["built"], answer["objects"], answer["texts"]) == (0, 0, {})


def test_damaged_file_can_be_salvaged_and_its_problems_are_listed_in_a_text(session: Session) -> None:
    answer = session.said("salvaged")
    assert (answer["result"], answer["built"]) == (["FINISHED"], 1)
    assert "STRUCT_TRUNCATED" in answer["texts"]["Keyframer: damaged.3ds"]


def test_importing_several_files_skips_unreadable_ones(session: Session) -> None:
    assert session.said("several")["built"] == 1
    assert session.said("folder")["built"] == 1
    assert list(session.said("folder")["texts"]) == ["Keyframer: windmill.3ds"]
    assert session.said("empty folder")["result"] == ["ERROR"]


def test_companions_in_a_folder_are_not_imported_separately(session: Session) -> None:
    assert list(session.folder.glob("pairs/windmill*.bin"))
    assert list(session.said("pairs")["texts"]) == ["Keyframer: wave.anim", "Keyframer: windmill.gltf"]


def test_damaged_files_never_raise_a_traceback(session: Session) -> None:
    answers = [answer.said for name, answer in session.answers.items() if name.startswith("torn")]
    assert len(answers) == len(damaged_samples())
    for said in answers:
        assert said["result"] in (["FINISHED"], ["ERROR"])
        assert "Traceback" not in said["said"], said["said"]
        assert "internal error" not in said["said"], said["said"]
    assert any(said["result"] == ["ERROR"] for said in answers)


def test_every_supported_file_can_be_dropped_onto_a_window(session: Session) -> None:
    answer = session.said("dropped")
    known = {ending for known_format in (*FORMATS, *IMPORTERS) for ending in known_format.extensions}
    assert set(answer["extensions"].split(";")) == known
    assert answer["operators"] == ["import_scene.keyframer", "export_scene.keyframer"]
    assert answer["poll"]


def test_failed_import_leaves_no_data(session: Session) -> None:
    answer = session.said("interrupted")
    assert "failed on purpose" in answer["said"]
    assert answer["blocks"][0] == answer["blocks"][1]


def test_export_reports_what_the_format_cannot_store(session: Session) -> None:
    text = session.said("left out")["text"]
    for line in (
        "dropped: /clips/second: only the clip that is playing is exported",
        "dropped: /cameras/Flat/ortho: ",
        "dropped: /cameras/Flat/shift: ",
        "dropped: /nodes/Instance/instances: ",
        "dropped: /meshes/Layers/uv: only the active one of 2 layers is exported",
        "dropped: /meshes/Layers/colors: only the active one of 2 layers is exported",
        "dropped: /materials/Rough/images: Roughness.png",
    ):
        assert line in text, text
    assert "/clips/first" not in text


def test_lights_are_as_bright_as_in_our_thumbnails(session: Session) -> None:
    """The mean of a grey sphere's pixels is within a factor of two, with the lights of the file and with default
    lights."""
    assert LIT
    for name, sphere in LIT.items():
        shown = session.said(f"sphere in {name}")["brightness"]
        for thumbnail in sphere.thumbnails.values():
            assert thumbnail / 2 < shown < 2 * thumbnail, (name, sphere.thumbnails, shown)


def test_popup_lists_losses_and_names_the_text(session: Session) -> None:
    drawn = session.said("popup")["drawn"]
    assert any("STONE.PNG: not found" in line for line in drawn)
    assert "Text Editor" in drawn[-1]
    assert len(drawn) <= 14


def test_undo_removes_an_import(session: Session) -> None:
    answer = session.said("undo")
    if not answer["possible"]:
        pytest.skip(f"Blender has no undo in background mode: {answer}")
    before, between, after = answer["objects"]
    assert before == after < between


@pytest.mark.parametrize("format", WRITTEN, ids=lambda format: str(format.name))
def test_every_format_can_be_written_and_read_again(session: Session, format: Exporter) -> None:
    written = []
    for kind in ("objects", "bones"):
        answer = session.said(f"{kind} to {format.name}")
        assert "Traceback" not in answer["said"]
        assert "internal error" not in answer["said"], answer["said"]
        if answer["result"] == ["FINISHED"]:
            path = session.folder / f"{kind}-{format.name}{format.extensions[0]}"
            assert path.stat().st_size > 100
            if format.name in READ:
                written.append(keyframer.load(path, format=format.name))
    assert format.name not in READ or any(scene.clips and scene.clips[0].channels for scene in written)


def test_exports_follow_their_options(session: Session) -> None:
    whole, selected, still, larger = (
        keyframer.load(session.folder / f"{name}.3ds") for name in ("everything", "selected", "still", "larger")
    )
    assert [node.name for node in selected.nodes if node.mesh is not None] == ["Tower"]
    assert any(len(channel.track.times) > 1 for channel in whole.clips[0].channels)
    assert not any(len(channel.track.times) > 1 for clip in still.clips for channel in clip.channels)
    tower, tall = (np.ptp(scene.meshes[scene.node("Tower").mesh or 0].positions, axis=0) for scene in (whole, larger))
    assert np.allclose(tall, 10.0 * tower, rtol=1e-4)
    for name, words in (("odd option", "shape"), ("unknown", ".xyz")):
        assert session.said(name)["result"] == ["ERROR"]
        assert words in session.said(name)["said"]
        assert "Traceback" not in session.said(name)["said"]


@pytest.mark.parametrize("name", [name for name, _, _ in ROUND_TRIPS])
def test_import_export_import_keeps_the_motion(session: Session, name: str) -> None:
    answer = session.answers[name]
    assert answer.said["exported"] == ["FINISHED"], answer.said
    first, second = answer.said["names"]
    points = [found for key, found in answer.arrays.items() if key.startswith("first vertices")]
    places = [found[:, :3, 3] for key, found in answer.arrays.items() if key.startswith("first world")]
    everything = np.concatenate([found.reshape(-1, 3) for found in (*points, *places)])
    size = float(np.linalg.norm(np.ptp(everything, axis=0)))
    points_compared = "vertices" if name.endswith(" 3ds") else "corners"  # a GLB numbers vertices anew
    compared = 0
    for number, node in enumerate(first):
        other = second.index(node)
        for what in (points_compared, "world"):
            own, found = (
                answer.arrays.get(f"{turn} {what} {place}") for turn, place in (("first", number), ("second", other))
            )
            if own is None or found is None:
                continue
            assert own.shape == found.shape, (node, what)
            if what == "world":
                own, found = own[:, :3, 3], found[:, :3, 3]
            assert np.abs(own - found).max() < 1e-3 * size, (node, what)
            compared += 1
    assert compared >= len(first) / 2


def test_unregistering_removes_everything_and_enabling_restores_it(session: Session) -> None:
    first, disabled, again = (session.said(f"state {when}") for when in ("first", "disabled", "again"))
    assert all(first["operators"])
    assert not any(disabled["operators"])
    assert [count - 1 for count in first["entries"]] == disabled["entries"]
    assert again == first
    assert first["handlers"] == disabled["handlers"]
    case = Case(WINDMILL, keyframer.load(WINDMILL), [0.0, 10.0, 50.0])
    assert case.troubles(session.answers["windmill again"]) == []
