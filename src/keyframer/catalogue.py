"""Every issue type that reading bytes can find, in one place. Codes never change; words may.

Severities follow one criterion: an error is what makes a scene unsafe to build (an index out of range, a cycle, a
count or a block that does not fit); what is merely odd is kept and reported as a warning.
"""

from __future__ import annotations

from keyframer.issues import IssueType, Severity

CATALOGUE: dict[str, IssueType] = {}


def issue_type(code: str, severity: Severity, template: str) -> IssueType:
    """Declare an issue type; a code can be declared once."""
    if code in CATALOGUE:
        raise ValueError(f"issue code {code} is declared twice")
    CATALOGUE[code] = IssueType(code, severity, template)
    return CATALOGUE[code]


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

IO_EMPTY = issue_type("IO_EMPTY", _E, "the file is empty (0 bytes)")
IO_UNRECOGNISED = issue_type("IO_UNRECOGNISED", _E, "{reason}")
IO_READ_FAILED = issue_type("IO_READ_FAILED", _E, "{reason}")
IO_CHANGED_DURING_READ = issue_type("IO_CHANGED_DURING_READ", _E, "the file changed while it was being read")

LIMIT_FILE_SIZE = issue_type("LIMIT_FILE_SIZE", _E, "{size} bytes, the limit is {limit}")
LIMIT_RECORDS = issue_type("LIMIT_RECORDS", _E, "more than {limit} records")
LIMIT_DEPTH = issue_type("LIMIT_DEPTH", _E, "nested deeper than {limit}")
LIMIT_NAME = issue_type("LIMIT_NAME", _E, "a name of {size} bytes, the limit is {limit}")

STRUCT_TRUNCATED = issue_type("STRUCT_TRUNCATED", _E, "{wanted} bytes wanted, {left} left")
STRUCT_CHUNK_TOO_SMALL = issue_type(
    "STRUCT_CHUNK_TOO_SMALL", _E, "a chunk of {size} bytes cannot hold its header of {least} bytes"
)
STRUCT_CHUNK_OVERRUN = issue_type(
    "STRUCT_CHUNK_OVERRUN", _E, "the chunk claims {size} bytes, {left} are left in its parent"
)
STRUCT_CHUNK_SLACK = issue_type(
    "STRUCT_CHUNK_SLACK", _W, "{size} bytes after the known fields, kept as they are"
)
STRUCT_CHUNK_MISPLACED = issue_type(
    "STRUCT_CHUNK_MISPLACED", _W, "{name} does not belong in {parent}, kept as raw bytes"
)
STRUCT_UNKNOWN_CHUNK = issue_type(
    "STRUCT_UNKNOWN_CHUNK", _I, "unknown chunk of {size} bytes, kept as raw bytes"
)
STRUCT_DUPLICATE_CHUNK = issue_type("STRUCT_DUPLICATE_CHUNK", _E, "{name} stands twice in {parent}")
STRUCT_COUNT_EXCEEDS_DATA = issue_type(
    "STRUCT_COUNT_EXCEEDS_DATA",
    _E,
    "{count} entries of at least {size} bytes are claimed, {left} bytes are left (room for {available})",
)
STRUCT_STRING_UNTERMINATED = issue_type(
    "STRUCT_STRING_UNTERMINATED", _E, "text without an end in the {left} bytes that are left"
)
STRUCT_TRAILING_DATA = issue_type("STRUCT_TRAILING_DATA", _W, "{size} bytes after the end, kept as they are")
STRUCT_NOT_REPRODUCIBLE = issue_type(
    "STRUCT_NOT_REPRODUCIBLE", _W, "numbers that would not be written back bit for bit (signalling NaN)"
)

SEM_EMPTY_DOCUMENT = issue_type("SEM_EMPTY_DOCUMENT", _W, "nothing inside")
