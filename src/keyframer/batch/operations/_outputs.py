"""The outputs of a job: written at once, named when they are on the disk, and what the ledger keeps of them."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from keyframer.batch import stores
from keyframer.catalogue import RUN_OUTPUT_COLLISION, RUN_OUTPUT_REFUSED
from keyframer.errors import FormatError
from keyframer.files import Draft, named_later, write_bytes


class Output:
    """One that waits for `finish`, which tells what the ledger keeps of it."""

    __slots__ = ("_finish", "_path", "discard")

    def __init__(
        self, path: str, finish: Callable[[], dict[str, Any]], discard: Callable[[], None] = lambda: None
    ) -> None:
        self._path = path
        self._finish = finish
        self.discard = discard

    def finish(self) -> dict[str, Any]:
        with refusing(self._path):
            return self._finish()


def finish_all(outputs: list[Output]) -> list[dict[str, Any]]:
    """Name them one after the other; where one is refused, those behind it are gone."""
    written = []
    try:
        for output in outputs:
            written.append(output.finish())
    except BaseException:
        for output in outputs[len(written) + 1 :]:
            output.discard()
        raise
    return written


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """What the system says against an output is a `FormatError`: the source is not to blame."""
    try:
        yield
    except OSError as error:
        reason = f"{path} cannot be written: {error.strerror or error}"
        raise RUN_OUTPUT_REFUSED.failure(0, "/", reason=reason) from None


def write(path: str, data: bytes, *, replaces: bool) -> Output:
    """A file or an object of a store; `FormatError` where that is refused."""
    with refusing(path):
        if stores.is_url(path):
            written = {**stores.write(path, data), "sha256": hashlib.sha256(data).hexdigest()}
            return Output(path, lambda: written)
        with drafted(path, replaces=replaces) as outputs:
            write_bytes(path, data, overwrite=True)
        return outputs[0]


@contextmanager
def drafted(path: str, *, replaces: bool) -> Iterator[list[Output]]:
    """Files written inside, in the folder of ``path``, which is made, become outputs; that of ``path`` itself is named
    last. What is called otherwise than ``path`` but for the ending, such as an image, replaces nothing: it may belong
    to the output of another file. Nor does the rest, unless ``replaces``, if its content is another."""
    outputs: list[Output] = []
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    own = os.path.splitext(os.path.basename(path))[0]
    with named_later() as drafts:
        yield outputs
        for draft in reversed(drafts):
            is_own = os.path.splitext(os.path.basename(draft.target))[0] == own
            draft.overwrite = is_own and replaces
            outputs.append(Output(draft.target, _finisher(draft, is_own), draft.discard))


def foreign(path: str) -> FormatError:
    """Something stands where the output goes, and no run is known to have put it there."""
    reason = f"{path} is there already, and no earlier run wrote it (--force replaces it)"
    return RUN_OUTPUT_COLLISION.failure(0, "/", reason=reason)


def _finisher(draft: Draft, is_own: bool) -> Callable[[], dict[str, Any]]:
    written = {**noted(draft.temporary), "path": draft.target}

    def finish() -> dict[str, Any]:
        try:
            draft.finish(sync_folder=False)  # a name that is lost in a power cut is missed by the next run
        except FileExistsError:
            there = None
            with suppress(OSError):  # a link to nowhere, a folder
                there = noted(draft.target)
            if there is None or there["sha256"] != written["sha256"]:
                if is_own:
                    raise foreign(draft.target) from None
                reason = "another image of this name is there, perhaps that of another file"
                raise OSError(errno.EEXIST, reason) from None
            return there
        return written

    return finish


def noted(path: str) -> dict[str, Any]:
    """Size, time and hash of a file that is there."""
    with open(path, "rb") as stream:
        status = os.fstat(stream.fileno())
        digest = hashlib.sha256()
        while part := stream.read(1 << 20):
            digest.update(part)
    return {"path": path, "size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": digest.hexdigest()}
