"""Object stores: in memory, and S3 through a real server on loopback."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyframer.batch import Job, perform, storage
from tests.batch.places import BAD, GOOD, OTHER, put, without_hash
from tests.cli.running import Run, spawn
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.skipif(importlib.util.find_spec("fsspec") is None, reason="the extra 'cloud' is not installed")


@pytest.fixture
def memory() -> Iterator[Any]:
    import fsspec

    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def test_reading_from_and_writing_to_memory(memory: Any) -> None:
    memory.pipe("/in/a.nanim", GOOD)
    result = perform(Job("convert", "memory://in/a.nanim", "memory://out/a.gltf"))
    assert result["status"] == "done", result
    paths = [without_hash(output["path"]) for output in result["outputs"]]
    assert paths == ["memory://out/a.gltf", "memory://out/a.bin"]
    assert memory.size("/out/a.gltf") == result["outputs"][0]["size"]
    missing = perform(Job("convert", "memory://in/b.nanim", "memory://out/b.glb"))
    assert missing["error"]["code"] == "IO_READ_FAILED"


def test_listing(memory: Any) -> None:
    for name in ("/in/a.nanim", "/in/deep/b.3ds", "/in/deep/c.txt", "/other.3ds"):
        memory.pipe(name, GOOD)
    listed = storage.list_urls("memory://in")
    assert [below for _, below, _ in listed] == ["a.nanim", "deep/b.3ds", "deep/c.txt"]
    assert all(stamp for _, _, stamp in listed)
    assert [storage.read(url) for url, _, _ in listed] == [GOOD] * 3
    assert [below for _, below, _ in storage.list_urls("memory://in/*/*.3ds")] == ["deep/b.3ds"]
    assert [below for _, below, _ in storage.list_urls("memory://in/a.nanim")] == ["a.nanim"]
    assert storage.list_urls("memory://nothing") == []


def test_unknown_store_is_reported(run: Run, tmp_path: Path) -> None:
    ran = run("batch", "identify", "nonsense://x", "-o", tmp_path / "out")
    assert ran.code == 3
    assert "nonsense://x" in ran.err


BUCKET = "s3://archive"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a moto server on loopback with two buckets, and yield the environment for its clients."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("s3fs") is None:
        pytest.skip("moto or s3fs is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path_factory.mktemp("moto"),
    )
    address = f"http://127.0.0.1:{port}"
    try:

        def answers() -> bool:
            try:
                urllib.request.urlopen(f"{address}/moto-api/", timeout=PATIENCE).close()
            except OSError:
                return False
            return True

        wait_for(answers)
        yield {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        process.kill()
        process.wait()


def run_with_s3(environment: dict[str, str], script: str) -> str:
    """Run lines of Python that use ``fs`` in a separate process, because s3fs never ends its loops and connections."""
    head = "import s3fs; fs = s3fs.S3FileSystem()\n"
    done = subprocess.run(
        [sys.executable, "-c", head + script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_batch_from_s3_to_a_folder_and_to_s3_can_be_resumed(server: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path / "good", GOOD)
    put(tmp_path / "other", OTHER)
    put(tmp_path / "bad", BAD)
    run_with_s3(
        server,
        "fs.mkdir('archive'); fs.mkdir('results')\n"
        f"fs.put({str(tmp_path / 'good')!r}, 'archive/models/a.nanim')\n"
        f"fs.put({str(tmp_path / 'other')!r}, 'archive/models/deep/b.3ds')\n"
        f"fs.put({str(tmp_path / 'bad')!r}, 'archive/models/deep/../bad.3ds')\n"
        f"fs.put({str(tmp_path / 'bad')!r}, 'archive/models/readme.txt')\n",
    )
    local = spawn("batch", "convert", "s3://archive/models", "-o", tmp_path / "out", "-j", "1", **server)
    assert local.returncode == 3, local.stderr
    assert (tmp_path / "out" / "a.glb").read_bytes()[:4] == b"glTF"
    assert (tmp_path / "out" / "deep" / "b.glb").exists()
    assert not (tmp_path / "bad.glb").exists()

    ledger = tmp_path / "s3.sqlite"
    arguments = ("batch", "convert", "s3://archive/models", "-o", "s3://results/here", "--ledger", ledger, "-j", "1")
    remote = spawn(*arguments, "--exclude", "bad*", **server)
    assert remote.returncode == 0, remote.stderr
    assert b"2 already finished by an earlier run" in spawn(*arguments, "--exclude", "bad*", **server).stderr
    shown = run_with_s3(
        server,
        "print(*sorted(fs.find('results')), fs.cat('results/here/a.glb')[:4])\n"
        f"fs.rm('results/here/a.glb'); fs.put({str(tmp_path / 'good')!r}, 'archive/models/deep/b.3ds')\n",
    )
    assert shown.split() == ["results/here/a.glb", "results/here/deep/b.glb", "b'glTF'"]
    changed = spawn(*arguments, "--exclude", "bad*", **server)
    assert b"2 files: 2 done" in changed.stderr, changed.stderr
    assert b"already finished by an earlier run" not in changed.stderr
