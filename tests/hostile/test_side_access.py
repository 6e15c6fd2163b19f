"""Reading opens one file and no socket, whatever file names it contains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.building import files as w
from tests.samples import all_samples

_CHILD = """
import sys
import keyframer
from keyframer.checking import check_document
from keyframer.formats.kit.scene_reading import scene_of
for name in sys.argv[2:]:  # so that everything is imported
    keyframer.check(name), keyframer.load(name, salvage=True), keyframer.read(name)
opened, bad = [], []
bad_modules = ("socket", "subprocess", "urllib", "ftplib", "http", "shutil", "tempfile", "webbrowser")
bad_events = tuple("os." + name for name in "system exec spawn posix_spawn fork remove rename mkdir".split())
def hook(event, arguments):
    if event == "open":
        opened.append(str(arguments[0]))
    elif event.split(".")[0] in bad_modules or event in bad_events:
        bad.append(event)
sys.addaudithook(hook)
getattr(keyframer, sys.argv[1])(sys.argv[2])
print(len(opened), *[opened[0] == sys.argv[2]] if opened else [], *bad)
print(*opened[1:], sep="\\n")
"""


def accesses(action: str, path: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, action, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


HOSTILE = w.editor(
    *(
        w.material(b"m%d" % number, w.texture(name))
        for number, name in enumerate((b"/etc/passwd", b"..\\..\\x", b"http://localhost:1/x", b"\\\\host\\x", b"NUL"))
    ),
    w.chunk(0x1100, b"/etc/hostname\0"),
)


@pytest.mark.parametrize("action", ["read", "check", "load"])
def test_names_inside_a_file_are_not_opened(tmp_path: Path, action: str) -> None:
    path = tmp_path / "hostile.3ds"
    path.write_bytes(HOSTILE)
    assert accesses(action, path) == ["1", "True"]


FIRST = list({name: path for name, path in reversed(all_samples()) if path.suffix != ".mdl"}.items())


@pytest.mark.parametrize("action", ["read", "check"])
@pytest.mark.parametrize(("name", "path"), FIRST, ids=[name for name, _ in FIRST])
def test_only_one_file_is_opened(name: str, path: Path, action: str) -> None:
    assert accesses(action, path) == ["1", "True"]


def test_companion_is_the_only_other_file_opened(tmp_path: Path) -> None:
    """A Hale3D animation and the model of the same stem."""
    animation, model = tmp_path / "a.anim", tmp_path / "a.mdl"
    animation.write_bytes(w.h3da([w.joint(flags=1)], [(*w.BOX, 0.0)]))
    model.write_bytes(w.h3dm([w.model_mesh(b"../../../etc/passwd\0")], [w.model_joint()]))
    (tmp_path / "b.mdl").write_bytes(model.read_bytes())
    assert accesses("load", animation) == ["2", "True", str(model)]
    assert accesses("check", animation) == ["2", "True", str(model)]
