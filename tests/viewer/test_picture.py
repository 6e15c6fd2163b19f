"""The picture: cameras, lights, visibility, wireframe, bones, in light and dark themes."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.exchange.kit.axes import Axes
from keyframer.formats.threeds.records import HideTrack, Keys
from keyframer.scene import Light, LightType, Material, Node, NodeKind
from keyframer.viewer import Viewer
from tests.building.scenes import to_y_up
from tests.rendering.simple import scene_of, square
from tests.viewer.browser import Browser, Watched
from tests.viewer.hostile import hostile_file
from tests.viewer.opening import EXAMPLE, FILES, viewed


def test_cameras_and_lights_of_the_file(shown: Watched) -> None:
    scene = keyframer.load(EXAMPLE)
    assert shown.page.locator("#camera option").all_inner_texts() == ["Orbit", "Camera"]
    assert shown.page.locator("#lights option").all_inner_texts()[2:] == ["Only Lamp", "Only Sun"]
    shown.page.select_option("#camera", "0")
    shown.page.select_option("#lights", "file")
    shown.settle()
    fovs, colors, cones, inner = [], [], [], []
    for frame in (0, 40, 100):
        shown.seek(frame)
        fovs.append(shown.page.evaluate("() => keyframerViewer.stage.model.cameras[0].fov"))
        lamp = "keyframerViewer.stage.model.lights[0].light"
        colors.append(shown.page.evaluate(f"() => {lamp}.color.toArray()"))
        cones.append(shown.page.evaluate(f"() => {lamp}.angle * 180 / Math.PI"))
        inner.append(shown.page.evaluate(f"() => (1 - {lamp}.penumbra) * {lamp}.angle * 180 / Math.PI"))
    pose = keyframer.pose(scene, frames=[0, 40, 100])
    lamp_number = next(node.light for node in scene.nodes if node.name == "Lamp")
    assert lamp_number is not None
    across = np.radians(pose.camera_fov_degrees[:, 0] / 2)
    ratio = np.tan(np.radians(np.array(fovs) / 2)) / np.tan(across)
    assert ratio == pytest.approx(ratio[0], rel=1e-3)  # vertical and horizontal keep their ratio
    assert len({round(fov, 3) for fov in fovs}) > 1
    assert cones == pytest.approx((pose.light_falloff_degrees[:, lamp_number] / 2).tolist(), abs=0.02)
    assert inner == pytest.approx((pose.light_hotspot_degrees[:, lamp_number] / 2).tolist(), abs=0.02)
    stored = pose.light_colors[:, lamp_number]
    assert np.array(colors) == pytest.approx(stored, abs=2e-3)  # numbers as stored, as in our own renderer
    assert np.ptp(np.array(colors), axis=0).max() > 0.05


PICTURE = """() => new Promise(done => {
    keyframerViewer.stage.picture().then(picture => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result.split(",")[1]);
        reader.readAsDataURL(picture);
    });
})"""


def drawn(shown: Watched) -> np.ndarray[tuple[int, int, int], np.dtype[np.float64]]:
    """Return (height, width, 3) pixels of the page, from 0 to 1."""
    with Image.open(io.BytesIO(base64.b64decode(shown.page.evaluate(PICTURE)))) as picture:
        return np.asarray(picture.convert("RGB"), np.float64) / 255


def lit_files(folder: Path) -> dict[str, Path]:
    """Write the windmill with its lights unchanged, weak, strong, and with attenuation."""
    paths = {"as it is": EXAMPLE}
    for name, factor in (("weak", 0.1), ("strong", 3.0)):
        scene = keyframer.load(EXAMPLE)
        for light in scene.lights:
            light.multiplier = factor
        paths[name] = folder / f"{name}.3ds"
        keyframer.save(scene, paths[name])
    scene = keyframer.load(EXAMPLE)
    for light in scene.lights:
        light.attenuated, light.inner_range, light.outer_range = True, 100.0, 500.0
    paths["with an end"] = folder / "end.3ds"
    keyframer.save(scene, paths["with an end"])
    return paths


@pytest.mark.parametrize("name", ["as it is", "weak", "strong", "with an end"])
def test_lights_of_the_file_look_as_in_a_thumbnail(browser: Browser, tmp_path: Path, name: str) -> None:
    """Through the camera of the file, the mean brightness of pixels shown in both is that of `keyframer.render`."""
    path = lit_files(tmp_path)[name]
    viewer = Viewer(viewed(path))
    try:
        with browser.page(viewer.url) as shown:
            shown.page.select_option("#camera", "0")
            shown.page.select_option("#lights", "file")
            shown.page.click("#grid")
            shown.settle()
            page = drawn(shown)
            high = page.shape[0]
            wide = high * 4 // 3  # cameras have the field of view of such a picture
            page = page[:, (page.shape[1] - wide) // 2 :][:, :wide]
            scene = keyframer.load(path)
            frame = shown.state("frame")
            picture = keyframer.render(scene, frame=frame, size=(wide, high), camera="Camera", background=None)
            ours = np.asarray(picture, np.float64) / 255
            seen = (ours[:, :, 3] == 1) & (np.abs(page - page[0, 0]).max(axis=2) > 0.02)
            assert seen.mean() > 0.02
            page_brightness, render_brightness = page[seen].mean(), ours[:, :, :3][seen].mean()
            assert page_brightness == pytest.approx(render_brightness, rel=0.08), name
            assert np.abs(page[seen] - ours[:, :, :3][seen]).mean() < 0.06
            shown.page.select_option("#lights", "studio")
            shown.settle()
            studio = drawn(shown)
            assert np.abs(studio[:, (studio.shape[1] - wide) // 2 :][:, :wide] - page).max() > 0.05
            assert shown.troubles == []
    finally:
        viewer.close()


def test_lights_can_be_selected(shown: Watched) -> None:
    burning = "() => keyframerViewer.stage.model.lights.map(({ light }) => light.visible)"
    for choice, wanted in (
        ("studio", [False, False]),
        ("file", [True, True]),
        ("0", [True, False]),
        ("1", [False, True]),
    ):
        shown.page.select_option("#lights", choice)
        shown.settle()
        assert shown.page.evaluate(burning) == wanted


def test_visibility_is_animated(browser: Browser, tmp_path: Path) -> None:
    """Hide keys toggle at frames 3 and 7."""
    path = hostile_file(b"Box", tmp_path, HideTrack(keys=Keys.make([3, 7])))
    scene = keyframer.load(path)
    number = next(c.node for c in scene.clips[0].channels if c.track.kind == "visible")
    viewer = Viewer(viewed(path))
    try:
        with browser.page(viewer.url) as shown:
            timing = shown.state("info.timing")
            for frame in np.arange(timing["first"], timing["last"] + 1):
                shown.seek(float(frame))
                visible = shown.page.evaluate(
                    """number => {
                        const { model } = keyframerViewer.stage;
                        const { gltf } = keyframerViewer.store.state.info.nodes[number];
                        const own = model.meshes.filter(mesh => model.ownerOf(mesh) === gltf);
                        return own.map(mesh => {
                            for (let at = mesh; at; at = at.parent) if (!at.visible) return false;
                            return true;
                        });
                    }""",
                    number,
                )
                assert visible == [not 3 <= frame < 7]
                assert visible == [bool(keyframer.pose(scene, frames=[frame]).visible[0, number])]
            assert shown.troubles == []
    finally:
        viewer.close()


def test_backs_of_one_sided_faces_are_not_drawn(browser: Browser, tmp_path: Path) -> None:
    """As in thumbnails and in the exported file; with the lights of the file and with those of a studio."""
    materials = [Material("one"), Material("two", two_sided=True)]
    scene = scene_of(square(), square(), materials=materials)
    scene.lights.append(Light("lamp", LightType.OMNI))
    scene.nodes.append(Node("lamp", NodeKind.LIGHT, light=0, position=np.array([0.0, -9.0, 0.0])))
    keyframer.save(scene, tmp_path / "sides.3ds")
    viewer = Viewer(viewed(tmp_path / "sides.3ds"))
    try:
        with browser.page(viewer.url) as shown:
            sides = "() => keyframerViewer.stage.model.meshes.map(mesh => [mesh.material.name, mesh.material.side])"
            for lights in ("file", "studio"):
                shown.page.select_option("#lights", lights)
                shown.settle()
                assert sorted(shown.page.evaluate(sides)) == [["one", 0], ["two", 2]]  # FrontSide, DoubleSide
    finally:
        viewer.close()


def test_wireframe_edges_and_bones(shown: Watched) -> None:
    for name in ("wire", "edges", "bones", "grid"):
        shown.page.click(f"#{name}")
    drawn = "keyframerViewer.stage.model.meshes.every(mesh => mesh.children.some(each => each.userData.overlay))"
    shown.page.wait_for_function(f"() => {drawn}")
    shown.open_file(3)  # only bones: they are drawn by default
    assert shown.page.get_attribute("#bones", "aria-pressed") == "true"


def test_wireframe_stays_on_in_the_next_file(shown: Watched) -> None:
    wired = "() => keyframerViewer.stage.model.meshes.flatMap(mesh => mesh.material).map(each => each.wireframe)"
    assert not any(shown.page.evaluate(wired))
    shown.page.click("#wire")
    assert all(shown.page.evaluate(wired))
    shown.open_file(4)
    assert shown.page.evaluate(wired)
    assert all(shown.page.evaluate(wired))
    shown.page.click("#wire")
    assert not any(shown.page.evaluate(wired))


def test_bones_are_lines_to_their_parents(shown: Watched) -> None:
    """A figure without a mesh has as many lines as bones with a parent, each from the bone to its parent."""
    shown.open_file(3)
    scene = keyframer.load(FILES[3])
    shown.seek(2)
    drawn = shown.page.evaluate(
        """() => {
            const { group } = keyframerViewer.stage.skeleton;
            const lines = group.children.find(each => each.isLineSegments).geometry;
            return [group.visible, [...lines.getAttribute("position").array], lines.drawRange.count];
        }"""
    )
    assert drawn[0] is True
    places = np.array(shown.places())
    ends = np.array(drawn[1]).reshape(-1, 2, 3)
    wanted = {(index, node.parent) for index, node in enumerate(scene.nodes) if node.parent is not None}
    lines = set()
    for pair in ends[: len(wanted)]:
        lines.add(tuple(int(np.linalg.norm(places - end, axis=1).argmin()) for end in pair))
        assert max(np.linalg.norm(places - end, axis=1).min() for end in pair) < 1e-4
    assert {tuple(sorted(pair)) for pair in lines} == {tuple(sorted(pair)) for pair in wanted}


def test_view_through_a_camera_of_the_file(shown: Watched) -> None:
    scene = keyframer.load(EXAMPLE)
    axes = Axes(scene.space)
    shown.page.select_option("#camera", "0")
    shown.seek(40)
    eye = shown.page.evaluate("() => keyframerViewer.stage.fileCamera.matrixWorld.elements.slice(12, 15)")
    number = next(i for i, node in enumerate(scene.nodes) if node.camera == 0)
    pose = keyframer.pose(scene, frames=[40])
    wanted = (to_y_up(scene.space.up) @ axes.matrices(pose.world[0]))[number, :3, 3]
    assert eye == pytest.approx(wanted.tolist(), abs=0.02)
    shown.page.select_option("#camera", "orbit")
    assert shown.page.evaluate("() => keyframerViewer.stage.fileCamera") is None


def test_picture_is_not_empty_in_light_and_dark(browser: Browser, running: Viewer) -> None:
    pictures = []
    for dark in (False, True):
        with browser.page(running.url, dark=dark) as shown:
            pictures.append(shown.page.locator("#stage").screenshot())
            assert shown.troubles == []
    assert len(pictures[0]) > 5_000
    assert pictures[0] != pictures[1]


def brightness(pixels: np.ndarray) -> np.ndarray:
    """Return the relative luminance as WCAG defines it."""
    parts = pixels / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_objects_of_every_grey_stand_out(browser: Browser, tmp_path: Path, dark: bool) -> None:
    """In every row of the picture that crosses an object, its border differs clearly from the background."""
    paths = []
    for grey in (0.0, 0.3, 0.6, 0.9, 1.0):
        scene = keyframer.load(EXAMPLE)
        for material in scene.materials:
            material.diffuse = (grey, grey, grey)
        paths.append(tmp_path / f"{grey}.3ds")
        keyframer.save(scene, paths[-1])
    viewer = Viewer(viewed(*paths))
    try:
        with browser.page(viewer.url, dark=dark) as shown:
            shown.page.keyboard.press("g")
            for number in range(len(paths)):
                if number:
                    shown.open_file(number)
                shown.page.evaluate("() => keyframerViewer.stage.canvas.blur()")
                pixels = np.asarray(Image.open(io.BytesIO(shown.page.locator("#stage").screenshot())).convert("RGB"))
                pixels = pixels[2:-2, 2:-2].astype(float)
                around = pixels[0, 0]
                background = float(brightness(around))
                differs = np.abs(pixels - around).max(axis=2) > 24
                crossed = np.nonzero(differs.any(axis=1))[0]
                assert len(crossed) > 100
                contrasts = []
                for row in crossed[3:-3]:
                    first = int(differs[row].argmax())
                    near = brightness(pixels[row, first : first + 4])
                    light, shade = np.maximum(near, background), np.minimum(near, background)
                    contrasts.append(float(((light + 0.05) / (shade + 0.05)).max()))
                assert np.percentile(contrasts, 5) > 1.5, f"{paths[number].name}: {np.percentile(contrasts, 5)}"
            assert shown.troubles == []
    finally:
        viewer.close()
