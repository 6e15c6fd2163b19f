"""Desktop integration: which file types get thumbnails from keyframer, and how the desktop detects them."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.running import EXAMPLE, Run

ROOT = Path(__file__).resolve().parents[2]
TYPES = ROOT / "packaging" / "keyframer-mime.xml"
SYSTEM_TYPES = Path("/usr/share/mime/packages/freedesktop.org.xml")


def thumbnailer() -> configparser.SectionProxy:
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str  # type: ignore[assignment, method-assign]
    entry.read(ROOT / "packaging" / "keyframer.thumbnailer")
    return entry["Thumbnailer Entry"]


def test_desktop_can_request_thumbnails(run: Run, tmp_path: Path) -> None:
    section = thumbnailer()
    out = tmp_path / "made by the desktop"
    out.write_bytes(b"")  # the desktop creates an empty file first
    program, *words = shlex.split(section["Exec"])
    assert (program, section["TryExec"]) == ("keyframer", "keyframer")
    values = {"%s": "128", "%o": str(out), "%i": str(EXAMPLE)}
    ran = run(*(values.get(word, word) for word in words))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    with Image.open(out) as picture:
        assert picture.size == (128, 128)


def test_every_type_we_declare_gets_thumbnails() -> None:
    ours = {element.get("type") for element in ET.parse(TYPES).getroot()}
    assert ours < set(thumbnailer()["MimeType"].split(";"))


@pytest.fixture(scope="module")
def desktop(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which programs know the types of a desktop and ours."""
    for program in ("update-mime-database", "gio"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = tmp_path_factory.mktemp("desktop")
    packages = folder / "mime" / "packages"
    packages.mkdir(parents=True)
    for source in (SYSTEM_TYPES, TYPES):
        shutil.copy(source, packages)
    environment = os.environ | {"XDG_DATA_DIRS": str(folder), "XDG_DATA_HOME": str(folder / "none")}
    subprocess.run(["update-mime-database", folder / "mime"], env=environment, check=True, capture_output=True)
    return environment


@pytest.mark.parametrize(
    "sample",
    [
        "3ds/windmill.3ds",
        "uto3d/maxscript.u3d",
        "hale3d/wave-length.anim",
        "hale3d/arm-length.mdl",
        "midtown/retail.anim",
        "nodeanim/tcb_by_key.nanim",
        "ase/textured.ase",
    ],
)
def test_desktop_detects_the_type_of_samples(desktop: dict[str, str], sample: str) -> None:
    """GLib is asked, as file managers do."""
    answer = subprocess.run(
        ["gio", "info", "-a", "standard::content-type", ROOT / "tests" / "samples" / sample],
        env=desktop,
        check=True,
        capture_output=True,
        text=True,
    )
    assert answer.stdout.split()[-1] in thumbnailer()["MimeType"].split(";")
