"""Studies to start from: templates with a line and with clients or transports to choose, and all
studies that ship, as they are.
"""  # noqa: D205

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template as Text

from flashcrowd.base.errors import Problem, StudyError, did_you_mean, one_of
from flashcrowd.base.units import Rate, Span, UnitError
from flashcrowd.scenario.line import line_values
from flashcrowd.study.catalogue import HOME, KINDS, STUDIES, opening

LINE = "ADSL 1/8"
"""The default line."""

PACKETS = 200_000
"""Packets of 1500 B that go up in a run, at most: seconds of a core, over any line."""


def _clients() -> dict[str, str]:
    return dict(KINDS["clients"].entries())


def _transports() -> dict[str, str]:
    return {**KINDS["stacks"].entries(), **KINDS["utp"].entries()}


@dataclass(frozen=True)
class Template:
    """A study with gaps.

    Attributes:
        name: what it is called.
        what: what is chosen besides a line.
        choices: what there is to choose from, with a sentence each; empty for the line alone.
        usual: the default.
        line: the default line.
        limit: in a study that ships, half of what this line sends.
    """

    name: str
    what: str = ""
    choices: Callable[[], Mapping[str, str]] = dict
    usual: tuple[str, ...] = ()
    line: str = LINE
    limit: str = ""

    @property
    def text(self) -> str:
        """The study file with its gaps: of a study that ships, its line and its limit."""
        own = HOME / "templates" / f"{self.name}.toml"
        if own.is_file():
            return own.read_text(encoding="utf-8")
        text = (STUDIES / own.name).read_text(encoding="utf-8")
        for value, gap in ((self.line, "$line"), (self.limit, "$limit")):
            text = text.replace(json.dumps(value), json.dumps(gap)) if value else text
        return text

    @property
    def question(self) -> str:
        """Its question."""
        return opening(self.text)

    def filled(self, line: str, chosen: Sequence[str]) -> str:
        """The study file with a line and with clients or transports.

        Raises:
            StudyError: there is no such line, client or transport.
        """
        problems: list[Problem] = []
        up = 0
        try:
            up = Rate(line_values(line)["up"]).bps
        except UnitError as error:
            problems.append(Problem("--line", json.dumps(line), error.allowed, error.hint))
        choices = self.choices()
        strangers = [name for name in chosen if name not in choices]
        if choices:
            problems += [_unknown("--with", name, choices) for name in strangers]
        elif chosen:
            allowed = f"nothing beside --line for {self.name}"
            problems.append(Problem("--with", one_of(chosen), allowed))
        twice = [name for name in dict.fromkeys(chosen) if chosen.count(name) > 1]
        problems += [Problem("--with", json.dumps(name), "each name once") for name in twice]
        if problems:
            raise StudyError(problems, "command line")
        names = list(chosen) or list(self.usual) or [""]
        limits = [str(Rate.of(up * percent // 100)) for percent in (90, 75, 50)]
        seconds = min(60, max(3, PACKETS * 12_000 // up))
        sixths = (str(Span.of(seconds * 10**9 * count // 6)) for count in range(1, 7))
        early, _, half, late, _, horizon = sixths
        return Text(self.text).substitute(
            line=line,
            first=names[0],
            all=_listed(names),
            without=_listed([names[0], *names]),
            flows=", ".join(["0", *("1" for _ in names)]),
            cases=_listed(["no backup", *names]),
            limits=_listed(limits),
            limit=limits[-1],
            spread=Span.of(seconds * 10**9 // 60),
            early=early,
            half=half,
            late=late,
            horizon=horizon,
        )


TEMPLATES = {
    template.name: template
    for template in (
        Template("crowd", "clients", _clients, ("libtorrent", "mainline-4.0.2")),
        Template("upload", "transports", _transports, ("linux-6",)),
        Template("background", "transports", _transports, ("libutp", "ledbat-plus-plus")),
        Template("bufferbloat", line="cable 5/50"),
        Template("torrent-call", line="cable 5/50", limit="2500 kbit/s"),
    )
}
"""The templates by name."""


def names() -> list[str]:
    """All that a study may start from."""
    return list(dict.fromkeys([*TEMPLATES, *KINDS["studies"].entries()]))


def study_text(name: str, line: str | None = None, chosen: Sequence[str] = ()) -> str:
    """The study file that a template gives, or a study that ships.

    Raises:
        StudyError: there is no such template, line, client or transport.
    """
    if name in TEMPLATES:
        template = TEMPLATES[name]
        return template.filled(line or template.line, chosen)
    if name not in names():
        raise StudyError([_unknown("--template", name, names())], "command line")
    if line or chosen:
        allowed = f"only with one of {', '.join(TEMPLATES)}; {name} has its own"
        raise StudyError([Problem("--line, --with", name, allowed)], "command line")
    return (STUDIES / f"{name}.toml").read_text(encoding="utf-8")


def companions(name: str) -> list[Path]:
    """The files that a study that ships names, beside which it stands; of a template none."""
    if name in TEMPLATES:
        return []
    texts = _texts(tomllib.loads((STUDIES / f"{name}.toml").read_text(encoding="utf-8")))
    found = (STUDIES / text for text in texts if Path(text).name == text)
    return [path for path in dict.fromkeys(found) if path.suffix and path.is_file()]


def _texts(table: object) -> Iterator[str]:
    """All texts in nested tables and lists."""
    if isinstance(table, str):
        yield table
    elif isinstance(table, Mapping | list):
        for below in table.values() if isinstance(table, Mapping) else table:
            yield from _texts(below)


def written(path: Path, text: str) -> None:
    """Writes a study file that is not there yet.

    Raises:
        StudyError: it is there.
        OSError: it cannot be written.
    """
    tomllib.loads(text)
    _write(path, text)


def written_beside(study: Path, file: Path) -> None:
    """Writes a file that a shipped study names, next to the copy of the study.

    Raises:
        StudyError: another file of this name is there.
        OSError: it cannot be written.
    """
    path, text = study.with_name(file.name), file.read_text(encoding="utf-8")
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        problem = Problem(str(path), "is there already", "a name that no file has")
        raise StudyError([problem], "command line") from None


def _unknown(path: str, name: str, known: Sequence[str] | Mapping[str, object]) -> Problem:
    return Problem(path, json.dumps(name), one_of(known, 30), did_you_mean(name, known))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
