"""A lab begins with each run and each self-test: it imports what plays a plan, and no more."""

import subprocess
import sys

from flashcrowd.emulation.launch import LAB


def test_a_lab_reads_no_studies_and_no_tables() -> None:
    heavy = {"flashcrowd.scenario", "flashcrowd.study", "flashcrowd.store", "numpy", "pyarrow"}
    code = f"import sys, {LAB}; print({heavy} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
