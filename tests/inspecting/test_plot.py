"""Plots: contents of panels, valid and safe drawings, text in the terminal, motion paths."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.inspecting.charts import Dots, chart, panels_as_text, tick_text, ticks, value_range
from keyframer.inspecting.drawing import Area, Drawing, Line, Mark, TextLabel
from keyframer.inspecting.motion_paths import motion_paths, path_drawing, paths_as_text
from keyframer.inspecting.panels import (
    Panel,
    choose_channels,
    panel_of,
    raw_panel,
    rotation_vectors_degrees,
    track_panel,
)
from keyframer.markup import escape
from keyframer.scene import Channel, Clip, Node, RawChannel, Scene
from tests.building.scenes import as_read_from_a_file
from tests.cli.running import EXAMPLE

SVG = "{http://www.w3.org/2000/svg}"


def tcb(wrap: Wrap = Wrap.SINGLE, **columns: list[float]) -> Track:
    arrays = {name: np.array(column) for name, column in columns.items()}
    return Track(
        "position",
        np.array([0.0, 10, 20]),
        np.array([[0.0, 0, 0], [8, 1, 0], [0, 2, 0]]),
        Interpolation.TCB,
        wrap,
        **arrays,
    )


def test_curves_pass_through_their_keys() -> None:
    panel = panel_of(tcb(), "t", "frames", "units", (0.0, 30.0))
    assert panel.span == (0.0, 30.0)
    assert panel.keyed == (0.0, 20.0)
    assert [curve.name for curve in panel.curves] == ["x", "y", "z"]
    assert len(panel.keys) == 9
    for key in panel.keys:
        curve = panel.curves[key.curve]
        assert np.isclose(curve.values[np.searchsorted(curve.times, key.time)], key.value)
    middle = next(key for key in panel.keys if key.time == 10 and key.curve == 1)
    assert middle.value == 1.0
    # Catmull-Rom: y climbs evenly by 1 in 10 frames, so handles of a third of a segment climb a third
    assert middle.leaving == pytest.approx((10 + 10 / 3, 1 + 1 / 3), rel=1e-3)
    assert middle.arriving == pytest.approx((10 - 10 / 3, 1 - 1 / 3), rel=1e-3)
    first = next(key for key in panel.keys if key.time == 0)
    assert first.arriving is None
    assert first.leaving is not None


def test_ease_and_wrap_are_shown() -> None:
    eased = panel_of(tcb(ease_from=[0.5, 0, 0], ease_to=[0, 0, 0.25]), "t", "", "", None)
    assert eased.eases == [(0.0, 5.0), (17.5, 20.0)]
    assert eased.seams == []
    both = panel_of(tcb(ease_from=[1.0, 0, 0], ease_to=[0, 1.0, 0]), "t", "", "", None)
    assert both.eases == [(0.0, 5.0), (5.0, 10.0)]  # a sum above 1 is normalised
    loop = panel_of(tcb(Wrap.REPEAT), "t", "", "", (0.0, 50.0))
    assert loop.seams == [20.0, 40.0]
    assert "repeat" in loop.title
    assert [key.value for key in loop.keys if key.curve == 1] == [
        0.0,
        1.0,
        2.0,
    ]  # their own, also at the seam
    assert panel_of(tcb(Wrap.LOOP), "t", "", "", None).span == (0.0, 25.0)
    key = next(key for key in eased.keys if key.time == 0)
    assert key.tooltip == "key 0 at 0: 0, ease from 0.5"


@pytest.mark.parametrize("kind", [Interpolation.STEP, Interpolation.LINEAR, Interpolation.SAMPLED])
def test_linear_tracks_have_no_handles(kind: Interpolation) -> None:
    track = Track("fov", np.array([0.0, 10]), np.array([1.0, 5]), kind)
    panel = panel_of(track, "t", "", "", None)
    assert all(key.arriving is None and key.leaving is None for key in panel.keys)
    if kind is Interpolation.STEP:
        values = panel.curves[0].values
        assert set(values.tolist()) == {1.0, 5.0}
        assert np.count_nonzero(values == 5.0) == 1  # the jump is vertical


def test_rotations_increase_without_jumps() -> None:
    times = np.array([0.0, 10, 20])
    turns = np.array([[1.0, 0, 0, 0], [1, 0, 0, np.radians(500)], [1, 0, 0, np.radians(500)]])
    track = Track("rotation", times, turns, Interpolation.LINEAR, form=RotationForm.AXIS_ANGLE_RELATIVE)
    panel = panel_of(track, "t", "", "degrees", None)
    about_x = panel.curves[0].values
    assert np.isclose(np.abs(about_x[-1]), 1000)
    assert np.abs(np.diff(about_x)).max() < 30
    assert np.allclose(panel.curves[1].values, 0)


def test_rotation_vectors() -> None:
    angles = np.radians([0, 100, 200, 300, 360, 460, 600, 720])
    halves = np.stack([np.zeros(8), np.sin(angles / 2), np.zeros(8), np.cos(angles / 2)], axis=1)
    assert np.allclose(rotation_vectors_degrees(halves)[:, 1], np.degrees(angles))
    assert np.allclose(rotation_vectors_degrees(-halves)[1:2, 1], 100)
    assert np.allclose(rotation_vectors_degrees(halves[:1], (0, 360, 0)), (0, 360, 0))


def test_selection_of_channels() -> None:
    scene = keyframer.load(EXAMPLE)
    assert {channel.track.kind for channel in choose_channels(scene, [], ["position"])} == {"position"}
    assert {scene.nodes[channel.node].name for channel in choose_channels(scene, ["Sail*"])} >= {"Sail1", "Sail2"}
    assert all(len(channel.track.times) > 1 for channel in choose_channels(scene))
    with pytest.raises(LookupError, match="no node is named 'nobody'"):
        choose_channels(scene, ["nobody"])
    with pytest.raises(LookupError, match="kind 'taste'"):
        choose_channels(scene, [], ["taste"])
    panel = track_panel(scene, scene.clips[0], choose_channels(scene, ["Camera"], ["position"])[0])
    assert panel.x_label == "frames (30 per second)"
    assert panel.y_label == "units of 0.0254 m"


def parsed(drawing: Drawing) -> ET.Element:
    return ET.fromstring(drawing.svg())


def test_chart_is_complete_svg() -> None:
    panel = panel_of(tcb(Wrap.REPEAT, ease_from=[0.5, 0, 0]), "Box: position", "frames", "units", (0.0, 30.0))
    root = parsed(chart([panel, panel], "box.3ds"))
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert {"box.3ds", "frames", "units", "x", "y", "z", "ease", "wrap", "0", "10", "20"} <= set(texts)
    dashed = [line for line in root.iter(f"{SVG}polyline") if line.get("stroke-dasharray")]
    assert len(dashed) >= 8  # seams, and what lies outside the keys
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert any(title.startswith("key 1 at 10") for title in titles)
    assert parsed(chart([])).findtext(f"{SVG}text") == "no animation"


def test_chart_as_png() -> None:
    panel = panel_of(tcb(ease_from=[0.5, 0, 0]), "Box: position", "frames", "units", None)
    data = chart([panel], "box.3ds").png()
    assert data == chart([panel], "box.3ds").png()
    with Image.open(io.BytesIO(data)) as picture:
        assert picture.size == (820, 234)
        colors = picture.convert("RGB").getcolors(1 << 16)
        assert colors is not None
        assert len(colors) > 50
    with pytest.raises(ValueError, match="too large for PNG"):
        Drawing(100_000, 100_000).png()


HOSTILE = "<script>alert(1)</script>&\"' \x1b[31m\u202e\x00\ufffe ]]> javascript:"


def test_text_from_files_is_escaped() -> None:
    drawing = Drawing(10, 10, HOSTILE)
    drawing.add(TextLabel((0, 0), HOSTILE), Mark((0, 0), "#000000", title=HOSTILE), Line([(0, 0), (1, 1)], "#000000"))
    drawing.add(Mark((1, 1), "#000000", shape="dot"), Area([(0, 0), (1, 1), (0, 1)], "#000000", 0.5))
    text = drawing.svg()
    root = ET.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        "svg", "title", "rect", "text", "polygon", "polyline", "circle",
    }  # fmt: skip
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(name.startswith("on") or "href" in name for element in root.iter() for name in element.attrib)
    drawing.png()


@pytest.mark.parametrize("quote", ['"', "'"])
def test_quotes_are_escaped(quote: str) -> None:
    """Escaped text cannot end an attribute, whichever quotes surround it."""
    text = f"a{quote} onload={quote}alert(1)"
    element = ET.fromstring(f"<g id={quote}{escape(text)}{quote}/>")
    assert element.attrib == {"id": text}
    drawing = Drawing(10, 10, text)
    drawing.add(TextLabel((0, 0), text), Mark((0, 0), "#000000", title=text))
    assert f"a{quote}" not in drawing.svg()
    assert [part.text for part in parsed(drawing).iter() if part.text and "alert" in part.text] == [text] * 3


def test_ticks_are_at_round_numbers() -> None:
    assert ticks(0, 100, 10) == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert ticks(-0.3, 0.3, 4) == pytest.approx([-0.2, 0, 0.2])
    assert ticks(1, 1, 4) == []
    assert ticks(0, np.inf, 4) == []
    assert [tick_text(value, (0, 1)) for value in (0, 0.25, 1)] == ["0", "0.25", "1"]
    assert tick_text(1e9, (0, 2e9)) == "1e+09"


def test_constant_value_has_a_range() -> None:
    panel = panel_of(Track("fov", np.array([0.0, 5]), np.array([45.0, 45])), "t", "", "", None)
    low, high = value_range(panel)
    assert low < 44 < 46 < high


@pytest.mark.parametrize("times", [[], [np.nan], [0.0, np.inf], [5.0, 5.0, 5.0], [1e300, -1e300]])
@as_read_from_a_file()
def test_unusual_tracks_are_plotted(times: list[float]) -> None:
    track = Track("position", np.array(times), np.full((len(times), 3), 1e30), Interpolation.TCB)
    panel = panel_of(track, "t", "", "", None)
    parsed(chart([panel]))
    panels_as_text([panel])


def test_raw_channels() -> None:
    raw = RawChannel("mystery", np.arange(60.0).reshape(3, 20))
    panel = raw_panel(raw)
    assert len(panel.curves) == 12
    assert panel.curves[1].values.tolist() == [1.0, 21.0, 41.0]


def test_dots_in_the_terminal() -> None:
    dots = Dots(2, 1)
    dots.line([0.0, 1.0], [1.0, 1.0], 0)  # along the top
    assert list(dots.lines(False)) == ["⠉⠉"]
    dots.mark(0.0, 0.0, "◆", 1)
    assert list(dots.lines(False)) == ["◆⠉"]
    assert list(dots.lines(True)) == ["\x1b[32m◆\x1b[0m\x1b[31m⠉\x1b[0m"]
    dots.dot(7.0, 0.5, 0)  # outside: nothing happens


def test_plot_in_the_terminal() -> None:
    text = panels_as_text([panel_of(tcb(), "Box\x1b[31m", "frames", "units", None)], 60, 8)
    lines = text.splitlines()
    assert lines[0].startswith("Box\\x1b[31m (tcb")
    assert max(map(len, lines)) <= 60
    assert text.count("◆") >= 3
    assert "x, y, z in units" in text
    assert "\x1b" not in text
    assert "\x1b[31m" in panels_as_text([panel_of(tcb(), "Box", "", "", None)], colored=True)
    assert panels_as_text([]) == "no animation\n"


def moving() -> Scene:
    track = Track("position", np.array([0.0, 7.5, 20]), np.array([[0.0, 0, 0], [8, 1, 4], [0, 2, 0]]))
    return Scene(nodes=[Node("Box <b>")], clips=[Clip("c", [Channel(0, track)], 0, 20)])


def test_motion_path_of_a_node() -> None:
    scene = moving()
    (path,) = motion_paths(scene, [0], [float(frame) for frame in range(21)])
    assert len(path.frames) == 22  # the key between two frames is there, too
    assert [path.frames[key] for key in path.keys] == [0.0, 7.5, 20.0]
    assert np.allclose(path.positions[path.keys[1]], (8, 1, 4))
    root = parsed(path_drawing(scene, [path], "t"))
    words = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert {"t", "Box <b>", "0", "20", "x", "y", "z", "x, y, z in file units"} <= set(words)
    assert any((element.text or "").startswith("key at 7.5: 8, 1, 4") for element in root.iter(f"{SVG}title"))
    text = paths_as_text(scene, [path], 60, 12)
    assert text.count("◆") >= 1
    assert "frames 0 ○ to 20 ●; x 0..8, y 0..2, z 0..4 file units" in text


def test_motion_path_of_a_static_node() -> None:
    scene = Scene(nodes=[Node("a")], clips=[Clip()])
    path_drawing(scene, motion_paths(scene, [0], [0.0, 1.0])).png()


def crowded(count: int) -> Panel:
    times = np.linspace(0, 100, count)
    track = Track("position", times, np.stack([np.sin(times), np.cos(times), times / 100], 1))
    return panel_of(track, "many", "frames", "units", None)


@pytest.mark.parametrize(("count", "most"), [(5, 5.0), (150, 740 / 150), (400, 2.0)])
def test_key_marks_are_spaced(count: int, most: float) -> None:
    marks = [shape for shape in chart([crowded(count)]).shapes if isinstance(shape, Mark)]
    assert len(marks) == 3 * count
    assert {mark.size <= most for mark in marks} == {True}
    assert min(mark.size for mark in marks) >= 2.0


def test_overlapping_handles_are_left_out() -> None:
    def handles(count: int) -> int:
        times = np.linspace(0, 100, count)
        track = Track("fov", times, np.sin(times), Interpolation.TCB)
        panel = panel_of(track, "many", "frames", "degrees", None)
        assert any(key.leaving for key in panel.keys)
        return sum(isinstance(shape, Mark) and shape.shape == "ring" for shape in chart([panel]).shapes)

    assert handles(20) > 20
    assert handles(200) == 0


def test_many_keys_do_not_cover_the_curve_in_a_terminal() -> None:
    assert panels_as_text([crowded(10)], 80, 10).count("◆") > 10
    text = panels_as_text([crowded(400)], 80, 10)
    assert "◆" not in text
    assert len([character for character in text if "\u2800" < character <= "\u28ff"]) > 60


EXTREME_NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-310)


@pytest.mark.parametrize("interpolation", [Interpolation.TCB, Interpolation.LINEAR, Interpolation.STEP])
@pytest.mark.parametrize("odd", EXTREME_NUMBERS)
def test_extreme_keys_are_drawn_without_warnings(odd: float, interpolation: Interpolation) -> None:
    """Numpy warnings are errors here."""
    for wrap in Wrap:
        for row in range(3):
            values = np.array([[0.0, 1e308, 0], [8, -1e308, 0], [0, 2, odd]])
            values[row, 0] = odd
            panel = panel_of(
                Track("position", np.array([0.0, 10, 20]), values, interpolation, wrap), "t", "f", "u", None
            )
            assert len(panel.keys) == 9
            drawn = chart([panel]).svg()
            ET.fromstring(drawn)
            assert not re.search(r'(points|cx|cy)="[^"]*(nan|inf)', drawn)
            assert panels_as_text([panel])


@pytest.mark.parametrize("odd", EXTREME_NUMBERS)
@as_read_from_a_file()
def test_motion_paths_at_an_extreme_rate(odd: float) -> None:
    track = Track("position", np.array([0.0, 1e300]), np.array([[0.0, 0, 0], [1, 1, 1]]), Interpolation.LINEAR)
    scene = Scene(nodes=[Node("a")], clips=[Clip("c", [Channel(0, track)], units_per_frame=odd)])
    paths = motion_paths(scene, [0], [0.0, 1.0])
    ET.fromstring(path_drawing(scene, paths).svg())
    assert paths_as_text(scene, paths, 40, 10)
