"""A process that conducts a campaign: python child.py FOLDER JOBS PAUSE_S."""

import sys
from pathlib import Path

from tests.runner.fake import FakeEngine, campaign

from flashcrowd.study.campaign import conduct

if __name__ == "__main__":
    conduct(
        campaign(repeats=8), FakeEngine(float(sys.argv[3])), Path(sys.argv[1]), int(sys.argv[2])
    )
