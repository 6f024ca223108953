"""By what real clients round an upload limit down."""

LIMIT_STEPS = {"libtorrent": 1, "qbittorrent": 1024, "transmission": 1000}
"""Bytes per second, of each program that takes limits while it runs."""
