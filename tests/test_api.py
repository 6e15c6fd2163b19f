"""The public functions that decode, encode, read, write, detect, load, convert and render."""

from __future__ import annotations

import inspect
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats.foreign_files import describe_foreign_file
from keyframer.formats.threeds import records
from tests.samples import FOLDER, sample_files, unhex

TRACKS = FOLDER / "3ds" / "tracks.3ds"
WINDMILL = FOLDER / "3ds" / "windmill.3ds"
DATA = TRACKS.read_bytes()


class TestFormats:
    def test_ids(self) -> None:
        names = [known.name for known in keyframer.supported_formats()]
        assert names[0] == "3ds"
        assert set(names) >= {"3ds", "uto3d", "hale3d", "midtown", "nodeanim", "ase"}
        assert len(set(names)) == len(names)

    def test_every_format_has_a_title_extensions_and_record_types(self) -> None:
        for known in keyframer.supported_formats():
            assert known.title
            assert all(extension.startswith(".") and extension == extension.lower() for extension in known.extensions)
            assert known.record_types()
            assert known.record_types()
            assert known.name in repr(known)
        threeds = format_by_name("3ds")
        assert (threeds.title, threeds.extensions) == ("3D Studio", (".3ds", ".prj", ".mli", ".shp", ".lft"))
        assert threeds.puids() == ("x-fmt/19", "x-fmt/102", "fmt/1830", "fmt/1831")

    @pytest.mark.parametrize("name", ["4ds", "", "3DS", "obj"])
    def test_unknown_format_raises_value_error(self, name: str) -> None:
        for action in (lambda: keyframer.decode(DATA, format=name), lambda: keyframer.read(TRACKS, format=name)):
            with pytest.raises(ValueError, match=r"unknown format .* \(known: 3ds"):
                action()


class TestDecode:
    def test_decode_returns_a_document(self) -> None:
        document = keyframer.decode(DATA)
        assert isinstance(document, keyframer.Document)
        assert document.format.name == "3ds"
        assert isinstance(document.issues, keyframer.IssueLog)
        assert keyframer.encode(document) == DATA

    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_decode_accepts_any_buffer_type(self, kind: type) -> None:
        assert keyframer.encode(keyframer.decode(kind(DATA))) == DATA
        assert keyframer.detect(kind(DATA)).score == 1.0

    def test_changing_the_buffer_does_not_change_the_document(self) -> None:
        buffer = bytearray(DATA)
        document = keyframer.decode(buffer)  # type: ignore[arg-type]
        buffer[:] = bytes(len(buffer))
        assert keyframer.encode(document) == DATA

    @pytest.mark.parametrize("name", [None, "3ds"])
    def test_decoding_no_bytes_raises_io_empty(self, name: str | None) -> None:
        with pytest.raises(keyframer.FormatError) as caught:
            keyframer.decode(b"", format=name)
        assert (caught.value.code, caught.value.offset, caught.value.path) == ("IO_EMPTY", 0, "/")

    def test_format_can_be_forced(self) -> None:
        """A main chunk that begins with an unknown chunk is not detected as any format."""
        data = unhex("4d 4d 0e 00 00 00  77 77 08 00 00 00 01 02")
        with pytest.raises(keyframer.FormatError, match="IO_UNRECOGNISED"):
            keyframer.decode(data)
        assert keyframer.encode(keyframer.decode(data, format="3ds")) == data

    def test_arrays_are_read_only(self) -> None:
        track = keyframer.decode(DATA).first(records.RotationTrack)
        assert track is not None
        with pytest.raises(ValueError, match="read-only"):
            track.keys.time[0] = 5


class TestReadAndWrite:
    def test_paths_and_streams(self, tmp_path: Path) -> None:
        for source in (TRACKS, str(TRACKS), io.BytesIO(DATA)):
            assert keyframer.encode(keyframer.read(source)) == DATA
        document = keyframer.read(TRACKS, format="3ds")
        keyframer.write(document, tmp_path / "copy.3ds")
        keyframer.write(document, str(tmp_path / "copy2.3ds"))
        assert (tmp_path / "copy.3ds").read_bytes() == (tmp_path / "copy2.3ds").read_bytes() == DATA

    def test_existing_files_are_not_overwritten_by_default(self, tmp_path: Path) -> None:
        document = keyframer.read(TRACKS)
        target = tmp_path / "a.3ds"
        target.write_bytes(b"old")
        with pytest.raises(FileExistsError):
            keyframer.write(document, target)
        assert target.read_bytes() == b"old"
        keyframer.write(document, target, overwrite=True)
        assert target.read_bytes() == DATA

    def test_failed_write_leaves_the_old_file(self, tmp_path: Path) -> None:
        document = keyframer.read(TRACKS)
        pivot = document.first(records.Pivot)
        pivot.pivot = (1.0, 2.0)
        target = tmp_path / "a.3ds"
        target.write_bytes(b"old")
        with pytest.raises(ValueError, match=r"Pivot\.pivot: expected 3 numbers, not 2"):
            keyframer.write(document, target, overwrite=True)
        assert [path.name for path in tmp_path.iterdir()] == ["a.3ds"]
        assert target.read_bytes() == b"old"

    def test_file_can_be_overwritten_with_its_edited_document(self, tmp_path: Path) -> None:
        path = tmp_path / "a.3ds"
        path.write_bytes(DATA)
        document = keyframer.read(path)
        header = document.first(records.KeyframerHeader)
        header.name = b"CHANGED"
        keyframer.write(document, path, overwrite=True)
        assert keyframer.read(path).first(records.KeyframerHeader).name == b"CHANGED"

    def test_errors_of_the_system_are_raised_unchanged(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            keyframer.read(tmp_path / "missing.3ds")
        with pytest.raises(OSError):
            keyframer.read(tmp_path)
        with pytest.raises(FileNotFoundError):
            keyframer.write(keyframer.decode(DATA), tmp_path / "no" / "a.3ds")

    def test_reading_an_empty_file_raises_io_empty(self, tmp_path: Path) -> None:
        (tmp_path / "a.3ds").touch()
        for source in (tmp_path / "a.3ds", io.BytesIO(b"")):
            with pytest.raises(keyframer.FormatError, match="IO_EMPTY"):
                keyframer.read(source)

    def test_file_size_limit_is_enforced(self) -> None:
        for source in (TRACKS, io.BytesIO(DATA)):
            with pytest.raises(keyframer.FormatError, match="LIMIT_FILE_SIZE"):
                keyframer.read(source, limits=keyframer.Limits(file_size=100))

    def test_reading_opens_one_file_and_no_socket(self, tmp_path: Path) -> None:
        """The interpreter's audit events are counted in a separate process."""
        script = """
import sys, keyframer
from keyframer.formats.threeds import document  # all modules are imported before counting
import keyframer.exchange.opening
keyframer.decode(open(sys.argv[1], "rb").read())
seen = []
watch = ("open", "socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.exec")
sys.addaudithook(lambda event, args: seen.append((event, str(args[0]))) if event in watch else None)
keyframer.read(sys.argv[1])
print(seen)
"""
        target = FOLDER / "3ds" / "windmill.3ds"  # it names textures
        done = subprocess.run(
            [sys.executable, "-c", script, target], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.strip() == str([("open", str(target))])


class TestDetect:
    @pytest.mark.parametrize(
        ("hex_data", "score", "words"),
        [
            ("4d 4d 10 00 00 00  02 00 0a 00 00 00 03 00 00 00", 1.0, "scene: begins with 4d4d and 0002"),
            ("4d 4d 0c 00 00 00  3d 3d 06 00 00 00", 1.0, "scene: begins with 4d4d and 3d3d"),
            ("4d 4d 0c 00 00 00  00 b0 06 00 00 00", 1.0, "scene: begins with 4d4d and b000"),
            ("3d c2 0c 00 00 00  00 c0 06 00 00 00", 1.0, "project: begins with c23d and c000"),
            ("aa 3d 0c 00 00 00  ff af 06 00 00 00", 1.0, "material library: begins with 3daa and afff"),
            ("3d 3d 10 00 00 00  3e 3d 0a 00 00 00 03 00 00 00", 1.0, "bare editor data: begins with 3d3d and 3d3e"),
            ("4d 4d 10 00 00 00  02 00 0a 00 00 00 03 00 00 00 ff", 0.9, "1 byte after the end"),
            ("4d 4d 11 00 00 00  02 00 0a 00 00 00 03 00 00 00", 0.7, "1 byte missing at the end"),
            ("2d 2d 0c 00 00 00  11 50 06 00 00 00", 1.0, "shapes: begins with 2d2d and 5011"),
            ("3d 2d 10 00 00 00  00 01 0a 00 00 00 00 00 80 3f", 1.0, "loft: begins with 2d3d and 0100"),
            ("4d 4d 06 00 00 00", 0.6, "an empty scene"),
        ],
    )
    def test_3ds(self, hex_data: str, score: float, words: str) -> None:
        detection = keyframer.detect(unhex(hex_data))
        assert (detection.format.name, detection.score) == ("3ds", score)
        assert words in detection.reason

    def test_version(self) -> None:
        assert keyframer.detect(unhex("4d 4d 10 00 00 00  02 00 0a 00 00 00 03 00 00 00")).version == "3"

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "empty file"),
            (b"MM\x00*\0\0\0\x08" + bytes(20), "a TIFF image"),
            (b"II*\0" + bytes(20), "a TIFF image"),
            (b"\x00\x05\x16\x07" + bytes(20), "AppleDouble"),
            (b"\x00\x05\x16\x00" + bytes(20), "AppleSingle"),
            (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
            (b"PK\x03\x04" + bytes(20), "zip"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20), "3ds Max"),
            (b"hello\r\n\tworld", "a text file"),
            (b"\x89PNG\r\n\x1a\n" + bytes(20), "PNG"),
            (b"\x01\x02\x03" + bytes(20), "not a file of a known format"),
        ],
    )
    def test_foreign_files_are_named(self, data: bytes, words: str) -> None:
        detection = keyframer.detect(data)
        assert detection.format is None
        assert detection.score == 0
        assert words in detection.reason
        if data:
            with pytest.raises(keyframer.FormatError) as caught:
                keyframer.decode(data)
            assert caught.value.code == "IO_UNRECOGNISED"
            assert caught.value.message == detection.reason

    def test_first_bytes_are_enough_for_detection(self) -> None:
        whole = (FOLDER / "3ds" / "windmill.3ds").read_bytes()
        assert repr(keyframer.detect(whole[:4096], size=len(whole))) == repr(keyframer.detect(whole))

    def test_the_extension_does_not_outweigh_the_content(self) -> None:
        for name in ("x.anim", "x.u3d", "x", "x.3ds.zip"):
            format = keyframer.detect(DATA, name=name).format
            assert format.name == "3ds"

    def test_samples_of_other_formats_are_not_detected_as_3ds(self) -> None:
        for known in keyframer.supported_formats():
            if known.name != "3ds":
                for path in sample_files(known.name):
                    detected = keyframer.detect(path.read_bytes()).format
                    assert detected is None or detected.name != "3ds", path.name

    @pytest.mark.parametrize("data", [b"", b"\xf0", b"\xff" * 600, bytes(600)])
    def test_unrecognised_foreign_files_are_not_named(self, data: bytes) -> None:
        assert describe_foreign_file(data) is None


def test_every_public_function_is_documented() -> None:
    for name in keyframer.__all__:
        thing = getattr(keyframer, name)
        if not isinstance(thing, str):
            assert inspect.getdoc(thing), name


class TestLoadConvertRender:
    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, io.BytesIO])
    def test_load_takes_bytes_and_streams(self, kind: Any) -> None:
        scene = keyframer.load(kind(DATA))
        assert [node.name for node in scene.nodes] == [node.name for node in keyframer.load(TRACKS).nodes]

    def test_load_takes_documents(self) -> None:
        document = keyframer.read(TRACKS)
        assert len(keyframer.load(document).nodes) == len(keyframer.load(TRACKS).nodes)

    def test_file_size_limit_applies_to_bytes(self) -> None:
        with pytest.raises(keyframer.FormatError, match="LIMIT_FILE_SIZE"):
            keyframer.load(DATA, limits=keyframer.Limits(file_size=10))

    def test_convert(self, tmp_path: Path) -> None:
        target = tmp_path / "a.glb"
        report = keyframer.convert(WINDMILL, target, keys="frames", reader_options={"fps": 24})
        assert isinstance(report, keyframer.LossReport)
        assert target.read_bytes()[:4] == b"glTF"
        assert keyframer.load(target).clips[0].frames_per_second == 24
        with pytest.raises(FileExistsError):
            keyframer.convert(WINDMILL, target)
        keyframer.convert(WINDMILL.read_bytes(), tmp_path / "b.nanim", format="nodeanim")
        with pytest.raises(ValueError, match=r"has no option 'kees'.*did you mean 'keys'"):
            keyframer.convert(WINDMILL, tmp_path / "c.glb", kees="frames")

    def test_convert_does_not_overwrite_its_source(self, tmp_path: Path) -> None:
        source = tmp_path / "a.3ds"
        source.write_bytes(DATA)
        (tmp_path / "link.3ds").hardlink_to(source)
        for target in (source, tmp_path / "link.3ds"):
            with pytest.raises(OSError, match="is an input of this run"):
                keyframer.convert(source, target, overwrite=True)
        assert source.read_bytes() == DATA

    def test_render(self, tmp_path: Path) -> None:
        scene = keyframer.load(WINDMILL)
        picture = keyframer.render(scene, size=(40, 30), frame=10)
        assert (picture.size, picture.mode) == ((40, 30), "RGB")
        picture.save(tmp_path / "a.png")
        assert keyframer.render(scene, size=16, background=None).mode == "RGBA"
        with pytest.raises(LookupError, match="did you mean 'Camera'"):
            keyframer.render(scene, camera="camra")


class TestScenesAndFiles:
    """Functions that show a scene take a file instead, and clips and nodes by name."""

    @pytest.fixture
    def two_clips(self) -> keyframer.Scene:
        """A node that moves to the right in the clip ``walk`` and to the left in ``run``."""

        def clip(name: str, way: float) -> keyframer.Clip:
            track = keyframer.Track("position", [0, 10], [[0, 0, 0], [way, 0, 0]])
            return keyframer.Clip(name, [keyframer.Channel(0, track)], end=10)

        mesh = keyframer.Mesh("m", [[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 1, 2]])
        nodes = [keyframer.Node("Walker", mesh=0), keyframer.Node("Post", mesh=0)]
        return keyframer.Scene(nodes, [mesh], clips=[clip("walk", 4), clip("run", -8)])

    @pytest.mark.parametrize("source", [WINDMILL, str(WINDMILL), WINDMILL.read_bytes()], ids=["path", "text", "bytes"])
    def test_files_are_loaded(self, source: Any) -> None:
        scene = keyframer.load(WINDMILL)
        assert keyframer.pose(source, frames=[7]).world.tolist() == keyframer.pose(scene, frames=[7]).world.tolist()
        assert keyframer.render(source, size=32).tobytes() == keyframer.render(scene, size=32).tobytes()
        assert "about x" in keyframer.plot(source, node="Rotor").svg()

    def test_clips_by_name(self, two_clips: keyframer.Scene) -> None:
        for clip, x in (("walk", 4.0), ("run", -8.0), (0, 4.0), (1, -8.0)):
            assert keyframer.pose(two_clips, frames=[10], clip=clip).world[0, 0, 0, 3] == x
            assert keyframer.Rig(two_clips, clip).clip.channels[0].track.values[1, 0] == x
            assert [channel.track.values[1, 0] for channel in two_clips.channels_of("Walker", clip)] == [x]
            assert f"{x:g}" in keyframer.plot(two_clips, clip=clip).svg()
        walk, run = (keyframer.render(two_clips, frame=1, clip=clip, size=32).tobytes() for clip in ("walk", "run"))
        assert walk == keyframer.render(two_clips, frame=1, size=32).tobytes() != run
        assert len(two_clips.clips) == 2

    @pytest.mark.parametrize("clip", ["runs", 2, -1])
    def test_unknown_clips(self, two_clips: keyframer.Scene, clip: int | str) -> None:
        words = "no clip is named 'runs' .*did you mean 'run'" if clip == "runs" else f"clip {clip} does not exist: the"
        for action in (keyframer.pose, keyframer.render, keyframer.plot):
            arguments = {"frames": [0]} if action is keyframer.pose else {}
            with pytest.raises(LookupError, match=words):
                action(two_clips, clip=clip, **arguments)  # type: ignore[operator]

    def test_vertices_by_name(self) -> None:
        posed = keyframer.pose(WINDMILL, frames=[0, 5])
        sail = posed.scene.find("Sail1")
        assert posed.vertices("Sail1").tolist() == posed.vertices(sail).tolist()
        with pytest.raises(LookupError, match="no node is named 'Sail9'"):
            posed.vertices("Sail9")
        with pytest.raises(LookupError, match="node 99 does not exist: the scene has 12 nodes"):
            posed.vertices(99)

    def test_plots(self, tmp_path: Path) -> None:
        drawing = keyframer.plot(WINDMILL, node="Rot*", track="rotation", span=(0, 10))
        assert repr(drawing) == f"<Drawing 'windmill.3ds': {drawing.width} x {drawing.height}>"
        drawing.save(tmp_path / "a.svg")
        drawing.save(tmp_path / "a.png")
        assert (tmp_path / "a.svg").read_text(encoding="utf-8") == drawing.svg() == drawing._repr_svg_()
        assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
        with pytest.raises(ValueError, match=r"drawings are \.svg or \.png, not '\.gif'"):
            drawing.save(tmp_path / "a.gif")
        with pytest.raises(FileExistsError):
            drawing.save(tmp_path / "a.svg")
        with pytest.raises(LookupError, match="no node is named 'Nobody'"):
            keyframer.plot(WINDMILL, node="Nobody")


class TestStreams:
    @pytest.mark.parametrize(("format", "extension"), [("gltf", ".glb"), ("3ds", ".3ds"), ("ase", ".ase")])
    def test_stream_gets_the_bytes_of_the_file(self, tmp_path: Path, format: str, extension: str) -> None:
        scene, stream = keyframer.load(WINDMILL), io.BytesIO()
        report = keyframer.save(scene, stream, format=format)
        expected = keyframer.save(scene, tmp_path / f"a{extension}")
        assert stream.getvalue() == (tmp_path / f"a{extension}").read_bytes()
        assert (report.summary(), report.written) == (expected.summary(), [])

    def test_streams_need_a_format_and_bytes(self) -> None:
        scene = keyframer.load(WINDMILL)
        with pytest.raises(ValueError, match="a stream has no extension: give the id of a format"):
            keyframer.save(scene, io.BytesIO())
        with pytest.raises(ValueError, match="expected a binary stream"):
            keyframer.save(scene, io.StringIO(), format="gltf")  # type: ignore[arg-type]

    def test_scene_of_several_files_is_refused(self) -> None:
        stream = io.BytesIO()
        with pytest.raises(ValueError, match="several files in the format gltf: give a path"):
            keyframer.save(keyframer.load(WINDMILL), stream, format="gltf", dialect="text")
        assert stream.getvalue() == b""


def test_report_says_that_a_track_overrides_a_changed_position(tmp_path: Path) -> None:
    scene = keyframer.load(WINDMILL)
    scene.node("Tower").position = scene.node("Tower").position + 5
    with pytest.warns(UserWarning, match="use scene.move"):
        report = keyframer.save(scene, tmp_path / "a.3ds")
    (loss,) = (loss for loss in report if loss.path == "/nodes/0/position")
    instead = "use scene.move, change the keys of the track, or remove its channel"
    assert (loss.type.key, loss.args, loss.advice) == ("EDIT_NOT_STORED:overridden", {"kind": "position"}, instead)
    help_text = inspect.getdoc(keyframer.Node) or ""
    assert "a ``position`` track of the node overrides it" in help_text


READING = "expected a path, a stream open for binary reading, or bytes, not"


@pytest.mark.parametrize(("value", "words"), [(None, "None"), (3, "an int"), ([], "a list"), ({}, "a dict")])
def test_wrong_types_say_what_is_wanted(value: Any, words: str, tmp_path: Path) -> None:
    for read in (keyframer.load, keyframer.read, keyframer.check, keyframer.plot, keyframer.render, keyframer.salvage):
        with pytest.raises(TypeError) as caught:
            read(value)
        assert str(caught.value) == f"{READING} {words}", read
    with pytest.raises(TypeError, match=f"^{READING} {words}$"):
        keyframer.pose(value, frames=[0])
    with pytest.raises(TypeError, match=f"^{READING} {words}$"):
        keyframer.convert(value, tmp_path / "a.glb")
    for of_bytes in (keyframer.decode, keyframer.detect):
        with pytest.raises(TypeError, match=f"^expected bytes.*, not {words}$"):
            of_bytes(value)
    scene, document = keyframer.load(WINDMILL), keyframer.read(WINDMILL)
    with pytest.raises(TypeError, match=rf"^expected a scene \(keyframer.load returns one\), not {words}$"):
        keyframer.save(value, tmp_path / "a.glb")
    with pytest.raises(TypeError, match=rf"^expected a document \(keyframer.read returns one; .*\), not {words}$"):
        keyframer.write(value, tmp_path / "a.3ds")
    for written in (lambda: keyframer.save(scene, value), lambda: keyframer.write(document, value)):
        with pytest.raises(TypeError, match=f"^expected a path or a stream open for binary writing, not {words}$"):
            written()
    assert not list(tmp_path.iterdir())


def test_wrong_kinds_of_our_own_say_what_is_wanted(tmp_path: Path) -> None:
    scene, document = keyframer.load(WINDMILL), keyframer.read(WINDMILL)
    with pytest.raises(TypeError, match=r"not a Document$"):
        keyframer.save(document, tmp_path / "a.glb")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"keyframer\.save writes scenes.*not a Scene$"):
        keyframer.write(scene, tmp_path / "a.3ds")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a binary stream"):
        keyframer.read(io.StringIO(""))  # type: ignore[arg-type]


def test_write_takes_a_stream() -> None:
    stream = io.BytesIO(b"before")
    stream.seek(0, os.SEEK_END)
    keyframer.write(keyframer.read(WINDMILL), stream)
    assert stream.getvalue() == b"before" + WINDMILL.read_bytes()
    with pytest.raises(ValueError, match="expected a binary stream"):
        keyframer.write(keyframer.read(WINDMILL), io.StringIO())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a.glb", "a.3ds", "a.gltf"])
def test_a_missing_folder_is_named(tmp_path: Path, name: str) -> None:
    missing = tmp_path / "nowhere" / "deeper"
    scene, document = keyframer.load(WINDMILL), keyframer.read(WINDMILL)
    for write in (lambda: keyframer.save(scene, missing / name), lambda: keyframer.write(document, missing / name)):
        with pytest.raises(FileNotFoundError) as caught:
            write()
        assert caught.value.filename == str(missing)
        assert str(caught.value) == f"[Errno 2] there is no such folder: '{missing}'"
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError) as caught_file:
        keyframer.save(scene, tmp_path / "file" / name)
    assert caught_file.value.filename == str(tmp_path / "file")
