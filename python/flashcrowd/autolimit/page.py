"""One page of a history: limit, delay and rates over time, to keep or to post.

It contains no address.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from flashcrowd.autolimit import history
from flashcrowd.autolimit.delays import HEAVY_NS
from flashcrowd.autolimit.line import LEAST
from flashcrowd.autolimit.session import FAVOURED
from flashcrowd.base.amounts import counted
from flashcrowd.drawing import page
from flashcrowd.drawing.blocks import Block, Cell, Facts, Figure, Page, Section, Table, Text
from flashcrowd.drawing.canvas import canvas, key
from flashcrowd.drawing.style import PALETTE, QUIET
from flashcrowd.store import page_folder

_STEPS = 400
"""Stretches of time that are drawn: about a pixel and a half each on a screen."""
_GAP_S = 10.0
"""Rows that are further apart belong to two runs: no line between them."""
_MOST_REMARKS = 200


def write(folder: Path, out: Path) -> Path:
    """The page of a history, and its figure; gives the path of the page.

    Raises:
        ResultsError: there is no history, or nothing can be written.
    """
    manifest, table = history.read(folder)
    shown = made(manifest, table)
    return page_folder.save(page.html(shown), page.figures(shown), out)


def made(manifest: dict[str, object], table: pa.Table) -> Page:
    """The page."""
    rows = _Rows(table)
    sections = [
        Section("What happened", "what", [_figure(rows), _numbers(rows)]),
        Section("What it did", "phases", [_phases(table)]),
    ]
    if said := _remarks(table):
        sections.append(Section("What it said", "remarks", said))
    began = datetime.fromtimestamp(rows.began, UTC)
    facts = [
        ("client", str(manifest.get("client", "unknown"))),
        ("controller", _control(str(manifest.get("control", "unknown")))),
        ("line", str(manifest.get("line") or "not given")),
        ("probes", str(manifest.get("probes", "unknown"))),
        ("began", f"{began:%Y-%m-%d %H:%M} UTC"),
        ("lasted", _duration(float(rows.t_s[-1]))),
    ]
    sections.append(Section("Circumstances", "facts", [Facts(facts)]))
    return Page(
        title="flashcrowd autolimit",
        question="Did the upload leave the line free?",
        lead=_lead(rows),
        sections=sections,
        foot="Made by flashcrowd autolimit and flashcrowd report.",
    )


class _Rows:
    """The columns of a history as arrays; what is not known is not a number."""

    def __init__(self, table: pa.Table) -> None:
        stamps = table["time"].cast(pa.int64()).to_numpy() / 1e3
        # A clock that was set back would fold the picture.
        self.t_s = np.maximum.accumulate(stamps) - stamps[0]
        self.began = float(stamps[0])
        self.up = self._numbers(table, "up_bytes_per_s") / 1e3
        self.down = self._numbers(table, "down_bytes_per_s") / 1e3
        self.limit = self._numbers(table, "limit_bytes_per_s") / 1e3
        self.delay = self._numbers(table, "delay_ms")
        self.downloads = bool(np.any(self.down > 0))

    @staticmethod
    def _numbers(table: pa.Table, name: str) -> np.ndarray:
        return np.array(table[name].cast(pa.float64()).to_numpy(), dtype=float)


def _lead(rows: _Rows) -> str:
    known = rows.delay[~np.isnan(rows.delay)]
    if not known.size:
        return "No probe was answered, so nothing can be said of the line."
    half, most = np.quantile(known, [0.5, 0.95])
    up = rows.up[~np.isnan(rows.up)]
    if not np.any(up >= LEAST / 1e3):
        much = f"at most {up.max():.2g} kB/s" if np.any(up > 0) else "nothing"
        return (
            f"This session does not show it: the client uploaded {much}. The added delay was that "
            f"of everything else (median {half:.0f} ms, 95th percentile {most:.0f} ms)."
        )
    above = float(np.mean(known > _FREE_MS))
    verdict = "No" if above > _SELDOM else "Mostly" if above else "Yes"
    time = f"for {100 * above:.2g} % of the time" if above else "at no time"
    rates = f"mean upload {_mean(rows.up)}"
    if rows.downloads:
        rates += f", mean download {_mean(rows.down)}"
    limits = rows.limit[~np.isnan(rows.limit)]
    if limits.size:
        rates += f", last limit {limits[-1]:.0f} kB/s"
    return (
        f"{verdict}: the added delay was {time} above {_FREE_MS:.0f} ms (median {half:.0f} ms, "
        f"95th percentile {most:.0f} ms). {rates[0].upper()}{rates[1:]}."
    )


_FREE_MS = HEAVY_NS / 1e6
"""Calls and games suffer from a longer delay (ITU-T G.114)."""

_SELDOM = 0.1
"""A share of the time in which a longer delay is not the rule: a burst now and then, no queue."""


def _figure(rows: _Rows) -> Figure:
    t_s, unit = _scaled(rows.t_s)
    edges = np.linspace(0.0, max(float(rows.t_s[-1]), 1.0), min(_STEPS, len(rows.t_s)) + 1)
    bucket = np.clip(np.searchsorted(edges, rows.t_s, side="right") - 1, 0, len(edges) - 2)
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    gaps = np.flatnonzero(np.diff(rows.t_s[starts], prepend=0.0) > max(_GAP_S, 3 * edges[1]))

    def reduced(values: np.ndarray, share: float) -> np.ndarray:
        found = [
            np.quantile(known, share) if (known := part[~np.isnan(part)]).size else np.nan
            for part in np.split(values, starts[1:])
        ]
        return np.insert(np.array(found), gaps, np.nan)

    thinned = len(rows.t_s) > _STEPS
    x = np.insert(t_s[starts], gaps, t_s[starts][gaps])
    with canvas(1, 2 + rows.downloads, height=1.9, sharey=False) as drawing:
        upload, delay, *download = drawing.panels
        upload.plot(x, reduced(rows.up, 0.5), color=PALETTE[0], label="upload")
        upload.plot(
            x, reduced(rows.limit, 0.5), color=PALETTE[1], linestyle=(0, (5, 1.6)), label="limit",
            drawstyle="steps-post",
        )  # fmt: skip
        upload.set_ylabel("upload (kB/s)")
        delay.plot(x, reduced(rows.delay, 0.5), color=PALETTE[2], label="added delay")
        if thinned:
            delay.plot(
                x, reduced(rows.delay, 0.95), color=QUIET, linewidth=0.8,
                linestyle=(0, (1.4, 1.4)), label="95 % of the delays below",
            )  # fmt: skip
        delay.set_ylabel("added delay (ms)")
        for panel in download:
            panel.plot(x, reduced(rows.down, 0.5), color=PALETTE[3], label="download")
            panel.set_ylabel("download (kB/s)")
        drawing.panels[-1].set_xlabel(f"time ({unit})")
        for panel in drawing.panels:
            panel.set_ylim(bottom=0)
        key(drawing, columns=5)
        svg = drawing.svg()
    caption = (
        "Payload that the client uploaded, and its limit (no line: no limit). Added delay: by how "
        "much a probe took longer than the fastest one."
    )
    if rows.downloads:
        caption += " Payload that the client downloaded."
    if thinned:
        caption += " Medians of equal stretches of time."
    return Figure("autolimit", svg, caption, "Upload, limit and delay over time")


def _numbers(rows: _Rows) -> Table:
    def row(name: str, values: np.ndarray, unit: str) -> list[str | Cell]:
        known = values[~np.isnan(values)]
        if not known.size:
            return [name, "-", "-", "-"]
        half, most = np.quantile(known, [0.5, 0.95])
        return [name, f"{known.mean():.0f} {unit}", f"{half:.0f} {unit}", f"{most:.0f} {unit}"]

    return Table(
        ["", "mean", "median", "95th percentile"],
        [
            row("upload", rows.up, "kB/s"),
            *([row("download", rows.down, "kB/s")] if rows.downloads else []),
            row("limit", rows.limit, "kB/s"),
            row("added delay", rows.delay, "ms"),
        ],
        f"{counted(len(rows.t_s), 'sample')}, one per second.",
    )


def _phases(table: pa.Table) -> Block:
    counts: dict[tuple[str, str], int] = {}
    for state in zip(table["phase"].to_pylist(), table["reason"].to_pylist(), strict=True):
        counts[state] = counts.get(state, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return Table(
        ["state", "why", "share of the time"],
        [[phase, why, f"{100 * count / len(table):.0f} %"] for (phase, why), count in ordered],
        "What autolimit was doing, and why.",
        frozenset({0, 1}),
    )


def _remarks(table: pa.Table) -> list[Block]:
    said = list(history.remarks(table))
    if not said:
        return []
    rows = [[_duration(at), text] for at, text in said[:_MOST_REMARKS]]
    found: list[Block] = [
        Table(["after", "remark"], rows, "What a person should know.", frozenset({0, 1}))
    ]
    if len(said) > _MOST_REMARKS:
        found.append(Text(f"The first {_MOST_REMARKS} of {len(said)} remarks."))
    return found


def _control(name: str) -> str:
    """A controller with the option that means it, if one does."""
    means = [f"{name} (--favour {favour})" for favour, it in FAVOURED.items() if it == name]
    return means[0] if means else name


def _mean(values: np.ndarray) -> str:
    known = values[~np.isnan(values)]
    return f"{known.mean():.0f} kB/s" if known.size else "nothing known"


def _scaled(t_s: np.ndarray) -> tuple[np.ndarray, str]:
    for seconds, unit in ((3 * 3600.0, "h"), (300.0, "min")):
        if t_s[-1] > seconds:
            return t_s / (3600.0 if unit == "h" else 60.0), unit
    return t_s, "s"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes} min"
        if hours
        else f"{minutes} min {rest} s"
        if minutes
        else f"{rest} s"
    )
