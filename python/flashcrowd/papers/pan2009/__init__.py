"""pan2009: why uploads take the download away on asymmetric lines, and Adaptive-DRC against it.

The studies, the claims and what is known of the paper are the TOML files of this folder; the code
draws its figures and holds the measures and judges that no other paper needs.
"""

from flashcrowd.papers.pan2009.figures import FIGURES
from flashcrowd.papers.pan2009.judges import JUDGES

__all__ = ["FIGURES", "JUDGES"]
