"""A file as glTF, and what was lost."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from typing import Any

from keyframer.batch import stores
from keyframer.batch.job import Result
from keyframer.batch.operations._subject import Subject, note_issues
from keyframer.catalogue import RUN_OUTPUT_REFUSED
from keyframer.exchange import EXPORTERS, save
from keyframer.exchange.report import LossReport
from keyframer.formats import detect
from keyframer.scene import Scene
from keyframer.text import safe_text

_EXPORT = ("core_only", "unit", "fps", "max_error")


def suffix(options: Mapping[str, Any]) -> str:
    wanted, dialect = options.get("to"), options.get("dialect")
    for known in EXPORTERS:
        if wanted in (None, known.name):
            if dialect is None:
                return known.extensions[0]
            if dialect in known.dialects:
                return known.extensions[known.dialects.index(dialect)]
            raise ValueError(f"{known.name} has no dialect {dialect!r} (it has: {', '.join(known.dialects)})")
    raise ValueError(f"cannot write {wanted!r} (known: {', '.join(known.name for known in EXPORTERS)})")


def carry_out(subject: Subject, result: Result) -> None:
    options = subject.options
    scene = subject.scene(result)
    note_issues(result, scene.issues)
    chosen: dict[str, Any] = {name: options[name] for name in _EXPORT if options.get(name) is not None}
    chosen |= {"format": options.get("to"), "dialect": options.get("dialect"), "source": _source(subject, result)}
    if stores.is_url(subject.job.output):
        report = _upload(scene, subject, result, chosen)
    else:
        report = _save(scene, subject.job.output, chosen)
        for path in report.written:
            result["outputs"].append(_noted(path))
    plain = report.as_dict()
    result["details"] = {"losses": plain["summary"], "measured": plain["measured"]}


def _save(scene: Scene, path: str, chosen: dict[str, Any]) -> LossReport:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        return save(scene, path, overwrite=True, **chosen)
    except OSError as error:
        raise RUN_OUTPUT_REFUSED.failure(
            0, "/", reason=f"{path} cannot be written: {error.strerror or error}"
        ) from None


def _noted(path: str) -> dict[str, Any]:
    with open(path, "rb") as stream:
        status = os.fstat(stream.fileno())
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"path": path, "size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": digest}


def _upload(scene: Scene, subject: Subject, result: Result, chosen: dict[str, Any]) -> LossReport:
    """Files for a store are made in a folder of this job alone; the main one goes last: where it is, all is."""
    place, _, name = subject.job.output.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        report = _save(scene, os.path.join(folder, name), chosen)
        for path in reversed(report.written):
            with open(path, "rb") as stream:
                subject.write(result, f"{place}/{os.path.basename(path)}", stream.read())
    result["outputs"].reverse()
    return report


def _source(subject: Subject, result: Result) -> dict[str, object]:
    """Where the scene comes from, for whoever finds the file later."""
    found: dict[str, object] = {
        "name": safe_text(subject.name.rpartition(stores.MEMBER)[2]),
        "sha256": result["sha256"],
        "format": subject.format.name,
    }
    version = detect(subject.data, name=subject.job.source).version
    if version is not None:
        found["version"] = version
    if subject.document.dialect is not None:
        found["dialect"] = str(subject.document.dialect)
    return found
