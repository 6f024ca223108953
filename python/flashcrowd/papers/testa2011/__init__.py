"""testa2011: what uTP does to the completion times of BitTorrent swarms, by simulation.

The studies, the claims and what is known of the paper are the TOML files of this folder; the code
draws its figures and holds the judges that no other paper needs.
"""

from flashcrowd.papers.testa2011.figures import FIGURES
from flashcrowd.papers.testa2011.judges import JUDGES

__all__ = ["FIGURES", "JUDGES"]
