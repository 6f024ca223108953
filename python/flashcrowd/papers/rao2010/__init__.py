"""rao2010: latency and loss against BitTorrent swarms, on a testbed.

The studies, the claims and what is known of the paper are the TOML files of this folder; the code
draws its figures and holds the judges that no other paper needs.
"""

from flashcrowd.papers.rao2010.figures import FIGURES
from flashcrowd.papers.rao2010.judges import JUDGES

__all__ = ["FIGURES", "JUDGES"]
