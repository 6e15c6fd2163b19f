"""The outputs of a job: files are written under temporary names and renamed when they are on the disk; objects in cloud
stores are uploaded at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from json.encoder import encode_basestring_ascii
from typing import Any

from keyframer.batch import storage
from keyframer.catalogue import RUN_OUTPUT_COLLISION, RUN_OUTPUT_REFUSED
from keyframer.files import OutputExists, OutputRefused, OutputSet, collect_drafts, write_bytes


def _nothing() -> None:
    """Do nothing: an object in a cloud store is complete once it is uploaded."""


class Output:
    """Files of a job with temporary names, or an uploaded object. `finish` renames files; it returns what the ledger
    stores about each.
    """

    __slots__ = ("_finish", "_path", "_sync", "discard")

    def __init__(
        self,
        path: str,
        finish: Callable[[], list[dict[str, Any]]],
        sync: Callable[[], None] = _nothing,
        discard: Callable[[], None] = _nothing,
    ) -> None:
        self._path = path
        self._finish = finish
        self._sync = sync
        self.discard = discard

    def sync(self) -> None:
        """Wait until the files are on the disk."""
        with output_errors(self._path):
            self._sync()

    def finish(self) -> list[dict[str, Any]]:
        with output_errors(self._path):
            return self._finish()


def sync_all(outputs: list[Output]) -> None:
    """Wait until all outputs are on the disk; if one cannot be written, all files are discarded."""
    try:
        for output in outputs:
            output.sync()
    except BaseException:
        for output in outputs:
            output.discard()
        outputs.clear()
        raise


def finish_all(outputs: list[Output]) -> list[dict[str, Any]]:
    """Rename all outputs in order; if one is refused, the following ones are discarded."""
    written: list[dict[str, Any]] = []
    for number, output in enumerate(outputs):
        try:
            written += output.finish()
        except BaseException:
            for following in outputs[number + 1 :]:
                following.discard()
            raise
    return written


@contextmanager
def output_errors(path: str) -> Iterator[None]:
    """If an output cannot be written, raise a `FormatError` that names the output, not the source, as the cause."""
    try:
        yield
    except OutputRefused as error:
        raise RUN_OUTPUT_REFUSED.failure(0, "/", reason=str(error)) from None
    except OSError as error:
        reason = f"{path} cannot be written: {error.strerror or error}"
        raise RUN_OUTPUT_REFUSED.failure(0, "/", reason=reason) from None


def write(path: str, data: bytes, *, replaces: bool) -> Output:
    """Write a file under a temporary name, or upload an object; raises `FormatError` if it cannot be written."""
    with output_errors(path):
        if storage.is_url(path):
            written = {**storage.write(path, data), "sha256": hashlib.sha256(data).hexdigest()}
            return Output(path, lambda: [written])
        with collect_outputs(path, replaces=replaces) as outputs:
            write_bytes(path, data, overwrite=True)
        return outputs[0]


@contextmanager
def collect_outputs(path: str, *, replaces: bool) -> Iterator[list[Output]]:
    """Collect the files that are written inside this block as outputs of the job; creates the folder of ``path``.

    Existing files with other content are replaced only if ``replaces``; images never, because they may belong to the
    output of another file.
    """
    outputs: list[Output] = []
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
    with collect_drafts() as sets:
        yield outputs
        for output_set in sets:
            for draft in output_set.drafts:
                draft.replaces = draft.replaces and replaces
                draft.keeps_equal = True
            outputs.append(Output(output_set.target, partial(_finish, output_set), output_set.sync, output_set.discard))


def _finish(outputs: OutputSet) -> list[dict[str, Any]]:
    try:
        outputs.finish(durable=False)  # if a power cut loses a name, the next run notices that it is missing
    except OutputExists as error:
        reason = f"{error.target} exists and was not written by an earlier run (--force replaces it)"
        raise RUN_OUTPUT_COLLISION.failure(0, "/", reason=reason) from None
    return [_output_entry(draft.target, draft.sha256) for draft in reversed(outputs.drafts)]


def _output_entry(path: str, digest: str) -> dict[str, Any]:
    """Return size, time and hash of an existing file."""
    status = os.stat(path)
    return {"path": path, "size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": digest}


def json_file(schema: str, version: int, record: object) -> bytes:
    """Return one record as the commands print it with ``--format json``: exactly the same bytes."""
    head = json.dumps({"schema": schema, "schema_version": version})[1:-1]
    return f'{{{head}, "files": [\n  {_indented(record, chr(10) + "  ")}\n]}}\n'.encode("ascii")


def _indented(value: Any, margin: str) -> str:
    """Return the same text as ``json.dumps(value, indent=2)``, which takes three times as long.

    ``margin`` is a line break and the indentation of the value.
    """
    deeper = margin + "  "
    if isinstance(value, dict) and value:
        items = [f"{deeper}{encode_basestring_ascii(key)}: {_indented(item, deeper)}" for key, item in value.items()]
        return f"{{{','.join(items)}{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        return f"[{','.join([deeper + _indented(item, deeper) for item in value])}{margin}]"
    if type(value) is str:
        return encode_basestring_ascii(value)
    return repr(value) if type(value) is int else json.dumps(value, allow_nan=False)
