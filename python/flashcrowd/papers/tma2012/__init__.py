"""tma2012: completion times of swarms that mix TCP and uTP, measured with real clients.

The study, the claims and what is known of the paper are the TOML files of this folder; the code
draws its figure and holds the judge that no other paper needs.
"""

from flashcrowd.papers.tma2012.figures import FIGURES
from flashcrowd.papers.tma2012.judges import JUDGES

__all__ = ["FIGURES", "JUDGES"]
