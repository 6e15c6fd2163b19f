"""The selection: its world transform is that of ``keyframer sample``; it can be hidden, isolated and zoomed to."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.exchange.gltf.write import export
from keyframer.exchange.kit.axes import Axes
from keyframer.inspecting.samples import Sample
from tests.building.scenes import rotation_matrix, to_y_up
from tests.viewer.browser import Watched
from tests.viewer.opening import CUT, EXAMPLE, FILES

TOWER, ROTOR, SAIL, COCK = 0, 1, 2, 6

WORLDS = """frames => frames.map(frame => {
    const { store } = keyframerViewer;
    store.set({ frame, playing: false });
    return store.state.info.nodes.map((_, node) => {
        store.set({ node });
        return [...document.querySelectorAll("#world dd")].map(each => each.textContent);
    });
})"""
"""the texts of the panel for every node at every frame"""


def turned(degrees: np.ndarray) -> np.ndarray:
    """Return the matrix of rotations about the fixed axes X, then Y, then Z."""
    (a, b, c), (d, e, f) = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    about_x = np.array([[1, 0, 0], [0, a, -d], [0, d, a]])
    about_y = np.array([[b, 0, e], [0, 1, 0], [-e, 0, b]])
    about_z = np.array([[c, -f, 0], [f, c, 0], [0, 0, 1]])
    return np.asarray(about_z @ about_y @ about_x)


@pytest.mark.parametrize("number", range(CUT), ids=[path.name for path in FILES[:CUT]])
def test_world_transform_is_that_of_sample(shown: Watched, number: int) -> None:
    """In right-handed and left-handed files, with Y or Z up, at keys and between them."""
    if number:
        shown.open_file(number)
    scene = keyframer.load(FILES[number])
    timing = shown.state("info.timing")
    frames = np.linspace(timing["first"], timing["last"], 4).tolist()
    rows = list(Sample(scene, frames=frames, times=None).rows())
    _, report = export(scene)
    allowed = 2 * report.measured.get("world_error", 0.0) + 1e-5 * report.measured["size"]
    worlds = shown.page.evaluate(WORLDS, frames)
    for step in range(len(frames)):
        for node in range(len(scene.nodes)):
            _, _, name, *wanted, _ = rows[node * len(frames) + step]
            position, degrees, xyzw, scale = (
                np.array([float(part.rstrip("°")) for part in text.split(", ")]) for text in worlds[step][node]
            )
            wanted_numbers = np.array(wanted, float)
            where = f"{name} at frame {frames[step]}"
            assert np.abs(position - wanted_numbers[:3]).max() <= allowed, where
            np.testing.assert_allclose(scale, wanted_numbers[7:], rtol=1e-3, atol=1e-5, err_msg=where)
            if np.abs(scale).min() > 1e-6:
                rotation = rotation_matrix(*wanted_numbers[3:7])
                np.testing.assert_allclose(rotation_matrix(*xyzw), rotation, atol=1e-3, err_msg=where)
                np.testing.assert_allclose(turned(degrees), rotation, atol=1e-3, err_msg=where)


def test_world_transform_follows_clock_and_selection(shown: Watched) -> None:
    assert not shown.page.locator("#world").is_visible()
    shown.page.click(f"#node-{ROTOR}")
    shown.seek(10)
    assert shown.page.inner_text("#world h3") == "World at frame 10"
    texts = shown.page.locator("#world dd").all_inner_texts()
    assert texts == ["0, -13, 44", "0°, -60°, 0°", "0, -0.5, 0, 0.866025", "1, 1, 1"]  # a third of a half turn
    shown.page.click(f"#node-{TOWER}")
    assert shown.page.locator("#world dd").all_inner_texts()[0] == "0, 0, 0"


def picture(shown: Watched) -> Image.Image:
    """Return the picture that the user could save."""
    data = shown.page.evaluate(
        "async () => [...new Uint8Array(await (await keyframerViewer.stage.picture()).arrayBuffer())]"
    )
    return Image.open(io.BytesIO(bytes(data))).convert("RGB")


def colors(shown: Watched) -> int:
    return len(picture(shown).getcolors(1 << 24) or [])


def hidden_rows(shown: Watched) -> list[int]:
    """Return the nodes whose eye is closed."""
    pressed = shown.page.locator("#tree .row:has(.eye[aria-pressed=true])")
    return sorted(int(row.get_attribute("id")[len("node-") :]) for row in pressed.all())  # type: ignore[index]


def click_on(shown: Watched, node: int) -> None:
    """Click on the middle of a node's mesh."""
    x, y = shown.page.evaluate(
        """node => {
            const { stage } = keyframerViewer;
            const [mesh] = [...stage.owners].find(([, owner]) => owner === node);
            mesh.geometry.computeBoundingSphere();
            const at = mesh.geometry.boundingSphere.center.clone().applyMatrix4(mesh.matrixWorld).project(stage.eye);
            const { left, top, width, height } = stage.canvas.getBoundingClientRect();
            return [left + (at.x + 1) / 2 * width, top + (1 - at.y) / 2 * height];
        }""",
        node,
    )
    shown.page.mouse.click(x, y)


def test_eye_hides_a_node_with_its_children(shown: Watched) -> None:
    page = shown.page
    page.click("#grid")
    everything = picture(shown)
    assert page.locator("#show-all").is_disabled()
    page.click(f"#node-{TOWER} .eye")
    assert shown.state("node") is None  # the row is not selected
    assert hidden_rows(shown) == list(range(7))
    assert colors(shown) == 1  # only the background
    page.click(f"#node-{COCK} .eye")
    assert hidden_rows(shown) == list(range(6))
    assert 1 < colors(shown) < len(everything.getcolors(1 << 24) or [])
    page.click("#show-all")
    assert hidden_rows(shown) == []
    assert picture(shown).tobytes() == everything.tobytes()


def test_hiding_edges_and_sticks(shown: Watched) -> None:
    page = shown.page
    for button in ("grid", "edges", "bones"):
        page.click(f"#{button}")
    shown.settle()
    for node in (TOWER, 7, 8, 9, 10, 11):
        page.click(f"#node-{node} .eye")
    assert colors(shown) == 1
    page.click("#edges")
    page.click("#edges")
    shown.settle()
    assert colors(shown) == 1


def test_keys_hide_isolate_and_show_all(shown: Watched) -> None:
    page = shown.page
    page.focus("#tree")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("h")
    assert hidden_rows(shown) == [1, 2, 3, 4, 5]
    assert page.inner_text("#hide") == "Show"
    page.keyboard.press("h")
    assert hidden_rows(shown) == []
    page.click(f"#node-{COCK}")
    page.keyboard.press("i")
    assert hidden_rows(shown) == [node for node in range(12) if node != COCK]
    click_on(shown, TOWER)
    assert shown.state("node") == COCK  # what is hidden cannot be clicked
    page.keyboard.press("s")
    assert hidden_rows(shown) == []
    page.click(f"#node-{ROTOR} .eye")  # a sail may be before the middle of the tower
    click_on(shown, TOWER)
    assert shown.state("node") == TOWER
    page.click("#hide")
    shown.open_file(1)
    assert shown.state("hidden.size") == 0


SEEN = """points => {
    const { eye, controls } = keyframerViewer.stage;
    eye.updateMatrixWorld();
    const at = points.map(point => eye.position.clone().fromArray(point).project(eye));
    return { target: controls.target.toArray(), at: at.map(({ x, y }) => [x, y]) };
}"""


def test_zoom_to_the_selection(shown: Watched) -> None:
    """All its vertices are in view and fill most of it; the target is near the middle of them."""
    scene = keyframer.load(EXAMPLE)
    axes = Axes(scene.space)

    def seen(node: int) -> tuple[np.ndarray, Any]:
        mesh = scene.nodes[node].mesh
        assert mesh is not None
        matrix = to_y_up(scene.space.up) @ axes.matrices(keyframer.pose(scene, frames=[10]).world[0][node])
        points = np.asarray(scene.meshes[mesh].positions, float) @ matrix[:3, :3].T + matrix[:3, 3]
        return points, shown.page.evaluate(SEEN, points.tolist())

    shown.seek(10)
    for node in (SAIL, COCK):
        shown.page.click(f"#node-{node}")
        before = np.abs(np.ptp(np.array(seen(node)[1]["at"]), axis=0)).max()
        shown.page.keyboard.press("f")
        points, view = seen(node)
        middle, size = (points.min(axis=0) + points.max(axis=0)) / 2, np.ptp(points, axis=0).max()
        assert np.abs(np.array(view["target"]) - middle).max() < 0.1 * size
        at = np.array(view["at"])
        assert np.abs(at).max() < 1
        assert np.ptp(at, axis=0).max() > max(0.8, 2 * before)


def test_fitting_the_view_leaves_a_camera_of_the_file(shown: Watched) -> None:
    for button in ("zoom", "all"):
        shown.page.select_option("#camera", "0")
        assert shown.page.evaluate("() => keyframerViewer.stage.fileCamera !== null")
        shown.page.click(f"#{button}")
        assert shown.page.input_value("#camera") == "orbit"
        assert shown.page.evaluate("() => keyframerViewer.stage.fileCamera === null")


def test_skinned_mesh_is_fitted_and_selected(shown: Watched) -> None:
    """The square at the origin, which the exporter puts beside the tree, because bones move it."""
    shown.open_file([path.name for path in FILES].index("maxscript.u3d"))
    across, down = shown.page.evaluate("""() => {
        const { eye, canvas } = keyframerViewer.stage;
        const { left, top, width, height } = canvas.getBoundingClientRect();
        const { x, y } = eye.position.clone().set(0.5, 0.5, 0).project(eye);
        return [left + (x + 1) * width / 2, top + (1 - y) * height / 2];
    }""")
    shown.page.mouse.click(across, down)
    assert shown.state("info.nodes")[shown.state("node")]["name"] == "Square"
    shown.page.keyboard.press("h")
    shown.page.mouse.click(across, down)
    layers = "() => keyframerViewer.stage.model.meshes.map(mesh => mesh.layers.mask)"
    assert len(set(shown.page.evaluate(layers))) == 2
