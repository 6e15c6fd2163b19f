"""``keyframer batch report``: the ledger as a table, CSV, JSON or one HTML page with pictures, links and filters.

Text from files is made safe to show.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from urllib.parse import quote

from keyframer.batch.job import FAILED, FINDINGS, STATUSES
from keyframer.batch.ledger import Ledger
from keyframer.batch.operation_table import ALL
from keyframer.batch.output_names import Renamed
from keyframer.batch.proof import out_of
from keyframer.batch.shards import Ledgers, ledgers_of, missing_shards
from keyframer.batch.storage import is_url
from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.cli.messages import failure, note, shown_name
from keyframer.cli.outputs import write_file
from keyframer.errors import FormatError
from keyframer.files import note_input
from keyframer.formats.foreign_files import NOT_READ
from keyframer.inspecting.listing import STYLES, Listing
from keyframer.inspecting.tables import shown
from keyframer.markup import HtmlPage, Markup, heading_row, opening, script, script_source, tag
from keyframer.operations.check import SEVERITIES, VERDICT_WORDS
from keyframer.text import counted, safe_text

SCHEMA = "keyframer.batch"
SCHEMA_VERSION = 1

REPORT_COLUMNS = (
    "operation", "source", "status", "verdict", "format", "output", "code", "message", "worst", "issues", "size",
    "sha256", "seconds",
)  # fmt: skip

_SCRIPT = """
const form = document.getElementById("filters"), rows = [...document.querySelectorAll("tr[data-status]")];
const texts = rows.map((row) => row.textContent.toLowerCase());
const severities = ["none", "info", "warning", "error"];
const fits = (name, own, wanted) => name === "severity" && wanted !== "none"
  ? severities.indexOf(own) >= severities.indexOf(wanted) : own === wanted;
const filter = () => {
  const value = (name) => form.elements.namedItem(name).value;
  const words = value("words").toLowerCase().split(/\\s+/).filter(Boolean);
  const chosen = ["operation", "status", "verdict", "severity"].filter(value);
  let count = 0;
  rows.forEach((row, at) => {
    const isChosen = chosen.every((name) => fits(name, row.dataset[name], value(name)));
    row.hidden = !(isChosen && words.every((word) => texts[at].includes(word)));
    count += !row.hidden;
  });
  document.getElementById("count").textContent = `${count} of ${rows.length} shown`;
};
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(filter));
form.hidden = false;
filter();
"""
_STYLE = """
:root { color-scheme: light dark; --line: #ddd; --head: #f3f3f3; --failed: #fdecea; --findings: #fff6e0 }
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5em auto; padding: 0 1em; max-width: 1300px;
  box-sizing: border-box; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1em 0 }
th, td { border: 1px solid var(--line); padding: .2em .6em; text-align: left; vertical-align: top }
th { background: var(--head); position: sticky; top: 0 }
.failed td { background: var(--failed) } .findings td { background: var(--findings) }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.long { overflow-wrap: anywhere; min-width: 8em }
td img { width: 96px; height: auto; display: block }
form { display: flex; flex-wrap: wrap; gap: .5em 1em; align-items: end } form[hidden] { display: none }
label { display: grid } input, select, button { font: inherit; padding: .2em .4em }
:focus-visible { outline: 3px solid #0b62c4 }
@media (max-width: 700px) { #files, #files tr, #files td { display: block }
  #files tr[hidden], #files td:empty { display: none }
  #files th { display: none } #files td.n { text-align: left } #files tr { margin-bottom: 1em } }
@media (prefers-color-scheme: dark) {
  :root { --line: #444; --head: #2a2a2d; --failed: #43211e; --findings: #40351a }
  body { background: #1b1b1d; color: #ddd } a { color: #6cb0ff }
}
"""
_PAGE = HtmlPage("Keyframer batch report", {"img-src": "'self' file:", "script-src": script_source(_SCRIPT)}, _STYLE)

_MOST_LINES = 20
"""maximum number of refused rows that are shown"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where",
        nargs="+",
        metavar="OUT",
        help="output folder of a batch, with all its shards, or a ledger",
    )
    parser.add_argument(
        "--format", choices=(*STYLES, "html"), default="pretty", help="style of the output (default: pretty)"
    )
    parser.add_argument("--status", choices=STATUSES, help="show only files with this status")
    parser.add_argument(
        "--only",
        action="append",
        choices=tuple(VERDICT_WORDS),
        help="show only files with this verdict (may be repeated)",
    )
    parser.add_argument(
        "--severity", choices=SEVERITIES, help="show only files with issues of this severity or a higher one"
    )
    parser.add_argument(
        "--loss", metavar="CODE[:CASE]", type=_loss, help="show only conversions with this loss (docs/losses.md)"
    )
    parser.add_argument(
        "--operation", dest="only_operation", choices=tuple(ALL), metavar="NAME", help="show only this operation"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of stdout")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")


def run(options: argparse.Namespace) -> int:
    ledger = Ledgers(ledger_paths(options))
    for line in missing_shards(ledger.paths):
        note(options, line)
    if options.loss:
        from keyframer.scene.losses import LOSSES

        code, _, case = options.loss.partition(":")
        if code not in LOSSES or case not in ("", *LOSSES[code]):
            note(options, f"no loss has the code {shown_name(options.loss)}; docs/losses.md lists them")
    if options.output is None:
        _write(ledger, options)
        return show_refused(ledger)
    text = StringIO()
    with redirect_stdout(text):
        _write(ledger, options)
    code = show_refused(ledger)
    try:
        write_file(options.output, text.getvalue().encode("utf-8", "backslashreplace"), force=options.force)
    except FormatError as error:
        failure(options.output, error)
        return INPUTS_FAILED
    return code


def ledger_paths(options: argparse.Namespace) -> list[str]:
    """Return the paths of the ledgers that the arguments name, after registering them as inputs."""
    paths = [path for where in options.where for path in ledgers_of(where)]
    for path in paths:
        for part in ("", "-wal", "-shm", ".lock"):
            note_input(path + part)
    return paths


def show_refused(ledger: Ledger | Ledgers) -> int:
    """Print a line for each row refused since the last call; returns `INPUTS_FAILED` if there are any."""
    lines, ledger.refused = ledger.refused, []
    for line in lines[:_MOST_LINES]:
        print(f"keyframer: {shown_name(line)}", file=sys.stderr)
    if len(lines) > _MOST_LINES:
        print(f"keyframer: more refused rows of the ledger: {len(lines) - _MOST_LINES:,}", file=sys.stderr)
    return INPUTS_FAILED if lines else SUCCESS


def _write(ledger: Ledgers, options: argparse.Namespace) -> None:
    if options.format == "html":
        for piece in _html_page(ledger, options):
            sys.stdout.write(piece)
        return
    listing = Listing(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, REPORT_COLUMNS)
    root = ""
    if options.format == "pretty":
        root = _common_folder(str(row["source"]) for row in _rows(ledger, options))
        ledger.refused.clear()  # the rows are read again
        _pretty_head(ledger, options)
        sys.stdout.write(f"in {shown_name(root)}:\n" if root else "")
    for row in _rows(ledger, options):
        if options.format == "pretty":
            sys.stdout.write(_lines(row, root) + "\n")
        else:
            listing.json(_record_of(row))
            listing.row(_cells_of(row))
    listing.close()


def _rows(ledgers: Ledgers, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows that are wanted, with verdict and output folder; the worst issue of a failure is an error."""
    for ledger in ledgers.each():
        out = out_of(ledger)
        for row in ledger.rows(options.only_operation, options.status):
            row |= {"out": out, "verdict": _verdict(row), "worst": "error" if row["status"] == FAILED else row["worst"]}
            if _is_wanted(row, options):
                yield row


def _is_wanted(row: dict[str, Any], options: argparse.Namespace) -> bool:
    if options.only and row["verdict"] not in [VERDICT_WORDS[word] for word in options.only]:
        return False
    if options.loss and not any(options.loss in (key, key.partition(":")[0]) for key in _loss_codes(row)):
        return False
    if options.severity is None:
        return True
    return row["worst"] in SEVERITIES[: SEVERITIES.index(options.severity) + 1]


def _loss(text: str) -> str:
    """Return the code of a loss, with its case if one is given, as ledgers have it."""
    code, colon, case = text.partition(":")
    return code.upper() + colon + case.lower()


def _loss_codes(row: dict[str, Any]) -> dict[str, Any]:
    """Return the losses of a conversion: how often each code occurs, with its case."""
    codes = row["details"].get("loss_codes")
    return codes if isinstance(codes, dict) else {}


def _counts(ledgers: Ledgers, options: argparse.Namespace) -> tuple[list[tuple[Any, ...]], list[Renamed]]:
    """Return operation, status, code and number of the files that are shown; and, if these are all, outputs with other
    names."""
    if not (options.status or options.only or options.severity or options.loss):
        return [*ledgers.counts(options.only_operation)], ledgers.renamed(options.only_operation)
    found = Counter((row["operation"], row["status"], row["code"]) for row in _rows(ledgers, options))
    ledgers.refused.clear()  # the rows that are shown are read again
    order = sorted(found.items(), key=lambda item: (item[0][0], item[0][1] == FAILED, item[0][1], -item[1]))
    return [(*key, count) for key, count in order], []


def _strangers(ledgers: Ledgers, options: argparse.Namespace) -> list[tuple[str, int]]:
    """Return the names of formats that Keyframer does not read, and how many of the shown files have them."""
    names = {row["source"]: row["details"].get("stranger") for row in _rows(ledgers, options)}
    ledgers.refused.clear()  # the rows that are shown are read again
    return Counter(name for name in names.values() if isinstance(name, str)).most_common()


def _verdict(row: dict[str, Any]) -> str | None:
    """Return the verdict on the file of a row, as far as its operation tells; None if that is nothing."""
    if "verdict" in row["details"]:
        return str(row["details"]["verdict"])
    code = str(row["code"])
    if row["status"] == FAILED:
        if code.startswith(("RUN_OUTPUT_", "RUN_REFUSED", "RUN_INTERNAL_")):
            return None
        return "not readable" if code.startswith(("IO_", "LIMIT_", "RUN_")) else "damaged"
    if row["status"] == FINDINGS:  # unsafe parts were left out
        return "damaged"
    return "readable with problems" if row["worst"] in ("warning", "error") else None


def _pretty_head(ledger: Ledgers, options: argparse.Namespace) -> None:
    counts, all_renamed = _counts(ledger, options)
    for name, status, code, count in counts:
        label = "with findings" if status == "findings" else status
        sys.stdout.write(f"{name}: {count:,} {label}{f' ({code})' if code else ''}\n")
    for name, count in _strangers(ledger, options):
        sys.stdout.write(f"{safe_text(name)}: {counted(count, 'file')}, {NOT_READ}\n")
    for renamed in all_renamed:
        sys.stdout.write(f"renamed: {safe_text(str(renamed))}\n")
    sys.stdout.write("\n")


_WIDTH = 100
"""maximum number of columns of a line for people"""


def _common_folder(sources: Iterable[str]) -> str:
    """Return the folder that all sources are in, with a slash at its end; empty if that is only the root of a disk."""
    common: list[str] = []
    for number, source in enumerate(sources):
        folders = source.split("/")[:-1]
        is_same = [one == other for one, other in zip(common, folders, strict=False)]
        common = common[: [*is_same, False].index(False)] if number else folders
    return "/".join(common) + "/" if any(common) else ""


def _lines(row: dict[str, object], root: str) -> str:
    """Return a row in lines of at most `_WIDTH` columns; the source is relative to the root."""
    outcome = f"{row['code']}: {row['message']}" if row["code"] else f"-> {row['output']}"
    issues = row["issues"]
    if row["status"] != "failed" and row["worst"] and isinstance(issues, dict):
        outcome += f" (worst: {row['worst']}; {', '.join(f'{code} {count}' for code, count in issues.items())})"
    source = str(row["source"]).removeprefix(root)
    text = f"{row['status']:<8}  {row['seconds']:8.3f} s  {shown_name(source)}  {safe_text(outcome)}"
    return textwrap.fill(text, _WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False, replace_whitespace=False)


def _record_of(row: dict[str, Any]) -> dict[str, object]:
    """Return a row of the ledger as a JSON record; text is safe to show."""
    record: dict[str, object] = {name: _safe(row[name]) for name in REPORT_COLUMNS}
    record["outputs"] = [
        {"path": _safe(output["path"]), "size": output["size"], "sha256": output["sha256"]} for output in row["outputs"]
    ]
    for name in ("offset", "path", "version", "options", "finished"):
        record[name] = _safe(row[name])
    record["details"] = _safe(row["details"])
    return record


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value, most=1_000)
    if isinstance(value, dict):
        return {_safe(name): _safe(content) for name, content in value.items()}
    return value


def _cells_of(row: dict[str, Any]) -> list[Any]:
    """Return a row of the ledger as the cells of a table."""
    issues = " ".join(f"{code}:{count}" for code, count in row["issues"].items())
    return [issues if name == "issues" else row[name] for name in REPORT_COLUMNS]


_PICTURES = (".png", ".jpg", ".gif", ".apng", ".webp")
"""extensions of outputs that a page can show"""
_PAGE_COLUMNS = (
    *("source", "operation", "status", "verdict", "severity", "issues", "outputs", "format", "size", "seconds"),
)


def _html_page(ledger: Ledgers, options: argparse.Namespace) -> Iterator[str]:
    """Yield the pieces of the HTML page."""
    counts, renamed = _counts(ledger, options)
    links = _Links(options.output)
    pictures = links.pictures(ledger)
    yield _PAGE.begin() + tag("h1", _PAGE.title)
    head = ("operation", "status", "code", "files")
    yield _table(head, ([_cell(*cell) for cell in zip(head, values, strict=True)] for values in counts))
    if strangers := _strangers(ledger, options):
        yield tag("h2", "Formats that Keyframer does not read")
        yield _table(("format", "files"), ([_cell("format", name), _cell("files", n)] for name, n in strangers))
    if renamed:
        yield tag("h2", "Outputs under another name")
        head = ("source", "wanted", "given", "reason")
        yield _table(head, ([_cell(name, getattr(row, name)) for name in head] for row in renamed))
    yield tag("h2", "Files")
    yield tag(
        "form",
        tag("label", "Words", tag("input", type="search", name="words")),
        _choice("operation", dict.fromkeys(name for name, *_ in counts)),
        _choice("status", STATUSES),
        _choice("verdict", (*VERDICT_WORDS.values(), "clean")),
        _choice("severity", ("error", *(f"{name} or higher" for name in SEVERITIES[1:]), "none")),
        tag("button", "Show all", type="reset"),
        id="filters",
        role="search",
        aria_label="Files",
        hidden=True,
    )
    yield tag("p", id="count", role="status")
    yield opening("table", id="files") + heading_row((*(("picture",) if pictures else ()), *_PAGE_COLUMNS))
    for row in _rows(ledger, options):
        worst = row["worst"] or "none"
        outcome = f"{row['code']}: {row['message']}" if row["code"] else ""
        issues = " ".join(f"{code}:{count}" for code, count in row["issues"].items())
        values = {**row, "severity": worst, "issues": f"{outcome} {issues}".strip()}
        cells = [_cell(name, values[name]) if name != "outputs" else links.cell(row) for name in _PAGE_COLUMNS]
        if pictures:
            link = pictures.get(row["source"])
            cells.insert(0, tag("td", "" if link is None else tag("img", src=link, loading="lazy", alt="")))
        data = {f"data_{name}": values[name] or "" for name in ("operation", "status", "verdict", "severity")}
        yield tag("tr", *cells, class_=row["status"], **data) + "\n"
    yield "</table>" + script(_SCRIPT) + _PAGE.end()


class _Links:
    """Links from the page to the outputs. There are none to URLs, which browsers cannot open."""

    def __init__(self, page: str | None) -> None:
        self._start = os.getcwd() if page is None else os.path.dirname(os.path.abspath(page))

    def _link(self, row: dict[str, Any], path: str) -> str | None:
        """Return the link to one of the outputs of a row: all of them are in one folder, which may have been moved."""
        if is_url(row["out"]):
            return None
        output = os.path.join(row["out"], os.path.dirname(row["output"]), os.path.basename(path))
        return quote(os.fsencode(os.path.relpath(output, self._start).replace(os.sep, "/")))

    def pictures(self, ledger: Ledgers) -> dict[str, str]:
        """Return the link to a picture of each source that has one."""
        found: dict[str, str] = {}
        everything = {"status": None, "only": None, "severity": None, "loss": None}
        for operation in (name for name in reversed(ALL) if ALL[name].shows_pictures):
            for row in _rows(ledger, argparse.Namespace(only_operation=operation, **everything)):
                shown_outputs = (output["path"] for output in row["outputs"] if output["path"].endswith(_PICTURES))
                picture = max(shown_outputs, key=lambda path: path.endswith("picture.jpg"), default=None)
                link = None if picture is None else self._link(row, picture)
                if link is not None:
                    found[row["source"]] = link
        ledger.refused.clear()  # the rows that are shown are read again
        return found

    def cell(self, row: dict[str, Any]) -> Markup:
        main = os.path.basename(row["output"])
        paths = sorted((output["path"] for output in row["outputs"]), key=lambda path: os.path.basename(path) != main)
        items: list[object] = []
        for path in paths:
            link, name = self._link(row, path), shown(os.path.basename(path), most=100)
            items += [tag("br")] if items else []
            items.append(name if link is None else tag("a", name, href=link))
        return tag("td", *items, class_="long")


def _choice(name: str, values: Iterable[str]) -> Markup:
    """Return a list of filters. The value of ``info or higher`` is ``info``."""
    options = (tag("option", value, value=value.removesuffix(" or higher")) for value in values)
    return tag("label", name.capitalize(), tag("select", tag("option", "all", value=""), *options, name=name))


def _table(columns: Iterable[str], rows: Iterable[list[Markup]]) -> Markup:
    return tag("table", heading_row(columns), *(tag("tr", *cells) for cells in rows))


_LONG = ("source", "message", "issues", "wanted", "given", "reason")


def _cell(column: str, value: Any) -> Markup:
    css_class = "n" if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return tag("td", shown(value, most=500), class_="long" if column in _LONG else css_class)
