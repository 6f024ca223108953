"""A late machine is told once, and fails what nothing could be judged of."""

import pytest
from tests.late import WORDS, Tally, ended


def report(outcome: str, *marks: str, why: str = "", when: str = "call") -> pytest.TestReport:
    return pytest.TestReport(
        "test.py::test",
        ("test.py", 1, "test"),
        dict.fromkeys(marks, 1),
        outcome,  # type: ignore[arg-type]
        ("test.py", 1, why),
        when,  # type: ignore[arg-type]
    )


IN_TIME = report("passed", "clocked")
LATE = report("skipped", "clocked", why=f"Skipped: {WORDS}: 3 times")
OTHERS = [
    report("skipped", "clocked", why="Skipped: no root"),
    report("passed"),
    report("passed", "clocked", when="setup"),
]


@pytest.mark.parametrize(
    ("reports", "said", "fails"),
    [
        ([], "", False),
        ([IN_TIME, *OTHERS], "", False),
        ([LATE, IN_TIME, *OTHERS], "1 held against the clock judged nothing, 1 did", False),
        ([LATE, LATE, *OTHERS], "2 held against the clock judged nothing, and no other", True),
        ([LATE, report("failed", "kernel")], "judged nothing, 1 did", False),
    ],
)
def test_what_is_late_is_counted(reports: list[pytest.TestReport], said: str, fails: bool) -> None:
    tally = Tally()
    for it in reports:
        tally.count(it)
    assert said in tally.line()
    assert bool(tally.line()) == bool(said)
    assert tally.nothing_judged == fails


@pytest.mark.parametrize(
    ("outcome", "reason", "passes"),
    [
        ("completed", "", True),
        ("invalid", "programs waited for a processor; self-test: delay is 2", True),
        ("invalid", "self-test: delay is 2", False),
        ("stalled", "nobody sent", False),
    ],
)
def test_a_run_may_be_late_and_not_on_another_network(
    outcome: str, reason: str, passes: bool
) -> None:
    run = {"outcome": outcome, "reason": reason}
    if passes:
        ended(run, "completed")
    else:
        with pytest.raises(AssertionError):
            ended(run, "completed")
