"""Seeds of runs."""

from __future__ import annotations

_GOLDEN = 0x9E37_79B9_7F4A_7C15
_MASK = 2**64 - 1


def _mix(word: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    word = (word ^ (word >> 30)) * 0xBF58_476D_1CE4_E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D0_49BB_1331_11EB & _MASK
    return word ^ (word >> 31)


def seed_of(study_seed: int, repeat: int) -> int:
    """The seed of all runs number `repeat` (from 0) of a study.

    Every point of a study has the same seeds, so that its variants share arrivals and losses and
    can be compared in pairs; more repeats leave the seeds of the first ones as they are. The seed
    is mixed, so that studies with neighbouring seeds have none in common: it is the upper 53 bits
    of mix(mix(study_seed + golden) + (repeat + 1) × golden), where mix is the finaliser of
    SplitMix64 and golden its increment. 53 bits survive any table and any language.
    """
    base = _mix((study_seed + _GOLDEN) & _MASK)
    return _mix((base + (repeat + 1) * _GOLDEN) & _MASK) >> 11
