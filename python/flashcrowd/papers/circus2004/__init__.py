"""circus2004: a content server that sends blocks in the order that spares its disk.

The studies, the claims and what is known of the paper are the TOML files of this folder; the code
draws its figures and holds the measures and judges that no other paper needs.
"""

from flashcrowd.papers.circus2004.figures import FIGURES
from flashcrowd.papers.circus2004.judges import JUDGES

__all__ = ["FIGURES", "JUDGES"]
