"""How Sphinx makes the site: `make docs`. Nothing is fetched while it is built or read."""

from importlib.metadata import version as _version

project = "flashcrowd"
author = "The flashcrowd authors"
version = release = _version("flashcrowd")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["site"]
myst_heading_anchors = 3
# Pages link to the repository's other files, too, which are not part of the site.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "show-inheritance": True}

html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme = "furo"
html_title = "flashcrowd"
html_show_sphinx = False
html_show_copyright = False
