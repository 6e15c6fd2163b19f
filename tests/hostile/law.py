"""The law for hostile files: a `FormatError` with a location, or a document that encodes to the same bytes. No other
exception is allowed, neither from reading nor from building a scene nor from checking."""

from __future__ import annotations

import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of


def obey(data: bytes, format: str | None) -> keyframer.Report:
    """Read, check and load a file; return the report on it."""
    refused = None
    try:
        document = keyframer.decode(data, format=format)
    except keyframer.FormatError as error:
        refused = error
    if refused is not None:
        located(refused, data)
        report = keyframer.check(data, format=format)
        assert report.verdict == "not readable"
        assert [issue.code for issue in report.issues] == [refused.code]
        return report
    assert keyframer.encode(document) == data
    report = keyframer.check(document)
    for issue in report.issues:
        located(issue.as_error(), data)
    unsafe = report.issues.first_unsafe()
    salvaged = scene_of(document, salvage=True)
    assert (salvaged.issues.first_unsafe() is None) == (unsafe is None)
    if unsafe is None:
        scene_of(document)
    else:
        with pytest.raises(keyframer.FormatError) as caught:
            scene_of(document)
        located(caught.value, data)
    return report


def located(error: keyframer.FormatError, data: bytes) -> None:
    assert error.code
    assert 0 <= error.offset <= len(data)
    assert error.path.startswith("/")
    assert error.message
    assert "\n" not in str(error)
