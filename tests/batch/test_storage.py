"""Object stores: in memory, and S3 through a real server on loopback."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyframer.batch import Job, perform, storage
from keyframer.batch.dependencies import Dependencies
from keyframer.batch.shards import Ledgers, ledgers_of
from keyframer.errors import FormatError
from keyframer.limits import Limits
from tests.batch.places import BAD, GOOD, OTHER, put, without_hash
from tests.batch.test_cluster import cluster
from tests.building.images import picture
from tests.cli.running import EXAMPLE, Run, spawn
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


def test_urls_of_local_files_can_be_read(tmp_path: Path) -> None:
    put(tmp_path / "a.nanim")
    [(url, below, _)] = storage.list_urls(tmp_path.as_uri())
    assert (below, storage.read(url)) == ("a.nanim", GOOD)


def test_unknown_store_is_reported(run: Run, tmp_path: Path) -> None:
    ran = run("batch", "identify", "nonsense://x", "-o", tmp_path / "out")
    assert ran.code == 3
    assert "nonsense://x" in ran.err


class BrokenStore:
    """A store whose requests end with an exception of its own, as those of botocore without credentials."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("Unable to locate credentials")


@pytest.mark.parametrize("fault", ["extra", "store"])
def test_output_in_a_store_that_cannot_be_used_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    put(tmp_path / "in" / "a.nanim")
    monkeypatch.chdir(tmp_path)
    if fault == "extra":
        monkeypatch.setitem(sys.modules, "fsspec.core", None)
    else:
        monkeypatch.setattr("fsspec.core.url_to_fs", lambda url: (BrokenStore(), url))
    for source, out in ((tmp_path / "in", "s3://bucket/out"), ("s3://bucket/in", tmp_path / "out")):
        ran = run("batch", "identify", source, "-o", out, "-j", "1", "-q")
        assert ran.code == 3
        [line] = ran.err.splitlines()
        assert "s3://bucket/" in line
        assert ("keyframer[cloud]" if fault == "extra" else "Unable to locate credentials") in line


def test_bucket_that_does_not_exist_is_named(server: dict[str, str], tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.nanim")
    for source in ("s3://none", "s3://none/models", "s3://none/*.3ds"):
        ran = spawn("batch", "identify", source, "-o", tmp_path / "out", "-j", "1", "-q", **server)
        assert ran.returncode == 3
        assert f"{source}: cannot be read: no such bucket or folder" in ran.stderr.decode()
    nowhere = {**server, "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS": "1"}
    arguments = ("batch", "identify", tmp_path / "in", "-o", "s3://there/out", "--ledger", tmp_path / "ledger")
    ran = spawn(*arguments, "-j", "1", **nowhere)
    assert ran.returncode == 3
    [line] = ran.stderr.decode().splitlines()
    assert line.startswith("keyframer: the output folder s3://there/out cannot be used: ")


def without_place(record: bytes, folder: str) -> bytes:
    return record.replace(folder.encode(), b"")


@pytest.mark.parametrize("operation", ["convert", "info", "thumbnail"])
def test_images_in_the_folder_of_a_model_are_loaded(memory: Any, tmp_path: Path, operation: str) -> None:
    """Outputs are those of the same files on a disk; the example names STONE.PNG."""
    for name, content in (("w.3ds", EXAMPLE.read_bytes()), ("Stone.png", picture(color=(255, 0, 0))), ("x/y.png", b"")):
        memory.pipe(f"/in/{name}", content)
        put(tmp_path / "in" / name, content)
    memory.pipe("/empty/w.3ds", EXAMPLE.read_bytes())
    folders = {"memory": "memory://in", "disk": str(tmp_path / "in"), "empty": "memory://empty"}
    results = {
        name: perform(Job(operation, f"{folder}/w.3ds", str(tmp_path / f"{name}.out")))
        for name, folder in folders.items()
    }
    assert {result["status"] for result in results.values()} == {"done"}, results
    outputs = {name: without_place((tmp_path / f"{name}.out").read_bytes(), folders[name]) for name in folders}
    assert outputs["memory"] == outputs["disk"] != outputs["empty"]
    assert results["memory"]["details"] == results["disk"]["details"]


def test_changed_image_in_a_store_is_noticed(memory: Any, tmp_path: Path) -> None:
    memory.pipe("/in/w.3ds", EXAMPLE.read_bytes())
    memory.pipe("/in/stone.png", picture(color=(255, 0, 0)))
    also = perform(Job("convert", "memory://in/w.3ds", str(tmp_path / "w.glb")))["also"]
    source = "memory://in/w.3ds"
    assert Dependencies().are_unchanged(also, source)
    # a ledger of somebody else names another store
    assert not Dependencies().are_unchanged(also, "memory://elsewhere/w.3ds")
    memory.pipe("/in/other.txt", b"")
    assert Dependencies().are_unchanged(also, source)
    memory.pipe("/in/STONE.PNG", picture(color=(0, 255, 0)))
    assert not Dependencies().are_unchanged(also, source)
    memory.rm("/in/STONE.PNG")
    assert Dependencies().are_unchanged(also, source)
    memory.pipe("/in/stone.png", picture(color=(0, 0, 255)))
    assert not Dependencies().are_unchanged(also, source)
    memory.rm("/in/stone.png")
    assert not Dependencies().are_unchanged(also, source)


def test_object_that_changed_after_the_listing(memory: Any) -> None:
    memory.pipe("/in/a.nanim", GOOD)
    ((url, _, stamp),) = storage.list_urls("memory://in")
    assert storage.read(url, stamp=stamp) == GOOD
    for other in (GOOD + b"x", GOOD[:-1]):
        memory.pipe("/in/a.nanim", other)
        with pytest.raises(FormatError, match="IO_CHANGED_DURING_READ"):
            storage.read(url, stamp=stamp)
    with pytest.raises(FormatError, match="LIMIT_FILE_SIZE"):
        storage.read_url(url, stamp, Limits(file_size=10))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a moto server on loopback, and yield the environment for its clients; ``MOTO_LOG`` is a file that gets a
    line for each request.
    """
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("s3fs") is None:
        pytest.skip("moto or s3fs is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("moto")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=log,
            cwd=folder,
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
            "MOTO_LOG": str(folder / "log"),
        }
    finally:
        process.kill()
        process.wait()


class Requests:
    """The requests of clients since this object was made: ``GET /bucket/key`` and so on."""

    def __init__(self, server: dict[str, str]) -> None:
        self._log = Path(server["MOTO_LOG"])
        self._begin = len(self._lines())

    def _lines(self) -> list[str]:
        return re.findall(r"([A-Z]+ /\S*) HTTP/", self._log.read_text())

    def of(self, bucket: str) -> Counter[str]:
        """Return how many requests of each method there were for objects of a bucket, and listings as ``LIST``."""
        lines = [line for line in self._lines()[self._begin :] if f" /{bucket}" in line]
        return Counter("LIST" if "list-type=2" in line else line.partition(" ")[0] for line in lines)


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
    arguments += ("--manifest", "sha256")
    requests = Requests(server)
    remote = spawn(*arguments, "--exclude", "bad*", **server)
    assert remote.returncode == 0, remote.stderr
    # sizes come from the listing: one request for each source, and one for each output
    assert requests.of("archive") == {"LIST": 1, "GET": 2}
    written = requests.of("results")
    assert written["PUT"] == 3  # and one for the manifest
    assert written["HEAD"] <= 1  # for the folder, which is empty
    requests = Requests(server)
    assert b"2 already finished by an earlier run" in spawn(*arguments, "--exclude", "bad*", **server).stderr
    assert requests.of("archive") == {"LIST": 1}
    assert requests.of("results") == {"LIST": 1, "PUT": 1}
    verified = spawn("batch", "verify", ledger, "--urls", **server)
    assert (verified.returncode, verified.stdout) == (0, b""), verified
    assert b"2 sources and 2 outputs verified" in verified.stderr
    shown = run_with_s3(
        server,
        "print(*sorted(fs.find('results')), fs.cat('results/here/a.glb')[:4])\n"
        f"fs.rm('results/here/a.glb'); fs.put({str(tmp_path / 'good')!r}, 'archive/models/deep/b.3ds')\n",
    )
    assert shown.split() == [
        "results/here/a.glb",
        "results/here/deep/b.glb",
        "results/here/manifest-sha256.txt",
        "b'glTF'",
    ]
    changed = spawn(*arguments, "--exclude", "bad*", **server)
    assert b"2 files: 2 done" in changed.stderr, changed.stderr
    assert b"already finished by an earlier run" not in changed.stderr


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="the extra 'cluster' is not installed")
def test_one_run_shards_dask_and_s3_give_the_same(run: Run, server: dict[str, str], tmp_path: Path) -> None:
    """The same tree and the same rows, with a collision of names, an image beside a model and a bad file."""
    archive = tmp_path / "in"
    contents = {"a.nanim": GOOD, "A.3ds": OTHER, "deep/w.3ds": EXAMPLE.read_bytes(), "deep/bad.3ds": BAD}
    for name, content in {**contents, "deep/Stone.png": picture(color=(255, 0, 0))}.items():
        put(archive / name, content)
    run_with_s3(server, f"fs.mkdir('same'); fs.put({str(archive)!r}, 'same/models', recursive=True)\n")
    outs = {name: tmp_path / name for name in ("one", "shards", "dask", "s3")}

    def convert(source: str | Path, out: Path, *options: str) -> list[str | Path]:
        return ["batch", "convert", source, "-o", out, "-j", "1", *options]

    assert run(*convert(archive, outs["one"])).code == 3
    for shard in ("0/2", "1/2"):
        run(*convert(archive, outs["shards"], "--shard", shard))
        spawn(*convert("s3://same/models", outs["s3"], "--shard", shard), **server)
    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster", 1) as running:
        assert spawn(*convert(archive, outs["dask"], "--cluster", running.address)).returncode == 3

    def described(out: Path) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
        rows = []
        for row in Ledgers(ledgers_of(str(out))).rows():
            row["source"] = row["source"].removeprefix(str(archive)).removeprefix("s3://same/models")
            row["outputs"] = [(os.path.basename(entry["path"]), entry["sha256"]) for entry in row["outputs"]]
            rows.append({name: row[name] for name in row if name not in ("seconds", "finished", "stamp", "also")})
        files = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
        tree = {name: path.read_bytes() for name, path in files.items() if not name.startswith("keyframer-batch")}
        return tree, sorted(rows, key=lambda row: str(row["source"]))

    expected = described(outs["one"])
    assert sorted(expected[0]) == ["A.3ds.glb", "a.nanim.glb", "deep/w.glb"]
    assert [row["code"] for row in expected[1]] == [None, None, "IO_UNRECOGNISED", None]
    for out in outs.values():
        assert described(out) == expected, out.name
