"""The documentation page of the issue codes, generated from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyframer.catalogue import CATALOGUE
from keyframer.checking.check_report import PASSES, VERDICTS, pass_of
from keyframer.fields import field_meanings
from keyframer.issues import ISSUES_PER_CODE, ISSUES_PER_FILE, IssueType
from keyframer.limits import FULL_SIZE, Limits
from keyframer.text import counted

_FAMILIES = {
    "IO": "The file itself.",
    "LIMIT": "Limits on the cost of reading a file and of what is made from it; every limit is an option (see below).",
    "STRUCT": "The structure of the bytes.",
    "LINK": "References to other parts of the file.",
    "SEM": "Values of fields.",
    "STAGE": "Rules of stage lighting for shows (MVR) and fixtures (GDTF).",
    "DATA": "Numbers. A scene is made in spite of such an error: evaluation can handle it.",
    "SEC": "Names that could be harmful if shown or followed as paths. Keyframer does neither; the bytes are kept.",
    "SCENE": "Decisions made while building the scene.",
    "RUN": "A run of a command or a batch.",
}

_PASSES = ", ".join(f"*{name}* ({words})" for name, words in PASSES.items())

_INTRODUCTION = f"""\
`keyframer check` and `keyframer.check()` report issues with a code, a severity, a byte offset, a path and a message.
Codes never change; the words may. Issues come from four passes: {_PASSES}.

* An **error** makes a scene unsafe to build: an index out of range, a cycle, a count or a block that does not fit.
  `load`, `convert` and everything else that needs a scene refuse the file with this code, offset and path;
  `salvage=True` (`--salvage`) leaves out the unsafe parts and reports each.
* A **warning** is about something odd, which is kept unchanged.
* An **info** is worth knowing.

The severity of a few codes depends on the context: an unknown value is an error only if the length of the following
data depends on it, a duplicate id only if something refers to it; a missing parent is a warning in formats whose
writers leave helpers out. The report states the severity of each issue.

The verdict is *{VERDICTS[0]}* (the file cannot be decoded), *{VERDICTS[1]}* (errors or warnings) or *{VERDICTS[2]}*.
At most {ISSUES_PER_CODE} issues of a code and {ISSUES_PER_FILE:,} of a file are listed; all are counted. Two small
files for every code that a file alone can cause, with the exact report, are in `tests/golden/files`."""


_LIMITS = f"""\
`keyframer.Limits(name=…)` for `load`, `read`, `check` and `save`, and `--limit NAME=N` on the command line; the
defaults are far above any real file known.

Limits marked *budget* apply to everything that is made from a file: a scene, another file, pictures, a table. They hold
for inputs of up to {FULL_SIZE // 1024} KiB and grow in proportion for larger ones. Companions, buffers and images that
were read with a file count as input; of a file in an archive, its compressed size counts. If a budget is exceeded, the
work is refused with its code, in one line. If a part is still useful, less is done and the report says so: motion is
*cut short*, an image is left out, faces behind many others are not drawn."""


def issues_page() -> str:
    """Return the page as Markdown."""
    return "\n".join(_page()) + "\n"


def _message(kind: IssueType) -> str:
    """Return the template of a message as it reads for several: ``{size: byte}`` becomes ``{size} bytes``."""
    plural = re.sub(r"(\{\w+): ([^}]+)\}", lambda match: counted(match[1] + "}", match[2]), kind.template)
    return plural.replace("|", "&#124;")


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
            yield f"| `{code}` | {kind.severity.label} | {pass_of(code)} | {_message(kind)} |"
    yield ""
    yield "## Limits"
    yield ""
    yield _LIMITS
    yield ""
    yield "| limit | default | meaning |"
    yield "| --- | --- | --- |"
    for name, (_, meaning) in field_meanings(Limits).items():
        yield f"| `{name}` | {getattr(Limits(), name):,} | {meaning} |"
