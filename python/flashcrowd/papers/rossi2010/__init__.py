"""rossi2010: the first LEDBAT clients alone and beside TCP, on a testbed and on ADSL lines.

The studies, the claims and what is known of the paper are the TOML files of this folder; the code
draws its figures and holds the judges that no other paper needs.
"""

from flashcrowd.papers.rossi2010.figures import FIGURES
from flashcrowd.papers.rossi2010.judges import JUDGES

__all__ = ["FIGURES", "JUDGES"]
