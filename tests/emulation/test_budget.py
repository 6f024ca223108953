"""Which emulated runs go on side by side: by their packets, and by the processors' free time."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from tests.engines import plans

from flashcrowd.base.errors import Cancelled
from flashcrowd.base.need import Need
from flashcrowd.emulation import budget, processors
from flashcrowd.emulation.budget import share, steered
from flashcrowd.emulation.launch import LabHandle
from flashcrowd.emulation.processors import WINDOW_S, Processors


class Machine:
    """A clock, and the ticks of two processors."""

    def __init__(self) -> None:
        self.now = 0.0
        self.free = 0
        self.everything = 0

    def processors(self) -> Processors:
        return Processors(lambda: (self.free, self.everything), lambda: self.now)

    def goes_on(self, free: float) -> None:
        """A window passes, of which so much is free."""
        self.now += WINDOW_S
        self.free += round(200 * free)
        self.everything += 200


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    fresh = budget._Budget()
    fresh.processors = machine.processors()
    monkeypatch.setattr(budget, "_BUDGET", fresh)
    return machine


def enters(packets_per_s: float = 100.0) -> bool:
    """Whether one more run begins at once."""
    handle = LabHandle()
    entered = threading.Event()

    def run() -> None:
        try:
            with share(packets_per_s, 1, handle):
                entered.set()
        except Cancelled:
            pass

    thread = threading.Thread(target=run)
    thread.start()
    found = entered.wait(0.5)
    handle.cancel()
    thread.join()
    return found


def test_one_begins_a_second_after_another_if_there_is_time(machine: Machine) -> None:
    with share(100.0, 1, LabHandle()):
        assert not enters(), "what the first costs is not known yet"
        machine.goes_on(free=0.3)
        assert enters()


def test_busy_processors_hold_the_next_one_up(machine: Machine) -> None:
    with share(100.0, 1, LabHandle()):
        machine.goes_on(free=0.29)
        assert not enters()
        machine.goes_on(free=0.5)
        assert enters()


def test_one_alone_always_begins(machine: Machine) -> None:
    machine.goes_on(free=0.0)
    assert enters(1e9)
    assert enters(1e9)


def test_packets_count_besides(machine: Machine) -> None:
    most = budget.PACKETS_PER_CORE * budget.cores()
    with share(most - 500.0, 1, LabHandle()):
        machine.goes_on(free=1.0)
        assert not enters(1000.0)
        machine.goes_on(free=1.0)
        assert enters(100.0)


def test_emulators_that_stay_have_a_processor_each(machine: Machine) -> None:
    def enter(stack: ExitStack, apart: bool) -> int | None:
        entered = stack.enter_context(share(100.0, 1, LabHandle(), apart))
        machine.goes_on(free=1.0)
        return entered

    with ExitStack() as runs:
        assert enter(runs, apart=False) is None
        with ExitStack() as first:
            assert enter(first, apart=True) == 0
            assert enter(runs, apart=True) == 1
        assert enter(runs, apart=True) == 0, "as it is free again"


def test_large_runs_without_crowds_have_their_emulators_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "cores", lambda: 2)
    large = budget.PACKETS_PER_CORE + 1.0
    transfers = plans.made(plans.plan(2, [plans.transfer(), plans.ping()]))
    crowd = plans.made(plans.plan(3, [plans.transfer(), plans.swarm(3)]))
    assert steered(transfers, large)
    assert not steered(transfers, large - 1.0)
    assert not steered(crowd, large)
    monkeypatch.setattr(budget, "cores", lambda: 1)
    assert not steered(transfers, large), "there is no other that could receive"


def test_without_a_number_as_many_go_on_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "cores", lambda: 2)
    monkeypatch.setattr(budget._core, "available_memory", lambda: 8_000_000_000)

    def at_once(packets_per_s: float, size: int = 100_000_000, seconds: float = 60.0) -> int:
        run = Need(0, int(packets_per_s * seconds), seconds, size, end_s=seconds)
        return budget.side_by_side([run, run])

    assert at_once(100.0) == 2 * budget.MOST_PER_CORE
    assert at_once(budget.PACKETS_PER_CORE * 2 / 3) == 3
    assert at_once(1e9) == 1, "one alone always begins"
    assert at_once(100.0, size=3_000_000_000) == 2
    assert at_once(100.0, size=10**11) == 1, "what is too large is refused elsewhere"


def test_the_kernel_counts() -> None:
    free, everything = processors.times()
    assert 0 <= free <= everything
    assert everything > 0
