"""The public names and signatures of the package, and what importing it loads."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import keyframer

NAMES = """
    Camera Channel Clip Detection Document Environment Format FormatError Handedness Interpolation Issue IssueLog Keys
    Light LightType Limits LossReport Material Mesh Morph Node NodeKind Playback Pose RawChannel Report Rig RotationForm
    Scene Severity Skin Space TextureMap Track Wrap __version__ check compile_track convert decode detect encode load
    plot pose read render salvage save supported_formats view write
"""


def test_names() -> None:
    assert sorted(keyframer.__all__) == sorted(NAMES.split())
    assert dir(keyframer) == sorted(keyframer.__all__)
    for name in keyframer.__all__:
        assert getattr(keyframer, name) is not None
    with pytest.raises(AttributeError, match="'nothing'"):
        keyframer.nothing  # noqa: B018
    assert not hasattr(keyframer, "np")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("decode", "data, *, format=None, limits=None"),
        ("encode", "document"),
        ("read", "source, *, format=None, limits=None"),
        ("write", "document, path, *, overwrite=False"),
        ("detect", "data, *, size=None, name=''"),
        ("supported_formats", ""),
        ("save", "scene, path, *, format=None, dialect=None, max_error=None, overwrite=False, limits=None, **options"),
        ("check", "source, *, format=None, limits=None"),
    ],
)
def test_signatures(name: str, parameters: str) -> None:
    signature = inspect.signature(getattr(keyframer, name))
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    shown = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    assert shown == f"({parameters})"


def test_limits() -> None:
    limits = keyframer.Limits()
    assert {
        name: getattr(limits, name) for name in ("file_size", "records", "depth", "name", "issues", "issues_per_code")
    } == {
        "file_size": 512 * 1024 * 1024,
        "records": 4_000_000,
        "depth": 256,
        "name": 1024 * 1024,
        "issues": 1_000,
        "issues_per_code": 20,
    }
    with pytest.raises(AttributeError):
        limits.depth = 3  # type: ignore[misc]


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


@pytest.mark.parametrize(
    "action",
    [
        "import keyframer",
        "import keyframer; keyframer.detect(b'MM' + bytes(40))",
        "import keyframer; keyframer.detect(bytes.fromhex('4d4d 10000000 0200 0a000000 03000000')).format.title",
        "import keyframer; [known.title for known in keyframer.supported_formats()]",
        "import keyframer; keyframer.FormatError",
    ],
)
def test_numpy_is_not_imported_before_it_is_needed(action: str) -> None:
    assert run("-c", f"{action}; import sys; print('numpy' in sys.modules)").split() == ["False"]


def test_version() -> None:
    assert run("-m", "keyframer", "--version").split() == ["keyframer", keyframer.__version__]
