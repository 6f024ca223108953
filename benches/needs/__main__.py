"""What `flashcrowd check` predicts of a run, beside what runs take.

    python -m benches.needs [measure | add] [fit] [table]

`measure` runs points of the repository's studies and random studies, each in a process of its own,
and keeps what they took in `measured.json`. `fit` derives from it what each kind of work costs, and
writes that into the crate that predicts (`crates/forecast/src/fitted.rs`): the next build
predicts by it. `table` writes `README.md`. Without an argument these three run, in minutes; nothing
else should run meanwhile. `add` measures only what is not in `measured.json`, as a new study.
"""

from __future__ import annotations

import sys

from benches.needs import cases, compare, measure

ALL = ("measure", "fit", "table")
STEPS = ("add", *ALL)


def main() -> None:
    """Runs the steps that the command line names."""
    steps = sys.argv[1:] or list(ALL)
    if unknown := set(steps) - set(STEPS):
        sys.exit(f"benches.needs: {', '.join(sorted(unknown))} is none of {', '.join(STEPS)}")
    plans = dict(cases.all())
    if "measure" in steps:
        measure.measure(plans, {})
    elif "add" in steps:
        measure.measure(plans, measure.measured())
    taken = measure.measured()
    if missing := [name for name in plans if name not in taken]:
        sys.exit(f"benches.needs: {missing[0]} was never measured: python -m benches.needs add")
    if "fit" in steps:
        compare.fit(plans, taken)
    if "table" in steps:
        compare.write_table(plans, taken)


if __name__ == "__main__":
    main()
