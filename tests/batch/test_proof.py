"""Proof: manifests for ``sha256sum``, bags that ``bagit`` validates, and ledgers that show what changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import zipfile
from contextlib import closing
from pathlib import Path

import bagit
import pytest

from keyframer.batch import Ledger
from keyframer.batch.job import LEDGER
from keyframer.batch.proof import MANIFEST, ProofError, read_manifest
from tests.batch.places import BAD, GOOD, OTHER, put
from tests.cli.running import Ran, Run

NAMES = ("a.nanim", "b/c d.nanim", "b/back\\slash.nanim", "b/line\nbreak.nanim", "b/100%.nanim", "é/x.3ds")

needs_sha256sum = pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not installed")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    for name in NAMES:
        put(tmp_path / "in" / name, OTHER if name.endswith(".3ds") else GOOD)
    return tmp_path / "in"


def sum_up(folder: Path) -> Path:
    """Write the manifest of a folder as ``sha256sum`` does."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    names = [path.relative_to(folder).as_posix() for path in files]
    summed = subprocess.run(["sha256sum", "--", *names], cwd=folder, capture_output=True, check=True)
    (folder / MANIFEST).write_bytes(summed.stdout)
    return folder / MANIFEST


def is_right(folder: Path, name: str = MANIFEST) -> bool:
    return subprocess.run(["sha256sum", "--quiet", "-c", name], cwd=folder, check=False).returncode == 0


def identify(run: Run, source: Path, out: Path, *options: str | Path) -> Ran:
    return run("batch", "identify", source, "-o", out, "-j", "1", *options)


def codes(out: Path) -> dict[str, str | None]:
    with Ledger(str(out / LEDGER), read_only=True) as ledger:
        return {os.path.basename(row["source"]): row["code"] for row in ledger.rows()}


@needs_sha256sum
def test_manifests_in_and_out(run: Run, archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = identify(run, archive, out, "--check-manifest", sum_up(archive), "--manifest", "sha256")
    assert ran.code == 0, ran.err
    assert len(list(out.rglob("*.json"))) == len(NAMES)
    assert is_right(out)
    listed = {os.path.relpath(path, out): sha256 for path, sha256 in read_manifest(str(out / MANIFEST))}
    assert listed == {
        f"{name}.identify.json": hashlib.sha256((out / f"{name}.identify.json").read_bytes()).hexdigest()
        for name in NAMES
    }
    (out / "a.nanim.identify.json").write_bytes(b"{}")
    assert not is_right(out)


@needs_sha256sum
def test_source_that_is_not_as_the_manifest_says_is_not_processed(run: Run, archive: Path, tmp_path: Path) -> None:
    out, manifest = tmp_path / "out", sum_up(archive)
    put(archive / "a.nanim", OTHER)
    put(archive / "new.nanim")
    (archive / "é" / "x.3ds").unlink()
    ran = identify(run, archive, out, "--check-manifest", manifest)
    assert ran.code == 3
    wrong = ("a.nanim", "new.nanim", "x.3ds")
    assert {name: code for name, code in codes(out).items() if code} == dict.fromkeys(wrong, "IO_MANIFEST_MISMATCH")
    for words in (
        f"its sha256 is {hashlib.sha256(OTHER).hexdigest()}, the manifest says {hashlib.sha256(GOOD).hexdigest()}",
        "new.nanim: the manifest does not list it",
        "x.3ds: the manifest lists it, but it is missing",
    ):
        assert words in ran.err
    assert len(list(out.rglob("*.json"))) == len(NAMES) - 2
    # a finished file is compared with the manifest, too, and a repaired one is processed
    put(archive / "a.nanim")
    put(archive / "é" / "x.3ds", OTHER)
    manifest.write_bytes(sum_up(archive).read_bytes().replace(hashlib.sha256(OTHER).hexdigest().encode(), b"0" * 64))
    assert identify(run, archive, out, "--check-manifest", manifest).code == 3
    assert {name for name, code in codes(out).items() if code} == {"x.3ds"}
    assert identify(run, archive, out, "--check-manifest", sum_up(archive)).code == 0


def test_members_are_verified_by_their_archive(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as pack:
        pack.writestr("a.nanim", GOOD)
    right = hashlib.sha256((tmp_path / "pack.zip").read_bytes()).hexdigest()
    for sha256, code in ((right, 0), (right[::-1], 3)):
        manifest = put(tmp_path / MANIFEST, f"{sha256} *./pack.zip\n".encode())
        ran = identify(run, tmp_path / "pack.zip", tmp_path / "out", "--check-manifest", manifest)
        assert ran.code == code, ran.err
    assert "the sha256 of its archive is" in ran.err


@pytest.mark.parametrize("content", [b"nonsense\n", b"\xff" * 200_000, b"0" * 64, b"0" * 63 + b"  a\n"])
def test_other_file_as_a_manifest_is_refused(run: Run, archive: Path, tmp_path: Path, content: bytes) -> None:
    manifest = put(tmp_path / "other", content)
    ran = identify(run, archive, tmp_path / "out", "--check-manifest", manifest)
    assert ran.code == 3
    assert "other: line 1 is not a SHA-256 and a name" in ran.err
    assert not list((tmp_path / "out").rglob("*.json"))
    with pytest.raises(ProofError, match="no such file"):
        list(read_manifest(str(tmp_path / "missing")))


def test_bag(run: Run, archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "bag"
    assert identify(run, archive, out, "--bag").code == 0
    assert sorted(path.name for path in out.iterdir() if not path.name.startswith(LEDGER)) == [
        "bag-info.txt",
        "bagit.txt",
        "data",
        MANIFEST,
        "tagmanifest-sha256.txt",
    ]
    bagit.Bag(str(out)).validate()
    (archive / "a.nanim").unlink()
    put(archive / "second.nanim")
    assert identify(run, archive, out, "--bag").code == 0
    bag = bagit.Bag(str(out))
    bag.validate()
    assert "data/a.nanim.identify.json" in bag.entries  # the output of a removed source stays
    ran = identify(run, archive, out)
    assert ran.code == 3
    assert "is a bag: give --bag" in ran.err
    # the bag is a manifest of inputs for the next batch
    assert (
        identify(
            run, out, tmp_path / "next", "--all-files", "--include", "data/*", "--check-manifest", out / MANIFEST
        ).code
        == 3
    )
    found = codes(tmp_path / "next")
    assert len(found) == len(NAMES) + 1
    assert set(found.values()) == {"IO_UNRECOGNISED"}  # JSON, as listed
    put(out / "data" / "a.nanim.identify.json", b"")
    with pytest.raises(bagit.BagValidationError):
        bagit.Bag(str(out)).validate()


def test_bag_with_sources(run: Run, archive: Path, tmp_path: Path) -> None:
    """A disc is in the bag once, as it is, and is verified with it."""
    with zipfile.ZipFile(archive / "pack.zip", "w") as pack:
        pack.writestr("a.nanim", GOOD)
        pack.writestr("b.nanim", GOOD)
    out = tmp_path / "bag"
    about = ("--bag", "--with-sources", "--organization", "A Museum\nof Discs", "--contact", "discs@example.org")
    inputs = (archive, archive / "pack.zip")
    assert run("batch", "identify", *inputs, "-o", out, "-j", "1", *about).code == 0
    bag = bagit.Bag(str(out))
    bag.validate()
    assert bag.info["Source-Organization"] == "A Museum\\x0aof Discs"
    assert bag.info["Contact-Email"] == "discs@example.org"
    copies = {path.relative_to(out / "data/sources"): path.read_bytes()
              for path in (out / "data/sources").rglob("*") if path.is_file()}  # fmt: skip
    assert copies == {path.relative_to(archive): path.read_bytes() for path in archive.rglob("*") if path.is_file()}
    assert Path("pack.zip") in copies
    assert run("batch", "verify", out, "--no-sources").code == 0
    assert run("batch", "identify", *inputs, "-o", out, "-j", "1", *about).code == 0  # again
    bagit.Bag(str(out)).validate()
    ran = run("batch", "identify", *inputs, "-o", out, "-j", "1", "--bag")
    assert ran.code == 3
    assert "data/sources" in ran.err
    (out / "data/sources/pack.zip").write_bytes(b"")
    ran = run("batch", "verify", out, "--no-sources")
    assert ran.code == 1
    assert "pack.zip: copy of a source has changed" in ran.out
    assert run("batch", "identify", archive, "-o", tmp_path / "x", "--with-sources").code == 2


def test_manifest_of_somebody_else_is_not_replaced(run: Run, archive: Path, tmp_path: Path) -> None:
    theirs = put(tmp_path / "out" / MANIFEST, b"theirs")
    ran = identify(run, archive, tmp_path / "out", "--manifest", "sha256")
    assert ran.code == 3
    assert "exists and was not written by an earlier run" in ran.err
    assert os.listdir(tmp_path / "out") == [MANIFEST]
    assert theirs.read_bytes() == b"theirs"
    assert identify(run, archive, tmp_path / "out", "--manifest", "sha256", "--force").code == 0
    assert identify(run, archive, tmp_path / "out", "--manifest", "sha256").code == 0
    assert theirs.read_bytes() != b"theirs"


def test_verify(run: Run, archive: Path, tmp_path: Path) -> None:
    first, out = tmp_path / "first", tmp_path / "out"
    put(archive / "bad.3ds", BAD)
    assert run("batch", "convert", archive, "-o", first, "-j", "1", "--dialect", "text").code == 3
    first.rename(out)  # a folder that was moved is verified where it is
    ran = run("batch", "verify", out)
    buffers = len(list(out.rglob("*.bin")))
    assert (ran.code, ran.out) == (0, "")
    assert f"{len(NAMES) + 1} sources and {len(NAMES) + buffers} outputs verified: no deviation" in ran.err
    buffer = next(path for path in out.rglob("*.bin"))
    buffer.write_bytes(buffer.read_bytes()[::-1])
    (out / "b" / "c d.gltf").unlink()
    put(archive / "bad.3ds", GOOD)
    (archive / "é" / "x.3ds").unlink()
    ran = run("batch", "verify", out)
    assert ran.code == 1
    expected = [
        f"{archive}/bad.3ds: source has changed: its sha256 is {hashlib.sha256(GOOD).hexdigest()}",
        f"{archive}/é/x.3ds: source is missing",
        f"{out}/b/c d.gltf: output is missing",
        f"{buffer}: output has changed",
    ]
    lines = sorted(ran.out.splitlines())
    assert len(lines) == 4
    assert all(line.startswith(begin) for line, begin in zip(lines, sorted(expected), strict=True)), lines
    assert "4 deviations" in ran.err
    assert len(run("batch", "verify", out, "--no-sources").out.splitlines()) == 2
    refused = run("batch", "verify", out, "--manifest", "sha256")
    assert refused.code == 1
    assert not (out / MANIFEST).exists()
    assert run("batch", "verify", tmp_path / "nothing").code == 3


def test_verify_of_nothing_does_not_succeed(run: Run, archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    Ledger(str(out / LEDGER), str(out)).close()  # of a run that was refused
    ran = run("batch", "verify", out)
    assert ran.code == 3
    assert "nothing was verified" in ran.err
    assert identify(run, archive, out).code == 0
    assert run("batch", "verify", out).code == 0


def test_verify_completes_the_bag_of_shards(run: Run, archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "bag"
    for index in (1, 0):
        if index == 0:
            ran = run("batch", "verify", out, "--bag")
            assert (ran.code, ran.out) == (1, f"{out}: 1 of 2 shards has no ledger: 0/2\n")
        ran = identify(run, archive, out, "--bag", "--shard", f"{index}/2")
        assert f"keyframer batch verify {out} --bag completes the bag" in ran.err
    assert not (out / "bagit.txt").exists()
    assert run("batch", "verify", out, "--bag").code == 0
    bag = bagit.Bag(str(out))
    bag.validate()
    assert len([name for name in bag.entries if name.startswith("data/")]) == len(NAMES)
    assert run("batch", "verify", out, "--bag").code == 0  # it is our own
    put(out / "bag-info.txt", b"Bag-Software-Agent: another\n")
    ran = run("batch", "verify", out, "--bag")
    assert (ran.code, ran.err.splitlines()[-1]) == (3, f"keyframer: {out}/{MANIFEST} exists (--force replaces it)")
    assert run("batch", "verify", out, "--bag", "--force").code == 0
    bagit.Bag(str(out)).validate()


def test_file_in_a_bag_that_no_row_has_is_a_deviation(run: Run, archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "bag"
    for options, code in (((), 0), (("--to", "ase"), 3)):  # the rows of the first outputs are replaced
        ran = run("batch", "convert", archive / "é", "-o", out, "-j", "1", "--bag", *options)
        assert ran.code == code, ran.err
    line = f"{out} is no valid bag: no row of the ledger has data/x.glb: remove it and run the same command again"
    assert ran.err.splitlines()[-1] == f"keyframer: {line}"
    for options in ((), ("--bag",)):
        ran = run("batch", "verify", out, "--no-sources", *options)
        assert ran.code == 1
        assert f"{out}/data/x.glb: no row of the ledger has it\n" in ran.out
    (out / "data" / "x.glb").unlink()
    assert f"{out}/data/x.glb: {MANIFEST} lists it, but it is missing" in run("batch", "verify", out).out
    assert run("batch", "convert", archive / "é", "-o", out, "-j", "1", "--bag", "--to", "ase").code == 0
    bagit.Bag(str(out)).validate()
    assert run("batch", "verify", out).code == 0


def test_verify_checks_the_files_about_a_bag(run: Run, archive: Path, tmp_path: Path) -> None:
    out = tmp_path / "bag"
    identify(run, archive, out, "--bag")
    right = {name: (out / name).read_bytes() for name in ("bagit.txt", MANIFEST, "tagmanifest-sha256.txt")}
    for name, content, lines in (
        ("bagit.txt", b"BagIt-Version: 0.97\n", [f"{out}/bagit.txt: file of the bag has changed: its sha256 is "]),
        ("bagit.txt", None, [f"{out}/bagit.txt: file of the bag is missing"]),
        ("tagmanifest-sha256.txt", None, [f"{out}/tagmanifest-sha256.txt: "]),
        ("tagmanifest-sha256.txt", b"0" * 64 + b"  ../in/a.nanim\n", [f"{out}/{name}: tag" for name in
            ("bag-info.txt", "bagit.txt", MANIFEST)]),
        (MANIFEST, right[MANIFEST].replace(b"data/a.nanim", b"data/b.nanim"), [
            f"{out}/data/a.nanim.identify.json: {MANIFEST} does not list it with its sha256 in the ledger",
            f"{out}/data/b.nanim.identify.json: {MANIFEST} lists it, but it is missing",
            f"{out}/{MANIFEST}: file of the bag has changed: ",
        ]),
    ):  # fmt: skip
        (out / name).unlink() if content is None else put(out / name, content)
        ran = run("batch", "verify", out)
        assert ran.code == 1
        found = ran.out.splitlines()
        assert len(found) == len(lines), found
        assert all(line.startswith(begin) for line, begin in zip(found, lines, strict=True)), found
        put(out / name, right[name])
    assert run("batch", "verify", out).code == 0


@needs_sha256sum
def test_each_shard_has_its_manifest(run: Run, archive: Path, tmp_path: Path) -> None:
    for index in range(2):
        assert identify(run, archive, tmp_path / "out", "--manifest", "sha256", "--shard", f"{index}/2").code == 0
    names = [f"manifest-sha256.{index}-of-2.txt" for index in range(2)]
    assert all(is_right(tmp_path / "out", name) for name in names)
    assert sum(len((tmp_path / "out" / name).read_bytes().splitlines()) for name in names) == len(NAMES)


def test_hostile_ledger_is_verified_without_harm(run: Run, archive: Path, tmp_path: Path) -> None:
    """A pipe is not opened, a URL is not requested, and an output is not searched outside its folder."""
    out = tmp_path / "out"
    identify(run, archive, out)
    os.mkfifo(tmp_path / "pipe")
    database = sqlite3.connect(out / LEDGER)
    sources = [source for (source,) in database.execute("SELECT source FROM files ORDER BY source")]
    changes = (
        ("source", str(tmp_path / "pipe"), sources[0]),
        ("source", "nonsense://host/a.3ds", sources[1]),
        ("outputs", f'[{{"path": "/x/..", "size": 1, "sha256": "{"0" * 64}", "mtime_ns": 1}}]', sources[2]),
    )
    for column, value, source in changes:
        database.execute(f"UPDATE files SET {column} = ? WHERE source = ?", (value, source))
    database.commit()
    database.close()
    ran = run("batch", "verify", out)
    assert ran.code == 1
    assert ran.out == f"{tmp_path}/pipe: source cannot be read: not a regular file\n"
    assert "not verified: 1 file at URLs" in ran.err
    assert "nonsense://" in run("batch", "verify", out, "--urls").out
    with closing(sqlite3.connect(out / LEDGER)) as database, database:
        database.execute("INSERT INTO about VALUES ('out', 'nonsense://host')")
    ran = run("batch", "verify", out, "--no-sources", "--bag")
    assert (ran.code, ran.out) == (3, "")  # no URL is listed, and the outputs are not those of a bag
    assert "is not below data/" in ran.err
