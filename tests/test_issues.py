"""Errors and issues: codes, messages, pickling, and logs with a limited number of issues."""

from __future__ import annotations

import copy
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyframer
from keyframer.catalogue import (
    CATALOGUE,
    DATA_WEIGHT_SUM,
    STRUCT_CHUNK_SLACK,
    STRUCT_TRUNCATED,
    STRUCT_UNKNOWN_CHUNK,
    issue_type,
)
from keyframer.issues import Issue, IssueLog, IssueType, Severity

PATH = "/4d4d/b000/b002[3]/b020/keys[3]/flags"


def test_error_has_code_offset_path_and_message() -> None:
    error = STRUCT_TRUNCATED.failure(0x1F4, PATH, wanted=44, left=10)
    assert isinstance(error, keyframer.FormatError)
    assert (error.code, error.offset, error.path) == ("STRUCT_TRUNCATED", 500, PATH)
    assert error.message == "expected 44 bytes, 10 remaining"
    assert error.details == {"wanted": 44, "left": 10}
    assert str(error) == f"STRUCT_TRUNCATED at 0x1f4 in {PATH}: expected 44 bytes, 10 remaining"


def test_messages_have_the_right_plural() -> None:
    assert STRUCT_TRUNCATED.failure(0, "/", wanted=1, left=0).message == "expected 1 byte, 0 remaining"
    assert "at 1 vertex (" in DATA_WEIGHT_SUM.message({"count": 1, "index": 4, "total": 2.5})
    assert "at 2 vertices (" in DATA_WEIGHT_SUM.message({"count": 2, "index": 4, "total": 2.5})


def test_error_without_a_path_is_about_the_whole_file() -> None:
    error = keyframer.FormatError("IO_EMPTY")
    assert (error.offset, error.path) == (0, "/")
    assert str(error) == "IO_EMPTY at 0x0 in /: "


@pytest.mark.parametrize("turn", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_can_be_copied_and_pickled(turn: object) -> None:
    error = STRUCT_TRUNCATED.failure(500, PATH, wanted=44, left=10)
    restored = turn(error)  # type: ignore[operator]
    assert type(restored) is keyframer.FormatError
    assert str(restored) == str(error)
    assert (restored.code, restored.offset, restored.path, restored.message, restored.details) == (
        error.code,
        error.offset,
        error.path,
        error.message,
        error.details,
    )


def test_issue_has_code_severity_offset_path_and_message() -> None:
    issue = Issue(STRUCT_CHUNK_SLACK, PATH, 500, {"size": 7})
    assert (issue.code, issue.severity, issue.path, issue.offset) == ("STRUCT_CHUNK_SLACK", Severity.WARNING, PATH, 500)
    assert issue.message == "7 bytes after the known fields, kept unchanged"
    assert str(issue) == f"warning: STRUCT_CHUNK_SLACK at 0x1f4 in {PATH}: {issue.message}"
    assert str(pickle.loads(pickle.dumps(issue))) == str(issue)
    error = issue.as_error()
    assert (error.code, error.offset, error.path, error.message) == (issue.code, 500, PATH, issue.message)
    assert Issue(STRUCT_CHUNK_SLACK, PATH, 1, {"size": 7}, Severity.INFO).severity is Severity.INFO


def test_severities_are_ordered() -> None:
    assert Severity.INFO < Severity.WARNING < Severity.ERROR
    assert [severity.label for severity in Severity] == ["info", "warning", "error"]


def test_every_issue_type_is_complete() -> None:
    for code, kind in CATALOGUE.items():
        assert kind.code == code
        assert re.fullmatch(r"(IO|LIMIT|STRUCT|SEM|LINK|DATA|SEC|RUN|SALV|SCENE|[A-Z]+)_[A-Z0-9_]+", code)
        assert kind.template
        assert "\n" not in kind.template
    with pytest.raises(ValueError, match="IO_EMPTY is declared twice"):
        issue_type("IO_EMPTY", Severity.INFO, "again")


# From the table of the safety document, as far as reading a 3D Studio document goes.
@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("IO_EMPTY", "error"),
        ("IO_UNRECOGNISED", "error"),
        ("IO_CHANGED_DURING_READ", "error"),
        ("LIMIT_FILE_SIZE", "error"),
        ("LIMIT_RECORDS", "error"),
        ("LIMIT_DEPTH", "error"),
        ("LIMIT_NAME", "error"),
        ("STRUCT_TRUNCATED", "error"),
        ("STRUCT_CHUNK_TOO_SMALL", "error"),
        ("STRUCT_CHUNK_OVERRUN", "error"),
        ("STRUCT_CHUNK_SLACK", "warning"),
        ("STRUCT_CHUNK_MISPLACED", "warning"),
        ("STRUCT_UNKNOWN_CHUNK", "info"),
        ("STRUCT_DUPLICATE_CHUNK", "error"),
        ("STRUCT_COUNT_EXCEEDS_DATA", "error"),
        ("STRUCT_STRING_UNTERMINATED", "error"),
        ("STRUCT_TRAILING_DATA", "warning"),
        ("SEM_EMPTY_DOCUMENT", "warning"),
    ],
)
def test_codes_and_severities_do_not_change(code: str, severity: str) -> None:
    assert CATALOGUE[code].severity.label == severity


class TestLog:
    def test_empty(self) -> None:
        log = IssueLog()
        assert (len(log), log.total, log.truncated, log.worst(), log.first_unsafe()) == (0, 0, False, None, None)
        assert list(log) == []
        assert "nothing" in repr(log)

    def test_order_and_access(self) -> None:
        log = IssueLog()
        log.add(STRUCT_CHUNK_SLACK, "/a", 1, size=2)
        log.add(STRUCT_TRUNCATED, "/b", 2, wanted=2, left=1)
        log.add(STRUCT_UNKNOWN_CHUNK, lambda: "/c", 3, size=4)
        assert [issue.path for issue in log] == ["/a", "/b", "/c"]
        assert log[1].code == "STRUCT_TRUNCATED"
        assert log.worst() is Severity.ERROR
        assert log.first_unsafe() is log[1]
        assert log.counts == {"STRUCT_CHUNK_SLACK": 1, "STRUCT_TRUNCATED": 1, "STRUCT_UNKNOWN_CHUNK": 1}
        assert repr(log) == "<IssueLog: STRUCT_CHUNK_SLACK x1, STRUCT_TRUNCATED x1, STRUCT_UNKNOWN_CHUNK x1>"

    def test_log_counts_all_issues_and_keeps_some(self) -> None:
        log = IssueLog()
        for offset in range(1_000):
            log.add(STRUCT_CHUNK_SLACK, "/", offset, size=1)
        log.add(STRUCT_UNKNOWN_CHUNK, "/", 0, size=1)
        assert (len(log), log.total, log.truncated) == (21, 1_001, True)
        assert [issue.offset for issue in log][:20] == list(range(20))

    def test_log_has_a_limit_for_each_file(self) -> None:
        log = IssueLog()
        kinds = [IssueType(f"SEM_{n}", Severity.INFO, "x") for n in range(200)]
        for kind in kinds * 20:
            log.add(kind, "/", 0)
        assert (len(log), log.total, log.truncated) == (1_000, 4_000, True)

    def test_path_of_an_issue_that_is_not_kept_is_not_computed(self) -> None:
        log = IssueLog(per_code=1)
        log.add(STRUCT_CHUNK_SLACK, "/a", 1, size=1)

        def never() -> str:
            raise AssertionError

        log.add(STRUCT_CHUNK_SLACK, never, 1, size=1)
        assert log.total == 2

    def test_limits_do_not_hide_the_first_unsafe_error(self) -> None:
        log = IssueLog(per_file=1)
        log.add(STRUCT_CHUNK_SLACK, "/a", 1, size=1)
        log.add(STRUCT_TRUNCATED, "/b", 2, wanted=1, left=0)
        log.add(STRUCT_TRUNCATED, "/c", 3, wanted=1, left=0)
        assert log.first_unsafe().path == "/b"
        assert log.worst() is Severity.ERROR
        assert len(log) == 1

    def test_data_errors_do_not_hide_the_first_unsafe_error(self) -> None:
        """DATA_ errors do not make it unsafe to build a scene."""
        log = IssueLog(per_code=1, per_file=1)
        log.add(IssueType("DATA_X", Severity.ERROR, "x"), "/a", 1)
        log.add(STRUCT_TRUNCATED, "/b", 2, wanted=1, left=0)
        assert log.first_unsafe().path == "/b"

    def test_extending_a_log_with_another(self) -> None:
        one, two = IssueLog(per_code=2), IssueLog(per_code=3)
        for offset in range(5):
            one.add(STRUCT_CHUNK_SLACK, "/one", offset, size=1)
            two.add(STRUCT_CHUNK_SLACK, "/two", offset, size=1)
        two.add(STRUCT_TRUNCATED, "/two", 9, wanted=1, left=0)
        one.extend(two)
        assert one.counts == {"STRUCT_CHUNK_SLACK": 10, "STRUCT_TRUNCATED": 1}
        assert [issue.path for issue in one] == ["/one", "/one", "/two"]
        assert one.worst() is Severity.ERROR
        twin = one.copy()
        assert (twin.counts, list(twin)) == (one.counts, list(one))
        twin.add(STRUCT_CHUNK_SLACK, "/", 0, size=1)
        assert one.total == 11

    def test_logs_can_be_pickled(self) -> None:
        log = IssueLog(per_code=1)
        log.add(STRUCT_TRUNCATED, "/b", 2, wanted=1, left=0)
        log.add(STRUCT_TRUNCATED, "/c", 2, wanted=1, left=0)
        restored = pickle.loads(pickle.dumps(log))
        assert (restored.counts, restored.truncated, str(restored[0])) == (log.counts, True, str(log[0]))

    @given(
        st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from(Severity)), max_size=60),
        st.integers(0, 5),
        st.integers(0, 9),
    )
    def test_counts_and_issues_of_any_log(
        self, found: list[tuple[str, Severity]], per_code: int, per_file: int
    ) -> None:
        log = IssueLog(per_code, per_file)
        for offset, (code, severity) in enumerate(found):
            log.add(IssueType(f"SEM_{code}", Severity.INFO, "x"), "/", offset, severity=severity)
        assert log.total == len(found)
        assert len(log) <= min(per_file, 3 * per_code)
        assert log.truncated == (len(log) < len(found))
        assert log.worst() == max((severity for _, severity in found), default=None)
        errors = [offset for offset, (_, severity) in enumerate(found) if severity is Severity.ERROR]
        first = log.first_unsafe()
        assert (first.offset if first else None) == (errors[0] if errors else None)
        copied, backwards = log.copy(), log.sorted_by(lambda issue: -issue.offset)
        assert [*copied] == [*log]
        assert [*backwards] == [*log][::-1]
        for other in (copied, backwards):
            assert (other.counts, other.counts_by_severity) == (log.counts, log.counts_by_severity)
            assert (other.worst(), other.first_unsafe()) == (log.worst(), first)
            other.add(IssueType("SEM_A", Severity.INFO, "x"), "/", len(found))
        assert log.total == len(found)
        log.add(IssueType("SEM_A", Severity.INFO, "x"), "/", len(found))
        assert len(log) == len(copied) == len(backwards)
