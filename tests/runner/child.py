"""A process that conducts a campaign: python child.py FOLDER JOBS PAUSE_S BATCH_S."""

import sys
from pathlib import Path

from tests.runner.fake import FakeEngine, campaign

from flashcrowd.study.campaign import conduct
from flashcrowd.study.threads import Threads

if __name__ == "__main__":
    folder, jobs, pause_s, batch_s = sys.argv[1:]
    pool = Threads(int(jobs), float(batch_s))
    conduct(campaign(repeats=8), FakeEngine(float(pause_s)), Path(folder), pool)
