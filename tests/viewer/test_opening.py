"""Files that are dropped on the page: who may send them, how the request is parsed, and that no file is opened or
written."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.limits import Limits
from keyframer.viewer import Viewer
from keyframer.viewer.dropped_files import MOST_FILES, BadDrop, DroppedFile, dropped_files, view_dropped
from keyframer.viewer.resources import Resources
from tests.building import containers
from tests.building.images import picture
from tests.viewer.browser import Browser
from tests.viewer.foreign_gltf import write_foreign
from tests.viewer.hostile import hostile_file
from tests.viewer.opening import EXAMPLE, SAMPLES, assets, viewed
from tests.viewer.raw import Answer, ask, exchange, parse, session
from tests.viewer.test_server import WRONG_COOKIES, WRONG_ORIGINS, check_headers
from tests.waiting import PATIENCE

LIMITS = Limits(file_size=1 << 20)


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Viewer]:
    running = Viewer(viewed(SAMPLES / "3ds/tracks.3ds"), assets=assets(tmp_path), limits=LIMITS)
    yield running
    running.close()


def body_of(*files: tuple[str, bytes]) -> bytes:
    index = json.dumps([[name, len(data)] for name, data in files]).encode()
    return struct.pack("<I", len(index)) + index + b"".join(data for _, data in files)


def post(viewer: Viewer, body: bytes, path: str = "/open", method: str = "POST", **headers: str | None) -> Answer:
    """Send a request as the page does, with some headers changed."""
    right: dict[str, str | None] = {
        "Origin": f"http://127.0.0.1:{viewer.port}",
        "Cookie": session(viewer),
        "X_Keyframer_Open": "yes",
        "Content_Length": str(len(body)),
    }
    return ask(viewer, path, method, body, **(right | headers))


def count(viewer: Viewer) -> int:
    return len(viewer.resources.files)


WINDMILL = body_of(("windmill.3ds", EXAMPLE.read_bytes()))


def test_dropped_files_are_shown_after_the_others(viewer: Viewer) -> None:
    answer = post(viewer, WINDMILL)
    assert answer.status == 200
    check_headers(answer)
    content = json.loads(answer.body)
    assert content["opened"] == [1]
    assert [file["name"] for file in content["files"]][1] == "windmill.3ds"
    scene = json.loads(ask(viewer, "/data/1/scene", Cookie=session(viewer)).body)
    assert [node["name"] for node in scene["nodes"]][:2] == ["Tower", "Rotor"]
    assert ask(viewer, "/data/1/model", Cookie=session(viewer)).body[:4] == b"glTF"
    assert ask(viewer, "/data/1/bytes/0", Cookie=session(viewer)).body == EXAMPLE.read_bytes()


@pytest.mark.parametrize("origin", [None, *WRONG_ORIGINS])
def test_only_our_own_page_may_open_files(viewer: Viewer, origin: str | None) -> None:
    answer = post(viewer, WINDMILL, Origin=None if origin is None else origin.format(port=viewer.port))
    assert answer.status == 403
    check_headers(answer)
    assert count(viewer) == 1


@pytest.mark.parametrize("wrong", WRONG_COOKIES)
def test_opening_needs_the_cookie(viewer: Viewer, wrong: str | None) -> None:
    value = session(viewer).partition("=")[2]
    parts = {"port": viewer.port, "session": value, "session_upper": value.upper() + "X", "token": viewer.access.token}
    assert post(viewer, WINDMILL, Cookie=None if wrong is None else wrong.format(**parts)).status == 403
    assert count(viewer) == 1


@pytest.mark.parametrize("headers", [
    {"X_Keyframer_Open": None}, {"X_Keyframer_Open": "no"}, {"X_Keyframer_Open": ""}, {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"}, {"Host": "evil.example"}, {"Host": None},
])  # fmt: skip
def test_opening_needs_our_header_and_our_site(viewer: Viewer, headers: dict[str, str | None]) -> None:
    assert post(viewer, WINDMILL, **headers).status == 403
    assert count(viewer) == 1


def test_preflight_request_of_another_site_is_refused(viewer: Viewer) -> None:
    """Before a request with our own header, a browser sends an OPTIONS request."""
    asked = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "x-keyframer-open"}
    assert post(viewer, b"", method="OPTIONS", Origin="http://evil.example", **asked).status == 403
    answer = post(viewer, b"", method="OPTIONS", **asked)
    assert answer.status == 405
    check_headers(answer)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        *((method, "/open", "POST") for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "post")),
        *(
            ("POST", path, "GET, HEAD")
            for path in ("/open/", "/open?x", "/data/files", "/data/0/scene", "/session", "/", "/opened")
        ),
    ],
)
def test_opening_is_the_only_post(viewer: Viewer, method: str, path: str, allowed: str) -> None:
    answer = post(viewer, WINDMILL, path, method=method)
    assert (answer.status, answer.headers["allow"]) == (405, allowed)
    assert count(viewer) == 1


@pytest.mark.parametrize(("headers", "status"), [
    ({"Content_Length": None}, 411), ({"Content_Length": "-1"}, 411), ({"Content_Length": "+5"}, 411),
    ({"Content_Length": "5, 5"}, 411), ({"Content_Length": "0x10"}, 411), ({"Transfer_Encoding": "chunked"}, 411),
    ({"Content_Length": str(1 << 40)}, 413), ({"Content_Length": "9" * 30}, 411), ({"Content_Length": "0"}, 422),
])  # fmt: skip
def test_content_length_must_be_valid(viewer: Viewer, headers: dict[str, str | None], status: int) -> None:
    answer = post(viewer, WINDMILL, **headers)
    assert answer.status == status
    assert count(viewer) == 1


def test_size_limit_applies_to_one_and_to_several_requests(viewer: Viewer) -> None:
    """The limit applies to all dropped files together, because everything is kept in memory."""
    assert post(viewer, body_of(("a.txt", bytes(LIMITS.file_size + 1)))).status == 413  # read, and then counted
    assert post(viewer, body_of(("a.txt", bytes(8 * LIMITS.file_size)))).status == 413  # not read at all
    assert post(viewer, body_of(("a.txt", bytes(LIMITS.file_size - 10)))).status == 200
    answer = post(viewer, body_of(("b.txt", bytes(11))))
    assert answer.status == 413
    assert b"room for 10 more bytes" in answer.body
    assert count(viewer) == 2


def test_slow_body_is_dropped_and_blocks_no_one(viewer: Viewer) -> None:
    viewer.body_seconds = 1.0
    head = (
        f"POST /open HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nOrigin: http://127.0.0.1:{viewer.port}\r\n"
        f"Cookie: {session(viewer)}\r\nX-Keyframer-Open: yes\r\nContent-Length: {len(WINDMILL)}\r\n\r\n"
    )
    stop = threading.Event()
    with socket.create_connection(("127.0.0.1", viewer.port), PATIENCE) as slow:
        slow.sendall(head.encode())

        def drip() -> None:
            with suppress(OSError):
                while not stop.wait(0.1):
                    slow.send(WINDMILL[:1])

        dripping = threading.Thread(target=drip)
        dripping.start()
        assert ask(viewer).status == 200  # others are served meanwhile
        received = b""
        with suppress(ConnectionResetError):
            while part := slow.recv(65_536):
                received += part
        stop.set()
        dripping.join()
    assert parse(received).status in (0, 408)
    assert count(viewer) == 1
    viewer.body_seconds = PATIENCE
    assert post(viewer, WINDMILL).status == 200  # the next request is accepted


def test_only_one_request_to_open_at_a_time(viewer: Viewer) -> None:
    with viewer._opening:
        assert post(viewer, WINDMILL).status == 503
    assert post(viewer, WINDMILL).status == 200


def test_bytes_after_the_body_are_not_a_second_request(viewer: Viewer) -> None:
    one = (
        f"POST /open HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nOrigin: http://127.0.0.1:{viewer.port}\r\n"
        f"Cookie: {session(viewer)}\r\nX-Keyframer-Open: yes\r\nContent-Length: {len(WINDMILL)}\r\n\r\n"
    ).encode() + WINDMILL
    assert exchange(viewer.port, one + one).count(b"HTTP/1.0 ") == 1
    assert count(viewer) == 2


def with_index(index: bytes, rest: bytes = b"") -> bytes:
    return struct.pack("<I", len(index)) + index + rest


BAD_BODIES = (
    b"", b"\0", b"\xff\xff\xff\xff", with_index(b"null"), with_index(b"[]"), with_index(b"{}"), with_index(b"[["),
    struct.pack("<I", 9) + b"[[", with_index(b'[["a", -1]]'), with_index(b'[["a", 5]]', b"1234"),
    with_index(b'[["a", 5]]', b"123456"), with_index(b'[["a", true]]', b"1"), with_index(b'[[1, "a"]]'),
    with_index(b"[" * 100_000), with_index(b'[["a"]]'), with_index(b'[["a", 1e400]]'),
    body_of(*[(str(number), b"") for number in range(MOST_FILES + 1)]),
)  # fmt: skip


@pytest.mark.parametrize("body", BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_invalid_bodies_are_refused(viewer: Viewer, body: bytes) -> None:
    with pytest.raises(BadDrop):
        dropped_files(body)
    answer = post(viewer, body)
    assert answer.status == 422
    assert len(answer.body) < 200
    assert count(viewer) == 1


def losses_of(*files: tuple[str, bytes]) -> dict[str, Any]:
    (first, *_) = view_dropped([DroppedFile(*file) for file in files], LIMITS)
    losses: dict[str, Any] = json.loads(first.losses() or b"")
    return losses


@pytest.mark.parametrize(("name", "status"), [
    ("scenes/WOOD.PNG", []), ("scenes/wood.png", ["guessed"]), ("maps/deep/wood.png", ["guessed"]),
    ("scenes/wood.tga", ["guessed"]), ("other.png", ["missing"]),
])  # fmt: skip
def test_images_are_found_beside_the_scene(tmp_path: Path, name: str, status: list[str]) -> None:
    """In another case, with another extension, in another folder: as on a disk."""
    scene = ("scenes/a.3ds", hostile_file(b"WOOD.PNG", tmp_path).read_bytes())
    content = picture("TGA" if name.endswith("tga") else "PNG")
    assert [loss["status"] for loss in losses_of(scene, (name, content))["images"]] == status
    assert [loss["name"] for loss in losses_of(scene)["images"]] == ["WOOD.PNG"]
    (file,) = view_dropped([DroppedFile(*scene), DroppedFile(name, content)], LIMITS)
    assert (b"image/png" in (file.model() or b"")) == (status != ["missing"])
    assert file.loaded.data == scene[1]


def test_dropped_file_is_not_its_own_image(tmp_path: Path) -> None:
    """The scene names itself as an image: it is missing, or the file of that name in another folder is used."""
    scene = ("scenes/SELF.PNG", hostile_file(b"SELF.PNG", tmp_path).read_bytes())
    assert [loss["status"] for loss in losses_of(scene)["images"]] == ["missing"]
    other = DroppedFile("maps/self.png", picture("PNG"))
    (file,) = view_dropped([DroppedFile(*scene), other], LIMITS)
    assert file.loaded.textures is not None
    used = file.loaded.textures.open("SELF.PNG").texture
    assert used is not None
    assert used.data == other.data


def test_dropped_image_joins_the_open_scene_that_misses_it(viewer: Viewer, tmp_path: Path) -> None:
    scene = hostile_file(b"MAPS\\WOOD.PNG", tmp_path).read_bytes()

    def images(file: int) -> list[str]:
        losses = json.loads(ask(viewer, f"/data/{file}/losses", Cookie=session(viewer)).body)
        return [image["status"] for image in losses["images"]]

    assert json.loads(post(viewer, body_of(("box.3ds", scene))).body)["opened"] == [1]
    assert images(1) == ["missing"]
    room = viewer.resources.room
    answer = post(viewer, body_of(("other.png", picture("PNG"))))
    assert answer.status == 422
    assert b"no scene" in answer.body
    content = json.loads(post(viewer, body_of(("textures/wood.png", picture("PNG")))).body)
    assert (content["opened"], content["joined"], len(content["files"])) == ([], [1], 2)
    assert images(1) == ["guessed"]
    assert b"image/png" in ask(viewer, "/data/1/model", Cookie=session(viewer)).body
    assert viewer.resources.room == room - len(picture("PNG"))
    viewer.resources.post("/close/1", b"")
    assert viewer.resources.room == room + len(scene)


@pytest.mark.parametrize("kind", ["iso", "dos.iso", "ima", "tgz"])
def test_dropped_disc_stands_for_its_files(tmp_path: Path, kind: str) -> None:
    """A scene finds its image in MAPS on the disc; the page in the browser opens discs with the same code."""
    folder = tmp_path / "disc"
    (folder / "MESHES").mkdir(parents=True)
    (folder / "MAPS").mkdir()
    hostile_file(b"WOOD.PNG", folder / "MESHES").rename(folder / "MESHES/BOX.3DS")
    (folder / "MAPS/WOOD.PNG").write_bytes(picture("PNG"))
    containers.MAKERS[kind](folder, tmp_path / f"a.{kind}")
    (file,) = view_dropped([DroppedFile(f"a.{kind}", (tmp_path / f"a.{kind}").read_bytes())], Limits())
    assert file.name == f"a.{kind}/MESHES/BOX.3DS"
    assert b"image/png" in (file.model() or b"")


def test_dropped_image_joins_a_scene_of_the_command(tmp_path: Path) -> None:
    resources = Resources(viewed(hostile_file(b"WOOD.PNG", tmp_path)))
    resources.get("/data/0/losses")
    resources.post("/open", body_of(("WOOD.PNG", picture("PNG"))))
    assert json.loads((resources.get("/data/0/losses") or ("", b""))[1])["images"] == []


def test_buffers_of_gltf_are_found_among_the_dropped_files(tmp_path: Path) -> None:
    path = write_foreign(tmp_path, "beside")
    numbers = (tmp_path / "some numbers.bin").read_bytes()
    files = [DroppedFile("a.gltf", path.read_bytes()), DroppedFile("some numbers.bin", numbers)]
    (file,) = view_dropped(files, LIMITS)
    assert file.loaded.scene is not None
    wanted = keyframer.pose(keyframer.load(path), frames=[1]).world
    assert keyframer.pose(file.loaded.scene, frames=[1]).world.tolist() == wanted.tolist()
    assert file.loaded.data == path.read_bytes()  # the bytes that are shown are those of the file
    assert json.loads(file.scene())["model"] is True
    (alone,) = view_dropped(files[:1], LIMITS)
    assert json.loads(alone.scene())["failure"]["code"] == "IO_READ_FAILED"


def test_unreadable_files_are_shown_unless_they_are_images() -> None:
    (file,) = view_dropped([DroppedFile("notes.txt", b"no animation"), DroppedFile("a.png", picture("PNG"))], LIMITS)
    assert json.loads(file.scene())["failure"]["code"] == "IO_UNRECOGNISED"
    with pytest.raises(BadDrop, match="no scene"):
        view_dropped([DroppedFile("a.png", picture("PNG"))], LIMITS)


NAMES = (
    "/etc/passwd",
    "../../secret.png",
    "..\\secret.png",
    "C:\\secret.png",
    "\\\\host\\share\\x.png",
    "a\0b.png",
    "",
    ".",
    "..",
)


def test_no_name_opens_a_file_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the names of dropped files nor names inside a scene open a file."""
    (tmp_path / "secret.png").write_bytes(picture("PNG"))
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []
    watching = True
    here = os.fspath(tmp_path)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("open", "os.listdir", "os.scandir", "socket.connect") and here in str(arguments[:1]):
            opened.append(f"{event} {arguments[:1]}")

    sys.addaudithook(watch)
    try:
        for name in NAMES:
            scene = hostile_file(name.replace("\0", "").encode() or b"x", tmp_path).read_bytes()
            opened.clear()
            files = view_dropped([DroppedFile(name, scene), DroppedFile("b.png", b"")], LIMITS)
            for file in files:
                file.scene()
                file.model()
                file.losses()
            assert opened == []
    finally:
        watching = False


def test_limits_apply_to_dropped_files(tmp_path: Path) -> None:
    viewer = Viewer([], assets=assets(tmp_path), limits=Limits(records=3))
    try:
        assert post(viewer, WINDMILL).status == 200
        scene = json.loads(ask(viewer, "/data/0/scene", Cookie=session(viewer)).body)
        assert scene["failure"]["code"] == "LIMIT_RECORDS"
    finally:
        viewer.close()


DROP = """files => {
    const transfer = new DataTransfer();
    for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
    for (const kind of ["dragover", "drop"]) {
        const event = new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true });
        document.getElementById("stage").dispatchEvent(event);
        if (kind === "dragover") window.sign = document.getElementById("drop").checkVisibility();
    }
}"""


def test_files_can_be_dropped_on_the_page(browser: Browser, tmp_path: Path) -> None:
    scene = hostile_file(b"WOOD.PNG", tmp_path).read_bytes()
    viewer = Viewer(viewed(EXAMPLE))
    try:
        with browser.page(viewer.url) as shown:
            files = [
                ["box.3ds", list(scene)],
                ["wood.png", list(picture("PNG"))],
                ["b.3ds", list(EXAMPLE.read_bytes())],
            ]
            shown.page.evaluate(DROP, files)
            shown.page.wait_for_selector("html[data-file='1']")
            shown.settle()
            assert shown.page.evaluate("() => sign") is True
            assert not shown.page.locator("#drop").is_visible()
            assert shown.page.inner_text("#file").split() == ["box.3ds", "2/3"]
            shown.page.click("#file")
            listed = [text.split()[0] for text in shown.page.locator("#file-list .option").all_inner_texts()]
            assert listed == ["windmill.3ds", "box.3ds", "b.3ds"]
            shown.page.keyboard.press("Escape")
            assert [image["status"] for image in shown.state("losses.images")] == ["guessed"]
            shown.open_file(2)
            assert shown.page.locator("#node-0").inner_text().split()[-1] == "Tower"
            shown.page.evaluate(DROP, [["only.png", list(picture("PNG"))]])
            shown.page.wait_for_function("() => document.getElementById('message').textContent.includes('no scene')")
            shown.page.set_input_files("#open-files", [EXAMPLE])  # the button does the same
            shown.page.wait_for_selector("html[data-file='3']")
            assert [trouble for trouble in shown.troubles if "422" not in trouble] == []
    finally:
        viewer.close()


def test_page_without_a_server_says_that_it_cannot_open_files(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(keyframer.view(EXAMPLE).data)
    with browser.page(path.as_uri()) as shown:
        assert shown.page.locator("#open").count() == 0
        assert shown.page.locator("#save-page").count() == 0
        shown.page.evaluate(DROP, [["b.3ds", [1, 2, 3]]])
        assert shown.page.evaluate("() => sign") is True
        assert "cannot open files" in (shown.page.locator("#drop").text_content() or "")
        assert shown.state("file") == 0
        assert shown.troubles == []
