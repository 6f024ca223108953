"""Two profiles of property tests.

`fast` tries the same 60 examples each time: what a change breaks must not depend on luck, nor may
a change fail for what another one broke. `slow` (`make test-surprise`, weekly) tries 3,000 fresh
ones, from a seed that is printed, and after a failure says how to repeat it.
"""

import gc
import os
import signal
from itertools import islice

import pytest
from hypothesis import HealthCheck, settings
from tests.late import Tally

from flashcrowd.cli import ALLOCATIONS
from flashcrowd.engines.simulation import Simulator

settings.register_profile("fast", max_examples=60, deadline=None, derandomize=True)
settings.register_profile(
    "slow",
    max_examples=3000,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background has them ignore Ctrl-C, and their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # So does `nohup` with a closed terminal. The tests go on, and what they begin hears of it.
    signal.signal(signal.SIGHUP, lambda number, frame: None)


# The runner's own objects are many and live to its end: to look at them at each collection took a
# tenth of all tests' time.
gc.set_threshold(ALLOCATIONS, 50, 50)


@pytest.fixture
def untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` does not time runs of a study, which takes 0.3 s: tests/study/test_calibration.py."""
    monkeypatch.setattr(Simulator, "seconds", lambda self, plan, seed, most_s: most_s)


WAITING = {"autolimit", "clients", "emulation"}
"""Folders of tests that mostly wait, for real programs and real time."""


@pytest.hookimpl(trylast=True)  # of those that `-m` leaves
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is long begins first, then what waits, on two of three workers; others compute.

    A worker begins with a stretch of the list, and takes from those of others when it is through.
    """
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    first = sorted(filter(_begins_first, items), key=lambda item: not _is_long(item))
    then = iter([item for item in items if not _begins_first(item)])
    stretch = -(-len(items) // workers)
    waiting = workers - workers // 3
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        begun = first[worker::waiting] if worker < waiting else []
        ordered += [*begun, *islice(then, max(stretch - len(begun), 0))]
    items[:] = [*ordered, *then]


def _begins_first(item: pytest.Item) -> bool:
    return _is_long(item) or item.path.parent.name in WAITING


def _is_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None


TALLY = Tally()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Counts what a late machine left out; the process that prints hears of all workers."""
    TALLY.count(report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says so once."""
    if line := TALLY.line():
        terminalreporter.write_line(line, red=True, bold=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails where nothing could be judged."""
    if TALLY.nothing_judged and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
