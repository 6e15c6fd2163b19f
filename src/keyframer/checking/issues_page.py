"""The documentation page of the issue codes, made from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from keyframer.catalogue import CATALOGUE
from keyframer.checking.check_report import PASSES, VERDICTS, pass_of
from keyframer.fields import field_meanings
from keyframer.issues import ISSUES_PER_CODE, ISSUES_PER_FILE
from keyframer.limits import FULL_SIZE, Limits

_FAMILIES = {
    "IO": "The file itself.",
    "LIMIT": "What reading a file and making something of it may cost at most; every limit is an option (see below).",
    "STRUCT": "How the bytes lie.",
    "LINK": "What refers to something else.",
    "SEM": "What fields say.",
    "STAGE": "What the rules of stage lighting say about shows (MVR) and fixtures (GDTF).",
    "DATA": "Numbers. An error here does not stop a scene from being made: evaluation copes with it.",
    "SEC": "Names that could harm whoever shows or follows them. Keyframer does neither; the bytes are kept.",
    "SCENE": "What it means all together, where there was something to decide.",
    "RUN": "A run over many files.",
}

_PASSES = ", ".join(f"*{name}* ({words})" for name, words in PASSES.items())

_INTRODUCTION = f"""\
`keyframer check` and `keyframer.check()` report issues with a code, a severity, a byte offset, a path and a message.
Codes never change; the words may. Issues come from four passes: {_PASSES}.

* An **error** makes a scene unsafe to build: an index out of range, a circle, a count or a block that does not fit.
  `load`, `convert` and all else that needs a scene refuse the file with this code, offset and path; `salvage=True`
  (`--salvage`) leaves out what is unsafe and reports each piece.
* A **warning** is odd, and kept as it is.
* An **info** is worth knowing.

A few codes are milder or graver by what depends on them: an unknown value is an error only where the length of what
follows depends on it, a double id only where something refers to it, a missing parent is a warning in formats whose
writers leave helpers out. The report says how each one was judged.

The verdict is *{VERDICTS[0]}* (no document can be made of it), *{VERDICTS[1]}* (errors or warnings) or *{VERDICTS[2]}*.
At most {ISSUES_PER_CODE} issues of a code and {ISSUES_PER_FILE:,} of a file are listed; all are counted. Two small
files for every code that a file alone can cause, with the exact report, are in `tests/golden/files`."""


_LIMITS = f"""\
`keyframer.Limits(name=…)` for `load`, `read`, `check` and `save`, and `--limit NAME=N` on the command line; the
defaults are far above any real file known.

Limits that say *budget* are for all that is made of a file: a scene, another file, pictures, a table. They hold for
inputs of up to {FULL_SIZE // 1024} KiB and grow in proportion beyond; companions, buffers and images that were read
beside a file count as input, and so does an archived file as far as it is compressed. A budget that is used up refuses
the work with its code, in one line. Where something useful is left, less is done instead and the report says so: motion
is *cut short*, an image is left out, faces behind many others are not drawn."""


def issues_page() -> str:
    """The page in Markdown."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "<!-- Generated from the catalogue: run `python tools/generate_docs.py`. -->"
    yield ""
    yield "# Issue codes"
    yield ""
    yield _INTRODUCTION
    families: dict[str, list[str]] = {family: [] for family in _FAMILIES}
    for code in CATALOGUE:
        families[code.partition("_")[0]].append(code)
    for family, codes in families.items():
        yield ""
        yield f"## {family}"
        yield ""
        yield _FAMILIES[family]
        yield ""
        yield "| code | severity | pass | message |"
        yield "| --- | --- | --- | --- |"
        for code in sorted(codes):
            kind = CATALOGUE[code]
            yield f"| `{code}` | {kind.severity.label} | {pass_of(code)} | {kind.template.replace('|', '&#124;')} |"
    yield ""
    yield "## Limits"
    yield ""
    yield _LIMITS
    yield ""
    yield "| limit | default | what |"
    yield "| --- | --- | --- |"
    for name, (_, meaning) in field_meanings(Limits).items():
        yield f"| `{name}` | {getattr(Limits(), name):,} | {meaning} |"
