"""Pages and figures: blocks, the canvas, styles and HTML. It knows no results."""
