import itertools
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashcrowd.base.units import Quantity, Rate, Share, Size, Span, UnitError
from flashcrowd.scenario import Delay, Framing, Queue

KINDS = [Span, Rate, Size, Share]


@given(st.sampled_from([Span, Rate, Size]), st.integers(1, 10**15))
def test_what_is_printed_is_read_back_exactly(kind: type[Quantity], amount: int):
    quantity = kind.of(min(amount, kind.most))
    assert kind(str(quantity)) == quantity
    assert str(kind(str(quantity))) == str(quantity)


@given(
    st.sampled_from(KINDS),
    st.decimals(min_value=0, max_value=10**6, places=3, allow_nan=False),
    st.data(),
)
def test_a_text_prints_in_the_unit_it_was_written_in(kind: type[Quantity], number, data):
    unit = data.draw(st.sampled_from(list(kind.units)))
    try:
        quantity = kind(f"{number} {unit}")
    except UnitError:
        return
    assert quantity.unit == unit
    assert kind(str(quantity)) == quantity
    assert quantity.amount == Fraction(number) * kind.units[unit]


@pytest.mark.parametrize(
    "shape", ["{} ms", "1.{} ms", "0x{} B", "1e{} ms", "{},5 s", "-{} %", "{}"]
)
@pytest.mark.parametrize("kind", [*KINDS, Queue, Delay, Framing])
def test_a_number_of_5000_digits_is_refused_in_our_words(kind: Any, shape: str):
    with pytest.raises(UnitError) as caught:
        kind(shape.format("9" * 5000))
    assert len(str(caught.value)) < 500


@given(st.sampled_from([*KINDS, Queue, Delay, Framing]), st.text(max_size=20))
def test_any_text_is_read_or_refused_with_what_is_allowed(kind, text: str):
    try:
        quantity = kind(text)
    except UnitError:
        return
    assert kind(str(quantity)) == quantity


@given(st.sampled_from([*KINDS, Queue, Delay, Framing]), st.integers() | st.floats() | st.none())
def test_a_number_without_a_unit_is_refused(kind, number):
    with pytest.raises(UnitError):
        kind(number)


@pytest.mark.parametrize(
    ("quantity", "amount"),
    [
        (Span("400 ms"), 400_000_000),
        (Span("400ms"), 400_000_000),
        (Span("1.5 min"), 90 * 10**9),
        (Span("5 µs"), 5_000),
        (Span("1_000 s"), 10**12),
        (Rate("50 kB/s"), 400_000),
        (Rate("20 KiB/s"), 20 * 1024 * 8),
        (Rate("1 Mbit/s"), 1_000_000),
        (Size("256 KiB"), 2**18),
        (Size("10 MB"), 10**7),
        (Share("5 %"), Fraction(1, 20)),
    ],
)
def test_units_mean_what_they_say(quantity: Quantity, amount):
    assert quantity.amount == amount


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 ms"),
        (10**9, "1 s"),
        (200 * 10**6, "200 ms"),
        (120 * 10**9, "2 min"),
        (1500, "1500 ns"),
    ],
)
def test_an_amount_prints_in_the_unit_that_makes_it_shortest(amount: int, text: str):
    assert str(Span.of(amount)) == text
    assert str(Rate.of(20 * 1024 * 8)) == "20 KiB/s"
    assert str(Size.of(17520)) == "17520 B"


@pytest.mark.parametrize(
    ("kind", "text", "hint"),
    [
        (Span, "400", 'write "400 ms" or "400 s"'),
        (Span, "400 mss", 'did you mean "400 ms"?'),
        (Span, "3 seconds", 'did you mean "3 s"?'),
        (Span, "5 m", 'did you mean "5 min" or "5 ms"?'),
        (Span, "3 kB/s", '"kB/s" is for a rate, this is a time'),
        (
            Rate,
            "20 KB/s",
            'did you mean "20 kB/s" (1000 B/s) or "20 KiB/s" (1024 B/s, mainline\'s KB',
        ),
        (Rate, "10 Mbps", 'did you mean "10 Mbit/s"?'),
        (Rate, "10 kB", 'did you mean "10 kB/s"?'),
        (Size, "1 KB", 'did you mean "1 kB" (1000 B) or "1 KiB" (1024 B)?'),
        (Share, "0.05", 'write "5 %"'),
        (Span, "1e3 ms", 'write "1000 ms"'),
        (Span, "1e-3 s", 'write "0.001 s"'),
        (Delay, "1e3 ms", 'write "1000 ms"'),
        (Queue, "1e3 KiB", 'write "1000 KiB"'),
        (Span, "20,5 ms", 'write "20.5 ms"'),
        (Span, "1,000 ms", 'write "1000 ms" or "1.000 ms"'),
        (Size, "1,000,000 B", 'write "1000000 B"'),
        (Span, "0x10 ms", 'write "16 ms"'),
        (Span, float("nan"), "nan is no number"),
        (Size, float("inf"), "inf is no number"),
        (Size, 1000000, 'write "1000000 B" or "1 MB"'),
        (Size, 1e6, 'write "1000000 B" or "1 MB"'),
        (Size, 1.5, 'write "1.5 KiB"'),
        (Rate, 1e-3, 'write "0.001 kB/s" or "0.001 Mbit/s"'),
        (Span, -3, "a time is never negative"),
        (Share, -0.5, "a share is never negative"),
        (Span, "200 years", "the longest unit is d, a day"),
        (Span, "400 furlongs", 'there is no unit "furlongs"'),
        (Span, "4 \x1b[31m", 'there is no unit "\\u001b[31m"'),
        (Queue, 100, 'write "100 packets"'),
    ],
)
def test_what_is_wrong_is_met_with_what_is_right(kind: type[Quantity], text: Any, hint: str):
    with pytest.raises(UnitError) as caught:
        kind(text)
    assert caught.value.hint.startswith(hint)


NUMBERS = st.integers() | st.floats() | st.booleans()
SPELLINGS = st.from_regex(
    r"[+-]?[0-9]{1,6}([.,][0-9]{1,4})?(e[+-]?[0-9]{1,3})? ?(ms|KB|kB/s|bps|byte|years|%|packets|)",
    fullmatch=True,
)


@given(st.sampled_from([*KINDS, Queue, Delay]), NUMBERS | SPELLINGS)
def test_a_hint_is_itself_accepted(kind, given):
    try:
        kind(given)
    except UnitError as error:
        words = ("write ", "did you mean ")
        for text in re.findall(r'"([^"]*)"', error.hint) if error.hint.startswith(words) else ():
            kind(text)


@pytest.mark.parametrize(
    ("kind", "text", "allowed"),
    [
        (Span, "-3 ms", "a time of zero or more"),
        (Span, "0.1 ns", "a time of a whole number of ns"),
        (Span, "99999 d", "a time of at most 3650 d"),
        (Rate, "-1 kB/s", "a rate of zero or more"),
        (Delay, "25 ms to 1 ms", 'a time, as in "12.5 ms", or a range, as in "1 ms to 25 ms"'),
        (Queue, "0 packets", 'a queue, as in "200 packets", "64 KiB", "200 packets, 64 KiB" or'),
        (Framing, "ethernt", 'a size, as in "38 B", ethernet, shaper, ip, "atm 40 B"'),
    ],
)
def test_what_cannot_be_is_refused(kind, text: str, allowed: str):
    with pytest.raises(UnitError) as caught:
        kind(text)
    assert caught.value.allowed.startswith(allowed)


def test_queues_are_limited_by_packets_or_bytes_or_both_or_not_at_all():
    assert Queue("200 packets").packets == 200
    assert Queue("64 KiB").bytes == Size("64 KiB")
    both = Queue("200 packets, 64 KiB")
    assert (both.packets, both.bytes) == (200, Size("64 KiB"))
    assert str(both) == "200 packets, 64 KiB"
    assert str(Queue("unlimited")) == "unlimited"


def test_framing_has_names():
    for name, size in {"ethernet": 38, "shaper": 14, "ip": 0, "20 B": 20}.items():
        assert (Framing(name).atm, Framing(name).overhead.bytes) == (False, size)
        assert Framing(str(Framing(name))) == Framing(name)


def test_cells_have_an_encapsulation():
    for name, size in {"atm": 40, "pppoa-vcmux": 10, "atm 36 B": 36}.items():
        assert (Framing(name).atm, Framing(name).overhead.bytes) == (True, size)
        assert Framing(str(Framing(name))) == Framing(name)
    assert Framing("atm") != Framing("40 B")


@given(st.integers(1, 400))
def test_a_range_of_delays_is_spread_evenly_and_in_no_order(hosts: int):
    delays = Delay("1 ms to 25 ms").over(hosts)
    step = 24_000_000 / hosts
    expected = [1_000_000 + step * (rank + 0.5) for rank in range(hosts)]
    assert sorted(delays) == pytest.approx(expected, abs=1)
    if hosts > 10:
        rises = sum(a < b for a, b in itertools.pairwise(delays))
        assert 0.3 * hosts < rises < 0.7 * hosts


def test_the_lines_that_may_be_named_are_those_that_there_are():
    from flashcrowd.scenario.line import LINES, Line

    for name, values in LINES.items():
        line = Line.model_validate({"line": name}).model_dump(mode="json")
        assert {key: line[key] for key in values} == values
