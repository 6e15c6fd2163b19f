"""``make coverage`` fails if statements, branches or both together are below the limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOL = ROOT / "tools" / "coverage_gate.py"


def gate(folder: Path, totals: dict[str, int], least: str = "97") -> subprocess.CompletedProcess[str]:
    report = folder / "coverage.json"
    report.write_text(json.dumps({"totals": totals}), "utf-8")
    command = [sys.executable, str(TOOL), str(report), least]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def totals(lines: int, statements: int, reached: int, branches: int) -> dict[str, int]:
    counts = {"covered_lines": lines, "num_statements": statements}
    return counts | {"covered_branches": reached, "num_branches": branches}


@pytest.mark.parametrize(
    ("counts", "low"),
    [
        (totals(1000, 1000, 100, 100), ""),
        (totals(970, 1000, 97, 100), ""),
        (totals(1000, 1000, 96, 100), "branches"),  # 99.6 % together
        (totals(9600, 10000, 99, 100), "statements, together"),
        (totals(969, 1000, 1000, 1000), "statements"),
        (totals(900, 1000, 90, 100), "statements, branches, together"),
    ],
)
def test_each_percentage_is_checked(counts: dict[str, int], low: str, tmp_path: Path) -> None:
    done = gate(tmp_path, counts)
    assert (done.returncode, done.stderr) == ((1, f"below 97 %: {low}\n") if low else (0, ""))
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["statements", "branches", "together"]


def test_figures_match_the_report(tmp_path: Path) -> None:
    done = gate(tmp_path, totals(1234, 1250, 391, 400), "98")
    assert done.stdout.splitlines() == [
        "statements  98.72 %  (1,234 of 1,250)",
        "branches    97.75 %  (391 of 400)",
        "together    98.48 %  (1,625 of 1,650)",
    ]
    assert done.stderr == "below 98 %: branches\n"


def test_a_report_without_branches_is_refused(tmp_path: Path) -> None:
    for counts in ({"covered_lines": 9, "num_statements": 9}, totals(9, 9, 0, 0)):
        done = gate(tmp_path, counts)
        assert done.returncode == 2
        assert "counts no branches" in done.stderr


def test_reads_reports_of_coverage_py(tmp_path: Path) -> None:
    """A small program of which four of five statements and one of two branches run."""
    program = tmp_path / "small.py"
    program.write_text("found = 1\nif found:\n    found = 2\nelse:\n    found = 3\nprint(found)\n", "utf-8")
    for command in (["run", "--branch", "small.py"], ["json", "-q", "-o", "report.json"]):
        subprocess.run([sys.executable, "-m", "coverage", *command], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, str(TOOL), "report.json", "97"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert [line.split("(")[1] for line in done.stdout.splitlines()] == ["4 of 5)", "1 of 2)", "5 of 7)"]
    assert done.stderr == "below 97 %: statements, branches, together\n"


def test_make_coverage_runs_the_gate() -> None:
    """The command counts branches and uses the percentage that the documentation states."""
    rules = (ROOT / "Makefile").read_text("utf-8").split("\ncoverage:")[1].split("\n\n")[0]
    assert "--cov=keyframer.wire --cov=keyframer.formats --cov-branch" in rules
    assert "--cov-report=json:build/coverage.json" in rules
    assert "tools/coverage_gate.py build/coverage.json 97" in rules
