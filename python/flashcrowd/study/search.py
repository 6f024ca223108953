"""A search by words over what a study may say: keys, names, and the settings of real clients."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from flashcrowd.base.metrics import METRICS
from flashcrowd.study.catalogue import KINDS
from flashcrowd.study.counterparts import counterparts
from flashcrowd.study.explain import NAME, Key, every_key

_WORDS = re.compile(r"[A-Za-z][a-z]+|[A-Z]+|[a-z]+|[0-9]+")
_NO_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by do does for from how i in is it its many more much my not of on "
        "or per set setting settings than that the there they this to was what when where which "
        "with",
    )
)
_ENDINGS = ("ingly", "ally", "ing", "ers", "er", "ed", "ly", "es", "s", "e")
_LEAST = 4
"""Letters of a stem, and of a part of a word, at least."""

_OTHER_WORDS: Mapping[str, str] = {
    "bandwidth": "capacity rate",
    "bufferbloat": "queue",
    "latency": "rtt delay",
    "ping": "rtt",
    "speed": "rate",
    "stream": "sequential",
    "throughput": "goodput rate",
}
"""Words of people, and the words here that mean the same."""

_LAST, _CALLED, _PATH, _ALLOWED, _MEANING, _NOTES = 6.0, 5.0, 3.0, 3.0, 2.0, 1.0
"""The weight of a word by its place: the last part of a path, the setting of a client, ..."""
_PART, _OTHER = 0.5, 0.7
"""Factors of that for a part of a word, and for another word of the same meaning."""
_OF_NAMES, _OF_CLIENTS = 0.7, 0.4
"""Factors of it for a name, and for a setting of a client without a key."""


@dataclass(frozen=True)
class Found:
    """Something that a search finds: how `flashcrowd explain` is asked for it, and a sentence."""

    text: str
    about: str


def search(query: str) -> list[Found]:
    """Entries for some words, the best first: with all of them, or else with most."""
    # A single letter or digit says nothing.
    wanted = [stem for stem in dict.fromkeys(stems(query)) if len(stem) > 1]
    scores = [(document, document.scores(wanted)) for document in _documents()]
    for least in range(len(wanted), (len(wanted) - 1) // 2, -1):
        found = [
            (sum(scores.values()), document.found)
            for document, scores in scores
            if wanted and len(scores) >= least
        ]
        if found:
            found.sort(key=lambda it: (-it[0], len(it[1].text), it[1].text))
            return list(dict.fromkeys(it for _, it in found))
    return []


def stems(text: str) -> Iterator[str]:
    """The words of a text without their endings; none of those that stand everywhere."""
    for word in _WORDS.findall(text):
        folded = word.lower()
        if folded not in _NO_WORDS:
            yield _stem(folded)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word.removesuffix(ending)
    return word


@cache
def _others(stem: str) -> tuple[str, ...]:
    return tuple(stems(_OTHER_WORDS.get(stem, "")))


@dataclass(frozen=True)
class _Document:
    """A thing that can be found, and what each stem of its words counts."""

    found: Found
    weights: Mapping[str, float]

    def scores(self, wanted: Iterable[str]) -> dict[str, float]:
        """The score of each word that is in it."""
        scores = {}
        for stem in wanted:
            others = (_OTHER * self._weight(other) for other in _others(stem))
            best = max((self._weight(stem), *others))
            if best:
                scores[stem] = best * _rarity(stem)
        return scores

    def _weight(self, stem: str) -> float:
        whole = self.weights.get(stem, 0.0)
        if whole or len(stem) < _LEAST:
            return whole
        return max((_PART * it for word, it in self.weights.items() if stem in word), default=0.0)


@cache
def _rarity(stem: str) -> float:
    """A word that few documents have tells more."""
    return 1 + math.log(len(_documents()) / (1 + _counts()[stem]))


@cache
def _counts() -> Counter[str]:
    return Counter(stem for document in _documents() for stem in document.weights)


@cache
def _documents() -> tuple[_Document, ...]:
    return tuple(_made())


def _made() -> Iterator[_Document]:
    called: dict[str, list[str]] = {}
    for it in counterparts():
        if it.key:
            called.setdefault(it.key, []).append(it.name)
        else:
            found = Found(it.name, f"({it.program}) here: {it.said}")
            yield _Document(found, _weighed((_LAST, it.name), (_NOTES, it.said), of=_OF_CLIENTS))
    for kind in KINDS.values():
        for name, sentence in kind.entries().items():
            found = Found(name, f"({kind.name}) {sentence}")
            weights = _weighed((_LAST, name), (_MEANING, sentence), of=_OF_NAMES)
            yield _Document(found, weights)
    for it in METRICS:
        found = Found(it.name, f"(measure) {it.meaning}")
        yield _Document(found, _weighed((_LAST, it.name), (_MEANING, it.meaning), of=_OF_NAMES))
    for key in every_key():
        yield _Document(Found(key.text, key.meaning), _of_key(key, called.get(key.text, [])))


def _of_key(key: Key, called: list[str]) -> dict[str, float]:
    words = " ".join(word for word in key.allowed if word.startswith('"'))
    path = " ".join(part for part in key.path[:-1] if part != NAME)
    return _weighed(
        (_LAST, f"{key.path[-1]} {key.path[-1].replace('_', '')}"),
        (_CALLED, " ".join(called)),
        (_PATH, path),
        (_ALLOWED, words),
        (_MEANING, key.meaning),
        (_NOTES, key.notes),
    )


def _weighed(*parts: tuple[float, str], of: float = 1.0) -> dict[str, float]:
    weights: dict[str, float] = {}
    for weight, text in parts:
        for stem in stems(text):
            weights[stem] = max(weights.get(stem, 0.0), of * weight)
    return weights
