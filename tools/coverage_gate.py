"""Checks the test coverage: ``python tools/coverage_gate.py build/coverage.json 97``.

Reads the JSON report of coverage.py, prints the share of statements, of branches, and of both together as coverage.py
counts them, and fails if one of the three is below the percentage. coverage.py itself checks only the last of them, in
which a high share of statements can hide a low share of branches.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path


def shares(totals: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the covered and the total number of statements, of branches, and of both together."""
    statements = totals["covered_lines"], totals["num_statements"]
    branches = totals["covered_branches"], totals["num_branches"]
    return {
        "statements": statements,
        "branches": branches,
        "together": (statements[0] + branches[0], statements[1] + branches[1]),
    }


def main(report: Path, least: float) -> int:
    """Print the three figures; returns 1 if one is too low, 2 if the report has no branches."""
    totals = json.loads(report.read_text("utf-8"))["totals"]
    if not totals.get("num_branches"):
        print(f"{report} counts no branches: it was not made with --cov-branch", file=sys.stderr)
        return 2
    counts = shares(totals)
    for name, (covered, total) in counts.items():
        print(f"{name:10} {100 * covered / total:6.2f} %  ({covered:,} of {total:,})")
    low = [name for name, (covered, total) in counts.items() if 100 * covered < least * total]
    if low:
        print(f"below {least:g} %: {', '.join(low)}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: coverage_gate.py REPORT.json PERCENT")
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2])))
