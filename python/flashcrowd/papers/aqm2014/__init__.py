"""aqm2014: queue disciplines and flows of low priority, which lose their priority beside TCP.

The studies, the claims and what is known of the paper are the TOML files of this folder; the code
draws its figures and holds the judges that no other paper needs.
"""

from flashcrowd.papers.aqm2014.figures import FIGURES
from flashcrowd.papers.aqm2014.judges import JUDGES

__all__ = ["FIGURES", "JUDGES"]
