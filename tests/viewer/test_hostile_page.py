"""Every hostile name, opened in the browser: no dialog, no error, no request to another server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import keyframer
from keyframer.viewer import ViewedFile, Viewer, packed_page
from tests.cli.test_hostile_names import HOSTILE
from tests.slow import SLOW
from tests.viewer.browser import Browser, Watched
from tests.viewer.hostile import hostile_file
from tests.viewer.opening import viewed

MORE = {
    "image": b"<img src=x onerror=alert(1)>",
    "svg": b"<svg/onload=alert(1)>",
    "attribute": b'" onmouseover="alert(1)" x=\'',
    "closing": b"</script><script>alert(1)</script>",
    "comment": b"<!--<script>",
    "style": b"</style><style>*{background:url(//evil.example/x)}",
    "template": b"${alert(1)}{{alert(1)}}",
    "url": b"http://evil.example/x.png",
    "unc": b"\\\\evil.example\\share\\x.png",
    "javascript": b"javascript:alert(1)",
    "prototype": b"__proto__",
    "constructor": b"constructor",
}


NAMES = {**HOSTILE, **MORE}
FORBIDDEN = "#app img, #app script, #app iframe, #app svg:not(.icon), #app style, #app a, #app object"


def look_at_everything(shown: Watched) -> None:
    """Show the name in every panel that shows names."""
    shown.page.click("#node-0")
    shown.page.hover("#node-0")
    for tab in ("graph", "bytes", "dope", "issues", "details"):
        shown.page.click(f"#tab-{tab}")
    for issue in shown.page.locator(".issue").all()[:3]:
        shown.page.click("#tab-issues")
        issue.click()
    shown.page.fill("#search", "a")
    shown.page.keyboard.press("Escape")
    shown.settle()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[ViewedFile]:
    """Write one file for each name, in the order of `NAMES`."""
    folders = [tmp_path_factory.mktemp("hostile") for _ in NAMES]
    return viewed(*(hostile_file(name, folder) for name, folder in zip(NAMES.values(), folders, strict=True)))


def look_at_files(shown: Watched, first: int) -> None:
    """Open every third file from this one on; ``make slow`` opens all of them. In every run,
    `test_hostile_names_in_other_formats_are_harmless` has all names as names of nodes."""
    for number in range(0 if SLOW else first, len(NAMES), 1 if SLOW else 3):
        shown.open_file(number)
        look_at_everything(shown)
        assert shown.troubles == [], [*NAMES][number]
        assert shown.page.locator(FORBIDDEN).count() == 0, [*NAMES][number]


def test_hostile_names_are_harmless(browser: Browser, files: list[ViewedFile]) -> None:
    viewer = Viewer(files)
    try:
        with browser.page(viewer.url) as shown:
            look_at_files(shown, 0)
            assert all(url.startswith(("blob:", viewer.address)) for url in shown.requests)
    finally:
        viewer.close()


def test_hostile_names_are_harmless_in_an_exported_page(
    browser: Browser, files: list[ViewedFile], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(packed_page(files))
    with browser.page(page.as_uri()) as shown:
        look_at_files(shown, 1)
        assert [url for url in shown.requests if not url.startswith(("file:", "blob:"))] == []


def other_formats(folder: Path) -> list[Path]:
    """Write all names in one file of each format that stores names of nodes, and in glTF."""
    from keyframer.formats.hale3d import document as hale3d
    from keyframer.formats.hale3d.records import Joint
    from keyframer.formats.nodeanim import document as nodeanim
    from keyframer.formats.nodeanim.records import Node, NodeKeys
    from keyframer.formats.uto3d import document as uto3d
    from keyframer.formats.uto3d.records import Bone

    names = [name.replace(b"\0", b"") for name in NAMES.values()]
    keys = NodeKeys.make([0, 1], [[0, 0, 0], [1, 2, 3]])
    documents = {
        "names.nanim": nodeanim.new_document(
            *(Node(name, translation_keys=keys) for name in names), name=names[0], author=MORE["image"]
        ),
        "names.anim": hale3d.new_animation([Joint(parent=-1, flags=1, name=name) for name in names], [[0.0], [1.0]]),
        "names.u3d": uto3d.new_document(*(Bone(name=name, id=number + 1) for number, name in enumerate(names))),
    }
    for name, document in documents.items():
        (folder / name).write_bytes(keyframer.encode(document))
    keyframer.save(keyframer.load(folder / "names.u3d"), folder / "names.glb")
    return [folder / name for name in (*documents, "names.glb")]


def test_hostile_names_in_other_formats_are_harmless(browser: Browser, tmp_path: Path) -> None:
    unsure, *others = other_formats(tmp_path)
    opened = [*viewed(unsure, "--from", "nodeanim"), *viewed(*others)]  # such names do not look like that format
    assert [len(json.loads(file.scene())["nodes"]) for file in opened] == [len(NAMES)] * 4
    viewer = Viewer(opened)
    try:
        with browser.page(viewer.url) as shown:
            for number in range(len(opened)):
                shown.open_file(number)
                for node in range(0, len(NAMES), 4):
                    shown.page.click(f"#node-{node}")
                look_at_everything(shown)
                assert shown.troubles == []
                assert shown.page.locator(FORBIDDEN).count() == 0
            assert all(url.startswith(("blob:", viewer.address)) for url in shown.requests)
    finally:
        viewer.close()


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>.3ds", "a\u202eb.3ds", "\x1b[31m.3ds"])
def test_hostile_file_names_are_harmless(browser: Browser, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(hostile_file(b"Box", tmp_path).read_bytes())
    viewer = Viewer(viewed(path))
    try:
        with browser.page(viewer.url) as shown:
            look_at_everything(shown)
            assert shown.troubles == []
            assert "\u202e" not in shown.page.content()
    finally:
        viewer.close()
