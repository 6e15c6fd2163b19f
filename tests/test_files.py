"""Reading whole files, and writing files atomically even if writing fails or the process is killed."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyframer import files
from keyframer.errors import FormatError
from keyframer.files import read_bytes, write_bytes, write_set, writing
from keyframer.limits import Limits
from tests.portable import needs_linux

posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class TestReading:
    def test_paths_and_streams(self, tmp_path: Path) -> None:
        path = tmp_path / "a"
        path.write_bytes(b"content")
        for source in (path, str(path), io.BytesIO(b"content")):
            assert read_bytes(source) == b"content"
        with open(path, "rb") as stream:
            stream.seek(3)
            assert read_bytes(stream) == b"tent"
            assert not stream.closed

    def test_an_empty_file(self, tmp_path: Path) -> None:
        (tmp_path / "a").touch()
        assert read_bytes(tmp_path / "a") == b""

    def test_stream_that_returns_short_reads(self) -> None:
        class Slow(io.RawIOBase):
            left = 2_000_000

            def readable(self) -> bool:
                return True

            def read(self, size: int = -1) -> bytes:
                part = min(self.left, 7_001)
                self.left -= part
                return bytes(part)

        assert len(read_bytes(Slow())) == 2_000_000  # type: ignore[arg-type]

    def test_text_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="binary stream"):
            read_bytes(io.StringIO("text"))  # type: ignore[arg-type]

    @pytest.mark.parametrize("kind", ["path", "stream"])
    def test_size_limit_is_enforced(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "a"
        path.write_bytes(bytes(101))
        source: Any = path if kind == "path" else io.BytesIO(bytes(101))
        with pytest.raises(FormatError) as caught:
            read_bytes(source, Limits(file_size=100))
        assert (caught.value.code, caught.value.offset, caught.value.path) == ("LIMIT_FILE_SIZE", 0, "/")
        assert len(read_bytes(path, Limits(file_size=101))) == 101

    def test_stream_over_the_limit_is_not_read_to_its_end(self) -> None:
        class Endless(io.RawIOBase):
            given = 0

            def read(self, size: int = -1) -> bytes:
                self.given += size
                assert self.given < 10_000_000
                return bytes(size)

        with pytest.raises(FormatError, match="LIMIT_FILE_SIZE"):
            read_bytes(Endless(), Limits(file_size=3_000_000))  # type: ignore[arg-type]

    @pytest.mark.parametrize("change", ["longer", "shorter", "touched"])
    def test_file_that_changes_while_it_is_read_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        path = tmp_path / "a"
        path.write_bytes(bytes(100))
        real = os.fstat

        def change_after_the_first_look(descriptor: int) -> os.stat_result:
            monkeypatch.setattr(os, "fstat", real)
            status = real(descriptor)
            if change == "longer":
                path.write_bytes(bytes(101))
            elif change == "shorter":
                os.truncate(path, 99)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + (change == "touched")))
            return status

        monkeypatch.setattr(os, "fstat", change_after_the_first_look)
        with pytest.raises(FormatError) as caught:
            read_bytes(path)
        assert (caught.value.code, caught.value.offset, caught.value.path) == ("IO_CHANGED_DURING_READ", 0, "/")

    def test_errors_of_the_system_are_raised_unchanged(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            read_bytes(tmp_path / "missing")
        with pytest.raises(OSError):
            read_bytes(tmp_path)

    def test_error_for_a_folder_names_the_folder(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError if os.name == "posix" else OSError) as caught:
            read_bytes(tmp_path)
        assert caught.value.filename == str(tmp_path)

    def test_disk_that_returns_short_reads(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "a"
        path.write_bytes(bytes(range(256)))
        real = os.read
        monkeypatch.setattr(os, "read", lambda file, size: real(file, min(size, 7)))
        assert read_bytes(path) == bytes(range(256))

    @posix
    def test_reading_from_a_pipe(self, tmp_path: Path) -> None:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(b"through a pipe",))
        writer.start()
        assert read_bytes(path) == b"through a pipe"
        writer.join()


class TestWriting:
    def test_new_files(self, tmp_path: Path) -> None:
        write_bytes(tmp_path / "a", b"one")
        write_bytes(str(tmp_path / "b"), (part for part in (b"t", b"wo")))
        assert contents(tmp_path) == {"a": b"one", "b": b"two"}

    def test_existing_file_is_not_overwritten_by_default(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"old")
        with pytest.raises(FileExistsError, match="overwrite=True"):
            write_bytes(tmp_path / "a", b"new")
        assert contents(tmp_path) == {"a": b"old"}

    def test_existing_file_is_replaced_with_overwrite(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"old")
        write_bytes(tmp_path / "a", b"new", overwrite=True)
        write_bytes(tmp_path / "b", b"fresh", overwrite=True)
        assert contents(tmp_path) == {"a": b"new", "b": b"fresh"}

    @posix
    def test_dangling_link_counts_as_an_existing_file(self, tmp_path: Path) -> None:
        (tmp_path / "a").symlink_to(tmp_path / "nowhere")
        with pytest.raises(FileExistsError):
            write_bytes(tmp_path / "a", b"new")
        assert not (tmp_path / "nowhere").exists()

    def test_file_created_while_writing_is_not_replaced(self, tmp_path: Path) -> None:
        def parts() -> Iterator[bytes]:
            yield b"mine"
            (tmp_path / "a").write_bytes(b"theirs")

        with pytest.raises(FileExistsError, match="overwrite=True"):
            write_bytes(tmp_path / "a", parts())
        assert contents(tmp_path) == {"a": b"theirs"}

    def test_longest_legal_name_can_be_written(self, tmp_path: Path) -> None:
        write_bytes(tmp_path / ("n" * 255), b"x")
        assert list(contents(tmp_path)) == ["n" * 255]

    def test_missing_folder_raises_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            write_bytes(tmp_path / "no" / "a", b"x")
        with pytest.raises(OSError):
            write_bytes(tmp_path, b"x", overwrite=True)
        assert contents(tmp_path) == {}

    @pytest.mark.parametrize("overwrite", [False, True])
    @pytest.mark.parametrize("moment", ["write", "flush", "fsync", "replace", "interrupt"])
    def test_failed_write_leaves_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, overwrite: bool
    ) -> None:
        """A write may fail at any moment (full disk, power cut): the old file or none remains, and no other file."""
        before = {"a": b"old"} if overwrite else {}
        for name, data in before.items():
            (tmp_path / name).write_bytes(data)

        def fail(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        def parts() -> Iterator[bytes]:
            yield b"new"
            if moment == "write":
                fail()
            if moment == "interrupt":
                raise KeyboardInterrupt
            yield b"er"

        if moment == "flush":
            monkeypatch.setattr(os, "fdopen", _open_failing_streams(fail))
        if moment == "fsync":
            monkeypatch.setattr(os, "fsync", fail)
        if moment == "replace":
            monkeypatch.setattr(os, "replace", fail)
            monkeypatch.setattr(os, "link", fail, raising=False)
        with pytest.raises(KeyboardInterrupt if moment == "interrupt" else OSError):
            write_bytes(tmp_path / "a", parts(), overwrite=overwrite)
        monkeypatch.undo()
        assert contents(tmp_path) == before

    @needs_linux
    def test_data_is_synced_before_the_file_gets_its_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[str] = []

        def watched(name: str) -> Callable[..., object]:
            real = getattr(os, name)

            def call(*arguments: Any) -> object:
                seen.append(f"{name}:{'a' in os.listdir(tmp_path)}")
                return real(*arguments)

            return call

        for name in ("fsync", "replace", "link"):
            monkeypatch.setattr(os, name, watched(name))
        write_bytes(tmp_path / "a", b"x")
        assert seen[:2] == ["fsync:False", "link:False"]
        assert seen[2:] == (["fsync:True"] if os.name == "posix" else [])
        seen.clear()
        write_bytes(tmp_path / "a", b"y", overwrite=True)
        assert seen[:2] == ["fsync:True", "replace:True"]

    def test_partly_written_file_is_not_visible_under_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"old")

        def parts() -> Iterator[bytes]:
            yield b"ne"
            assert (tmp_path / "a").read_bytes() == b"old"
            assert len(os.listdir(tmp_path)) == 2  # the temporary file is in the same folder
            yield b"w"

        write_bytes(tmp_path / "a", parts(), overwrite=True)
        assert contents(tmp_path) == {"a": b"new"}

    @pytest.mark.parametrize("is_missing", [False, True], ids=["refused", "missing"])
    def test_writing_without_hard_links(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_missing: bool
    ) -> None:
        """A disk may refuse them; Python for WebAssembly has no ``os.link``."""

        def refuse(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        if is_missing:
            monkeypatch.delattr(os, "link", raising=False)
        else:
            monkeypatch.setattr(os, "link", refuse, raising=False)
        write_bytes(tmp_path / "a", b"x")
        assert contents(tmp_path) == {"a": b"x"}

        def parts() -> Iterator[bytes]:
            (tmp_path / "b").write_bytes(b"theirs")
            yield b"mine"

        with pytest.raises(FileExistsError):
            write_bytes(tmp_path / "b", parts())
        assert contents(tmp_path) == {"a": b"x", "b": b"theirs"}

    @posix
    def test_folder_that_cannot_be_synced_still_gets_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The folder is writable but not readable, or is on a network disk that cannot sync folders."""
        real = os.open

        def refuse(path: Any, *arguments: Any) -> int:
            if Path(path) == tmp_path:
                raise PermissionError(13, "Permission denied")
            return real(path, *arguments)

        monkeypatch.setattr(os, "open", refuse)
        write_bytes(tmp_path / "a", b"x")
        assert contents(tmp_path) == {"a": b"x"}

    @pytest.mark.skipif(sys.platform != "linux", reason="needs audit events of opened paths as Linux gives them")
    def test_temporary_names_are_not_reused(self, tmp_path: Path) -> None:
        names: set[str] = set()

        def parts() -> Iterator[bytes]:
            names.update(os.listdir(tmp_path))
            yield b"x"

        for number in range(20):
            write_bytes(tmp_path / f"a{number}", parts())
        temporary = {name for name in names if not name.startswith("a")}
        assert len(temporary) == 20
        assert all(len(name) <= 24 for name in temporary)


@posix
class TestPermissions:
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755, 0o666])
    def test_a_replaced_file_keeps_its_mode(self, tmp_path: Path, mode: int) -> None:
        (tmp_path / "a").write_bytes(b"old")
        (tmp_path / "a").chmod(mode)
        write_bytes(tmp_path / "a", b"new", overwrite=True)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode

    def test_new_file_has_the_default_mode(self, tmp_path: Path) -> None:
        before = os.umask(0o027)
        try:
            write_bytes(tmp_path / "a", b"new")
            write_bytes(tmp_path / "b", b"new", overwrite=True)
            (tmp_path / "c").symlink_to("nowhere")
            write_bytes(tmp_path / "c", b"new", overwrite=True)
        finally:
            os.umask(before)
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o640}

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
    def test_other_users_cannot_read_a_file_while_it_is_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Only the writer may read it until it has the owner and group of the old file."""
        (tmp_path / "a").write_bytes(b"old")
        (tmp_path / "a").chmod(0o640)
        os.chown(tmp_path / "a", 1234, 2345)
        seen: list[tuple[int, int]] = []

        def look() -> None:
            (path,) = tmp_path.glob(".kf-*")
            seen.append((stat.S_IMODE(path.stat().st_mode), path.stat().st_uid))

        def parts() -> Iterator[bytes]:
            look()
            yield b"new"
            look()

        for name in ("fchown", "fchmod"):
            real = getattr(os, name)
            monkeypatch.setattr(os, name, lambda *given, real=real: (look(), real(*given), look()))
        write_bytes(tmp_path / "a", parts(), overwrite=True)
        assert seen == [(0o600, 0)] * 3 + [(0o600, 1234)] * 2 + [(0o640, 1234)]

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
    def test_a_replaced_file_keeps_its_owner(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"old")
        os.chown(tmp_path / "a", 1234, 2345)
        (tmp_path / "a").chmod(0o4750)
        write_bytes(tmp_path / "a", b"new", overwrite=True)
        status = (tmp_path / "a").stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o4750)

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
    def test_file_whose_owner_cannot_be_kept_is_not_replaced(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a").write_bytes(b"old")
        os.chown(tmp_path / "a", 1234, 2345)

        def refuse(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "fchown", refuse)
        with pytest.raises(PermissionError, match="its owner or group cannot be preserved"):
            write_bytes(tmp_path / "a", b"new", overwrite=True)
        assert contents(tmp_path) == {"a": b"old"}

    @pytest.mark.parametrize("whose", ["file", "folder"])
    def test_a_replaced_file_keeps_its_access_list(self, tmp_path: Path, whose: str) -> None:
        """User 1234 may read, the group may not: without the access list, the mode alone would let the group read. A
        folder can have a default access list for new files; a file that replaces one without a list does not get it."""
        (tmp_path / "a").write_bytes(b"old")
        (tmp_path / "a").chmod(0o640)
        entries = ((0x01, 6, -1), (0x02, 4, 1234), (0x04, 0, -1), (0x10, 4, -1), (0x20, 0, -1))
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
        attribute = "system.posix_acl_access"
        try:
            if whose == "file":
                os.setxattr(tmp_path / "a", attribute, acl)
            else:
                os.setxattr(tmp_path, "system.posix_acl_default", acl)
        except (AttributeError, OSError):
            pytest.skip("no access lists here")
        write_bytes(tmp_path / "a", b"new", overwrite=True)
        assert (attribute in os.listxattr(tmp_path / "a")) == (whose == "file")
        assert whose == "folder" or os.getxattr(tmp_path / "a", attribute) == acl
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@posix
class TestRecoveryAfterKilledWriters:
    """Which files count as left by a killed writer. `tests.faults` tests what a kill at any moment leaves."""

    @pytest.fixture(autouse=True)
    def _forget_swept_folders(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(writing, "_SWEPT", set())

    @needs_linux
    def test_abandoned_temporary_files_are_removed(self, tmp_path: Path) -> None:
        for name in (".kf-0123456789ab", ".kf-notours", ".kf-0123456789abc", "kf-0123456789ab"):
            (tmp_path / name).write_bytes(b"x")
        (tmp_path / ".kf-000000000000").mkdir()
        os.mkfifo(tmp_path / ".kf-111111111111")

        def parts() -> Iterator[bytes]:
            yield b"not named yet"
            write_in_another_process(tmp_path / "a")
            assert len(list(tmp_path.iterdir())) == 7  # five of the six above, "a", and the temporary file of "b"

        write_bytes(tmp_path / "b", parts())
        assert not (tmp_path / ".kf-0123456789ab").exists()
        assert (tmp_path / "b").read_bytes() == b"not named yet"

    def test_only_old_temporary_files_are_removed_from_shared_folders(self, tmp_path: Path) -> None:
        for name, age in ((".kf-0123456789ab", 700), (".kf-aaaaaaaaaaaa", 500)):
            (tmp_path / name).write_bytes(b"x")
            os.utime(tmp_path / name, (time.time() - age,) * 2)
        assert files.sweep(str(tmp_path), older_than=600) == 1
        assert list(contents(tmp_path)) == [".kf-aaaaaaaaaaaa"]

    @needs_linux
    def test_own_temporary_files_are_removed_at_once(self, tmp_path: Path) -> None:
        """Those of other writers may be in use on another machine; those that are locked are in use here."""

        def parts(inside: list[list[str]]) -> Iterator[bytes]:
            inside.append([path.name for path in tmp_path.glob(".kf-*")])
            assert files.sweep(str(tmp_path), older_than=600, writer="01234567") == 0
            yield b"x"

        names: list[list[str]] = []
        with files.running(is_job=True, writer="01234567"):
            write_bytes(tmp_path / "a", parts(names))
        ((name,),) = names
        (tmp_path / name).write_bytes(b"x")
        (tmp_path / name.replace("01234567", "76543210")).write_bytes(b"x")
        assert files.sweep(str(tmp_path), older_than=600, writer="01234567") == 1
        assert set(contents(tmp_path)) == {name.replace("01234567", "76543210"), "a"}


class TestFilesThatBelongTogether:
    def named(self, folder: Path, data: bytes, name: str = "a.gltf") -> tuple[str, bytes]:
        return files.content_name(folder / name, hashlib.sha256(data).hexdigest(), ".bin"), data

    def write(self, folder: Path, data: bytes, name: str = "a.gltf") -> str:
        """Write a file that names another with this content; returns the name of the other."""
        other = self.named(folder, data, name)
        mention = os.path.basename(other[0])
        write_set((folder / name, mention.encode()), named=[other], overwrite=True)
        return mention

    def test_named_files_of_the_old_version_are_removed(self, tmp_path: Path) -> None:
        old, new = self.write(tmp_path, b"old"), self.write(tmp_path, b"new")
        assert contents(tmp_path) == {"a.gltf": new.encode(), new: b"new"}
        assert old != new

    def test_named_file_that_another_file_mentions_is_kept(self, tmp_path: Path) -> None:
        old = self.write(tmp_path, b"old")
        (tmp_path / "copy.gltf").write_text(f"see {old}")
        self.write(tmp_path, b"new")
        assert (tmp_path / old).read_bytes() == b"old"
        (tmp_path / "copy.gltf").unlink()
        self.write(tmp_path, b"newer")
        assert not (tmp_path / old).exists()

    @pytest.mark.parametrize("others", [499, 500])  # and the file itself
    def test_no_file_is_removed_where_too_many_would_be_searched(self, tmp_path: Path, others: int) -> None:
        old = self.write(tmp_path, b"old")
        for number in range(others):
            (tmp_path / f"{number}.gltf").write_bytes(b"")
        self.write(tmp_path, b"new")
        assert (tmp_path / old).exists() == (others == 500)

    @pytest.mark.parametrize("kind", ["large", "device"])
    def test_no_file_is_removed_if_another_cannot_be_searched(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        monkeypatch.setattr(writing, "_LARGEST_SEARCHED", 100)
        old = self.write(tmp_path, b"old")
        other = tmp_path / "other.gltf"
        other.symlink_to(os.devnull) if kind == "device" else other.write_bytes(bytes(101))
        self.write(tmp_path, b"new")
        assert (tmp_path / old).exists()

    def test_files_that_only_look_like_older_ones_are_kept(self, tmp_path: Path) -> None:
        """The hash in the name of one does not match, one belongs to a file with another stem; and nothing is removed
        where nothing is replaced."""
        digest = hashlib.sha256(b"x").hexdigest()[:12]
        for name in ("a.0123456789ab.bin", f"b.{digest}.bin"):
            (tmp_path / name).write_bytes(b"x")
        self.write(tmp_path, b"old")
        self.write(tmp_path, b"new")
        assert {"a.0123456789ab.bin", f"b.{digest}.bin"} <= contents(tmp_path).keys()
        self.write(tmp_path, b"new", "b.gltf")
        assert f"b.{digest}.bin" in contents(tmp_path)

    def test_file_left_by_a_kill_is_removed_by_the_next_run(self, tmp_path: Path) -> None:
        """A kill after the new file got its name leaves what the old one named."""
        old = self.write(tmp_path, b"old")
        self.write(tmp_path, b"new")
        (tmp_path / old).write_bytes(b"old")
        new = self.write(tmp_path, b"new")
        assert contents(tmp_path) == {"a.gltf": new.encode(), new: b"new"}

    def test_named_file_is_last_and_all_are_complete_before_the_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("a.anim", "a.mdl"):
            (tmp_path / name).write_bytes(b"old")
        renamed: list[str] = []

        def replace(temporary: str, target: str) -> None:
            renamed.append(os.path.basename(target))
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(OSError, match="No space"):
            write_set((tmp_path / "a.anim", b"new"), pair=[(tmp_path / "a.mdl", b"new")], overwrite=True)
        monkeypatch.undo()
        assert renamed == ["a.mdl"]
        assert contents(tmp_path) == {"a.anim": b"old", "a.mdl": b"old"}

    def test_shared_file_never_replaces_other_content(self, tmp_path: Path) -> None:
        (tmp_path / "wood.png").write_bytes(b"theirs")
        with pytest.raises(FileExistsError):
            write_set((tmp_path / "a.3ds", b"x"), shared=[(tmp_path / "wood.png", b"ours")], overwrite=True)
        assert contents(tmp_path) == {"wood.png": b"theirs"}
        write_set((tmp_path / "a.3ds", b"x"), shared=[(tmp_path / "wood.png", b"theirs")], overwrite=True)
        assert contents(tmp_path) == {"a.3ds": b"x", "wood.png": b"theirs"}

    def test_job_keeps_equal_files_and_replaces_no_others(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"same")
        before = (tmp_path / "a").stat()
        with files.running(is_job=True) as run:
            write_bytes(tmp_path / "a", b"same")
        assert run.written == [(str(tmp_path / "a"), hashlib.sha256(b"same").hexdigest())]
        after = (tmp_path / "a").stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        with files.running(is_job=True), pytest.raises(FileExistsError):
            write_bytes(tmp_path / "a", b"other")
        assert contents(tmp_path) == {"a": b"same"}


def write_in_another_process(path: Path) -> None:
    code = "import sys; from keyframer.files import write_bytes; write_bytes(sys.argv[1], b'x')"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def _open_failing_streams(fail: Callable[..., None]) -> Callable[..., Any]:
    class Failing(io.FileIO):
        def flush(self) -> None:
            fail()

    def opened(descriptor: int, mode: str) -> Failing:
        return Failing(descriptor, mode.replace("b", ""))

    return opened


def test_without_locks_a_temporary_file_is_abandoned_after_ten_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "fcntl", None)
    for name, age in ((".kf-0123456789ab", 700), (".kf-aaaaaaaaaaaa", 500)):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    assert files.sweep(str(tmp_path)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [".kf-aaaaaaaaaaaa"]
