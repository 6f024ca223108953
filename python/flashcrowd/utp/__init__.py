"""Measurements over real connections, uTP and the kernel's TCP: `flashcrowd utp`."""
