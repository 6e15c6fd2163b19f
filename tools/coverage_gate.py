"""Checks the test coverage: ``python tools/coverage_gate.py build/coverage.json 97``.

Reads the JSON report of coverage.py, prints the share of statements, of branches, and of both together as coverage.py
counts them, and fails if one of the three is below the percentage. coverage.py itself checks only the last of them,
in which many statements can hide a few missing branches.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path


def shares(totals: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return covered and total numbers: of statements, of branches, and of both together."""
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
    found = shares(totals)
    for name, (reached, whole) in found.items():
        print(f"{name:10} {100 * reached / whole:6.2f} %  ({reached:,} of {whole:,})")
    low = [name for name, (reached, whole) in found.items() if 100 * reached < least * whole]
    if low:
        print(f"below {least:g} %: {', '.join(low)}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: coverage_gate.py REPORT.json PERCENT")
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2])))
