"""Instructions and cache lines a packet, counted by valgrind: the same whatever else runs here.

    make instructions    # beside benches/instructions.toml; more than 2 % more instructions fail
    .venv/bin/python -m benches.instructions --write    # count, and write the new numbers

The runs are those of `crates/sim/src/bin/counted.rs`, compiled as wheels are but for the allocator
and a profile of what is often taken. *Lines* are those that a core with a first-level cache of
48 KB and a second-level cache of 2 MB has to fetch from beyond them. Cachegrind ignores what a
program asks for in advance, so they are lines that are wanted, not lines that are waited for.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
NUMBERS = HERE / "instructions.toml"
MOST_RISE = 0.02
"""By how much the instructions of a run may rise unnoticed, as a part of them."""
BUILD = ["cargo", "build", "--release", "--locked", "-p", "flashcrowd-sim", "--bin", "counted"]
COUNT = [
    "valgrind",
    "--tool=cachegrind",
    "--cache-sim=yes",
    "--cachegrind-out-file=/dev/null",
    "--D1=49152,12,64",
    "--LL=2097152,16,64",
]


@dataclass(frozen=True)
class Counted:
    """What a run took, for each packet that reached its host.

    Attributes:
        instructions: instructions.
        first: lines beyond the first-level cache.
        second: lines beyond the second-level cache.
    """

    instructions: float
    first: float
    second: float


def built() -> Path:
    """The compiled runs."""
    made = subprocess.run(
        [*BUILD, "--message-format=json"], stdout=subprocess.PIPE, text=True, check=True
    )
    for line in made.stdout.splitlines():
        said = json.loads(line)
        if said.get("executable") and said["target"]["name"] == "counted":
            return Path(said["executable"])
    raise AssertionError("cargo names no program that it has built")


def counted(program: Path, run: str) -> Counted:
    """What one run takes."""
    done = subprocess.run([*COUNT, program, run], capture_output=True, text=True, check=True)
    packets = float(done.stdout.split()[1])

    def found(what: str) -> float:
        line = re.search(rf"{what}:\s+([\d,]+)", done.stderr)
        if line is None:
            raise ValueError(f"valgrind says nothing of {what}:\n{done.stderr}")
        return int(line[1].replace(",", "")) / packets

    return Counted(
        round(found(r"I\s+refs"), 1), round(found(r"D1\s+misses"), 2), round(found("LLd misses"), 2)
    )


def count() -> dict[str, Counted]:
    """What all runs take, by name."""
    program = built()
    names = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    with ThreadPoolExecutor(max_workers=2) as two:
        return dict(zip(names, two.map(lambda run: counted(program, run), names), strict=True))


def write(found: dict[str, Counted]) -> None:
    """Writes the numbers that the next runs are compared with."""
    lines = [
        "# Instructions, and lines beyond the first- and second-level cache, for each packet.",
        "# Written by `python -m benches.instructions --write`.",
    ]
    for name, run in found.items():
        lines += ["", f"[{name}]", *(f"{key} = {value}" for key, value in asdict(run).items())]
    NUMBERS.write_text("\n".join(lines) + "\n")


def compare(found: dict[str, Counted], known: dict[str, Counted]) -> list[str]:
    """Prints every run beside what it took before; the names of those that take too much more."""
    print(f"{'':<16}{'instructions':>20}{'lines beyond L1':>18}{'beyond L2':>16}  for each packet")
    risen = []
    for name, now in found.items():
        before = known.get(name)
        if before is None:
            risen.append(name)
            print(f"{name:<16}{now.instructions:>12,.0f}  has no numbers in {NUMBERS.name}")
            continue
        rise = now.instructions / before.instructions - 1
        print(
            f"{name:<16}{now.instructions:>12,.0f}{rise:>+8.1%}"
            f"{now.first:>9.1f} ({before.first:.1f}){now.second:>9.2f} ({before.second:.2f})"
        )
        if rise > MOST_RISE:
            risen.append(name)
    return risen


def main() -> None:
    """Counts, and compares or writes."""
    options = argparse.ArgumentParser(prog="benches.instructions", description=__doc__)
    options.add_argument("--write", action="store_true", help="write the new numbers")
    write_them = options.parse_args().write
    if shutil.which("valgrind") is None:
        sys.exit("benches.instructions: valgrind is missing; the system's packages have it")
    known = {name: Counted(**it) for name, it in tomllib.loads(NUMBERS.read_text()).items()}
    found = count()
    risen = compare(found, known)
    if write_them:
        write(found)
    elif risen:
        sys.exit(
            f"benches.instructions: {', '.join(risen)} took more than {MOST_RISE:.0%} more; if it "
            "has to be, .venv/bin/python -m benches.instructions --write says so"
        )


if __name__ == "__main__":
    main()
