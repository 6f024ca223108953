"""One file for each kind of figure; every function gives a finished figure or nothing."""
