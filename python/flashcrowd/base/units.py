"""Quantities as people write them: "400 ms", "50 kB/s", "256 KiB", "5 %".

A quantity is a decimal number, an optional space and a unit. There is no number without a unit, not
even zero, so that no reader has to guess. Inside, a quantity is a whole number of base units
(nanoseconds, bit/s, bytes) and exact; it remembers the unit it was written in and prints in it.

Decimal and binary prefixes are different words: kB is 1000 B, KiB is 1024 B. BitTorrent mainline's
KB is a KiB, so its "20 KB/s" is written "20 KiB/s"; "KB" itself is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from flashcrowd.base.errors import nearest, quoted, visible


def text_schema(kind: type[Any]) -> CoreSchema:
    """The schema of a type that is made from a text or one of its own, and saved as the text."""
    return core_schema.no_info_plain_validator_function(
        kind,
        serialization=core_schema.plain_serializer_function_ser_schema(
            str, return_schema=core_schema.str_schema()
        ),
    )


_GRAMMAR = re.compile(r"\s*([+-]?)([0-9][0-9_]*(?:\.[0-9]+)?|\.[0-9]+)\s*(\S.*?)?\s*")
_OTHER_NUMBER = re.compile(
    r"\s*\+?(?:(?P<based>0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+)"
    r"|(?P<power>[0-9][0-9_]*(?:\.[0-9]*)?[eE](?P<exponent>[+-]?[0-9]+))"
    r"|(?P<whole>[0-9]+),(?P<rest>[0-9]+(?:,[0-9]+)*)(?![0-9.]))"
)
"""A number with a base, an exponent or a comma, none of which a quantity has."""
_MOST_EXPONENT = 30
_LONGEST = 1000
"""Characters of a quantity at most. Python refuses whole numbers of more than 4300 digits."""
_QUOTED = re.compile(r'"([^"]*)"')


class UnitError(ValueError):
    """A text that is not the quantity asked for.

    Attributes:
        allowed: what would have been.
        hint: the nearest valid text, or what is wrong; may be empty.
        key: for a table, dotted path of the value in it that is wrong; may be empty.
    """

    def __init__(self, allowed: str, hint: str = "", key: str = "") -> None:
        super().__init__(f"{allowed}; {hint}" if hint else allowed)
        self.allowed = allowed
        self.hint = hint
        self.key = key


class Quantity:
    """A number with a unit. Subclasses say of what kind."""

    __slots__ = ("amount", "unit")

    noun: ClassVar[str]
    """Its name in messages, with its article."""
    units: ClassVar[Mapping[str, Fraction]]
    """Base units in each unit, from small to large."""
    example: ClassVar[str]
    """A text of this kind."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """Spellings that are refused, and what is probably meant."""
    usual: ClassVar[tuple[str, ...]]
    """Units to suggest to who wrote none; the first one also prints zero."""
    most: ClassVar[int] = 10**18
    """The largest amount, in base units."""
    whole: ClassVar[bool] = True
    """Whether the amount must be a whole number of base units."""

    amount: Fraction
    unit: str

    def __init__(self, text: str | Quantity) -> None:
        if isinstance(text, type(self)):
            self.amount, self.unit = text.amount, text.unit
        elif isinstance(text, str):
            self.amount, self.unit = _parsed(type(self), text)
        else:
            self.amount, self.unit = self._parse(text)

    @classmethod
    def of(cls, amount: int | Fraction) -> Self:
        """The quantity of `amount` base units, which prints in the unit that makes it shortest."""
        made = cls.__new__(cls)
        made.amount = Fraction(amount)
        cls._check(made.amount)
        made.unit = _shortest_unit(cls, made.amount)
        return made

    @classmethod
    def measured(cls, number: Fraction, unit: str) -> Self:
        """The quantity of `number` units, to the nearest base unit where there is none smaller."""
        exact = number * cls.units[unit]
        amount = Fraction(round(exact)) if cls.whole else exact
        if amount != exact:
            return cls.of(amount)
        cls._check(amount)
        made = cls.__new__(cls)
        made.amount, made.unit = amount, unit
        return made

    @classmethod
    def phrase(cls) -> str:
        """The allowed values, for messages."""
        return f'{cls.noun} with its unit, as in "{cls.example}" (units: {", ".join(cls.units)})'

    @classmethod
    def _parse(cls, text: Any) -> tuple[Fraction, str]:
        if isinstance(text, int | float) and not isinstance(text, bool):
            raise UnitError(cls.phrase(), cls._number_hint(text))
        if not isinstance(text, str):
            raise UnitError(cls.phrase())
        if len(text) > _LONGEST:
            raise UnitError(cls.phrase(), f"a text of at most {_LONGEST} characters")
        match = _GRAMMAR.fullmatch(text)
        if match is None or _OTHER_NUMBER.match(text):
            raise UnitError(cls.phrase(), cls._spelling_hint(text))
        sign, number, unit = match.groups()
        if unit is None:
            raise UnitError(cls.phrase(), cls._with_units(sign + number))
        unit = unit.replace("\N{MICRO SIGN}", "u").replace("\N{GREEK SMALL LETTER MU}", "u")
        if unit not in cls.units:
            raise UnitError(cls.phrase(), cls._unit_hint(sign + number, unit))
        amount = Fraction(number.replace("_", "")) * cls.units[unit]
        cls._check(-amount if sign == "-" else amount)
        return amount, unit

    @classmethod
    def _check(cls, amount: Fraction) -> None:
        if amount < 0:
            raise UnitError(f"{cls.noun} of zero or more")
        if amount > cls.most:
            raise UnitError(f"{cls.noun} of at most {cls._longest()}")
        if cls.whole and amount.denominator != 1:
            raise UnitError(f"{cls.noun} of a whole number of {next(iter(cls.units))}")

    @classmethod
    def _longest(cls) -> str:
        unit = list(cls.units)[-1]
        return f"{cls.most / cls.units[unit]} {unit}"

    @classmethod
    def _accepts(cls, text: str) -> bool:
        """Whether a text may be suggested: it is one of this kind."""
        try:
            cls(text)
        except UnitError:
            return False
        return True

    @classmethod
    def _suggest(cls, words: str, texts: Iterable[str]) -> str:
        """A hint that names those of some texts that would be accepted, or nothing."""
        fit = [f'"{text}"' for text in dict.fromkeys(texts) if cls._accepts(text)]
        return f"{words} {' or '.join(fit)}" if fit else ""

    @classmethod
    def _with_units(cls, number: str) -> str:
        if number.startswith("-"):
            return f"{cls.noun} is never negative"
        return cls._suggest("write", cls._readings(number))

    @classmethod
    def _readings(cls, number: str) -> Iterable[str]:
        """Readings of a number without a unit, each with a unit."""
        return [f"{number} {unit}" for unit in cls.usual]

    @classmethod
    def _number_hint(cls, number: float) -> str:
        """For a number without a unit."""
        if not math.isfinite(number):
            return f"{number} is no number"
        return cls._with_units(plain_number(number))

    @classmethod
    def _spelling_hint(cls, text: str) -> str:
        """For a number that is written as some other language has it."""
        match = _OTHER_NUMBER.match(text)
        if match is None:
            return ""
        unit = text[match.end() :].strip()
        if match["whole"] is not None:
            number = f"{match['whole']},{match['rest']}"
            readings = [number.replace(",", ".")] if number.count(",") == 1 else []
            if all(len(part) == 3 for part in number.split(",")[1:]):
                readings.insert(0, number.replace(",", ""))
        elif match["based"] is not None:
            readings = [str(int(match["based"], 0))]
        elif abs(int(match["exponent"])) <= _MOST_EXPONENT:
            readings = [plain_number(match["power"].replace("_", ""))]
        else:
            readings = []
        return cls._suggest("write", (f"{reading} {unit}" for reading in readings if unit))

    @classmethod
    def _unit_hint(cls, number: str, unit: str) -> str:
        if unit in cls.aliases:
            hint = cls.aliases[unit].replace("#", number)
            texts = _QUOTED.findall(hint)
            if all(map(cls._accepts, texts)):
                return hint
            return f"{mended}?" if (mended := cls._suggest("did you mean", texts)) else ""
        for other in Quantity.__subclasses__():
            if unit in other.units:
                return f'"{unit}" is for {other.noun}, this is {cls.noun}'
        found = nearest(unit, cls.units) if unit[0].isalpha() else None
        if found and (mended := cls._suggest("did you mean", [f"{number} {found}"])):
            return f"{mended}?"
        return f"there is no unit {visible(quoted(unit))}"

    def __str__(self) -> str:
        number = _decimal(self.amount / self.units[self.unit])
        return f"{number} {self.unit}"

    def __repr__(self) -> str:
        return f'{type(self).__name__}("{self}")'

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.amount == other.amount

    def __lt__(self, other: Self) -> bool:
        return self.amount < other.amount

    def __gt__(self, other: Self) -> bool:
        return self.amount > other.amount

    def __le__(self, other: Self) -> bool:
        return self.amount <= other.amount

    def __hash__(self) -> int:
        return hash((type(self), self.amount))

    def __bool__(self) -> bool:
        return self.amount != 0

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validates texts and quantities; serialises to the text."""
        return text_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        """A string with a pattern that lists the units."""
        units = "|".join(re.escape(unit).replace("\\ ", " ") for unit in cls.units)
        return {
            "type": "string",
            "pattern": rf"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*({units})\s*$",
            "examples": [cls.example],
        }


@lru_cache(maxsize=4096)
def _parsed(kind: type[Quantity], text: str) -> tuple[Fraction, str]:
    """Amount and unit of a text: the points of a sweep have the same texts many times."""
    return kind._parse(text)


@lru_cache(maxsize=4096)
def _shortest_unit(kind: type[Quantity], amount: Fraction) -> str:
    """The unit in which an amount is shortest: profiles and defaults have few that differ."""

    def rank(unit: str) -> tuple[int, Fraction]:
        number = _decimal(amount / kind.units[unit])
        if number is None or (amount < kind.units[unit]):
            return 1000, kind.units[unit]
        return len(number) + 2 * ("." in number), -kind.units[unit]

    return min(kind.units, key=rank) if amount else kind.usual[0]


QuantityT = TypeVar("QuantityT", bound=Quantity)


def plain_number(number: float | str) -> str:
    """A number without an exponent, as a quantity has it."""
    text = f"{Decimal(str(number)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _decimal(value: Fraction) -> str | None:
    """`value` as a plain decimal number, or `None` if it has no end."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return None
    places = max(twos, fives)
    digits = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _scale(**units: int) -> dict[str, Fraction]:
    return {unit.replace("_", "/"): Fraction(factor) for unit, factor in units.items()}


_DAY = 86_400 * 10**9
_DAYS = "the longest unit is d, a day"


class Span(Quantity):
    """A length of time, in whole nanoseconds."""

    __slots__ = ()
    noun = "a time"
    units = _scale(ns=1, us=10**3, ms=10**6, s=10**9, min=60 * 10**9, h=3600 * 10**9, d=_DAY)
    example = "400 ms"
    usual = ("ms", "s")
    most = 3650 * _DAY
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("sec", "secs", "second", "seconds"), 'did you mean "# s"?'),
        **dict.fromkeys(("msec", "millisecond", "milliseconds"), 'did you mean "# ms"?'),
        **dict.fromkeys(("minute", "minutes", "mins"), 'did you mean "# min"?'),
        **dict.fromkeys(("hour", "hours", "hr"), 'did you mean "# h"?'),
        **dict.fromkeys(("day", "days"), 'did you mean "# d"?'),
        "m": 'did you mean "# min" or "# ms"?',
        **dict.fromkeys(("week", "weeks", "month", "months", "year", "years", "a", "y"), _DAYS),
    }

    @property
    def ns(self) -> int:
        """Nanoseconds."""
        return int(self.amount)

    @property
    def seconds(self) -> float:
        """Seconds."""
        return float(self.amount / 10**9)


_KILO_RATE = 'did you mean "# kB/s" (1000 B/s) or "# KiB/s" (1024 B/s, mainline\'s KB/s)?'


class Rate(Quantity):
    """A data rate, in whole bits per second."""

    __slots__ = ()
    noun = "a rate"
    units: ClassVar[Mapping[str, Fraction]] = _scale(
        bit_s=1, B_s=8, kbit_s=10**3, kB_s=8 * 10**3, KiB_s=8 * 2**10, Mbit_s=10**6,
        MB_s=8 * 10**6, MiB_s=8 * 2**20, Gbit_s=10**9, GB_s=8 * 10**9, GiB_s=8 * 2**30,
    )  # fmt: skip
    example = "1 Mbit/s"
    usual = ("kB/s", "Mbit/s")
    most = 8 * 2**30 * 1000
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("KB/s", "kbyte/s", "KBps"), _KILO_RATE),
        **dict.fromkeys(("kbps", "kb/s", "Kbit/s", "Kbps"), 'did you mean "# kbit/s"?'),
        **dict.fromkeys(("Mbps", "Mb/s", "mbit/s", "mbps"), 'did you mean "# Mbit/s"?'),
        **dict.fromkeys(("Gbps", "Gb/s", "gbit/s"), 'did you mean "# Gbit/s"?'),
        **dict.fromkeys(("bps", "b/s", "bits/s"), 'did you mean "# bit/s"?'),
        "Bps": 'did you mean "# B/s"?',
        "MBps": 'did you mean "# MB/s"?',
        **{unit: f'did you mean "# {unit}/s"?' for unit in ("B", "kB", "KiB", "MB", "MiB")},
    }

    @property
    def bps(self) -> int:
        """Bits per second."""
        return int(self.amount)


_KILO = 'did you mean "# kB" (1000 B) or "# KiB" (1024 B)?'


class Size(Quantity):
    """A number of bytes."""

    __slots__ = ()
    noun = "a size"
    units = _scale(
        B=1, kB=10**3, KiB=2**10, MB=10**6, MiB=2**20, GB=10**9, GiB=2**30, TB=10**12, TiB=2**40
    )
    example = "256 KiB"
    usual = ("B", "KiB")
    most = 2**40 * 1000
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("KB", "K", "k", "kb", "kbyte"), _KILO),
        **dict.fromkeys(("M", "Mb", "mb", "Mbyte"), 'did you mean "# MB" or "# MiB"?'),
        **dict.fromkeys(("G", "Gb", "gb", "Gbyte"), 'did you mean "# GB" or "# GiB"?'),
        **dict.fromkeys(("b", "byte", "bytes"), 'did you mean "# B"?'),
    }

    @classmethod
    def _readings(cls, number: str) -> Iterable[str]:
        if cls._accepts(bare := f"{number} B"):
            if cls(bare).amount < 1000:  # a file is more often meant than a header
                return f"{number} MB", bare
            return bare, str(cls.of(cls(bare).amount))
        return super()._readings(number)

    @classmethod
    def or_bytes(cls, text: str) -> Self:
        """From a size, or a whole number of bytes without a unit, as command lines have it."""
        return cls(f"{text} B" if text.isascii() and text.isdecimal() else text)

    @property
    def bytes(self) -> int:
        """Bytes."""
        return int(self.amount)


class Share(Quantity):
    """A part of something, of zero or more."""

    __slots__ = ()
    noun = "a share"
    units: ClassVar[Mapping[str, Fraction]] = {"%": Fraction(1, 100)}
    example = "5 %"
    usual = ("%",)
    most = 1000
    whole = False
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("percent", "pct"), 'did you mean "# %"?'),
    }

    @classmethod
    def _with_units(cls, number: str) -> str:
        value = Fraction(number.replace("_", ""))
        if value < 0:
            return f"{cls.noun} is never negative"
        percent = _decimal(value * 100) if abs(value) < 1 else number
        return cls._suggest("write", [f"{percent} %"])

    @property
    def value(self) -> float:
        """The part of one: 0.05 for "5 %"."""
        return float(self.amount)
