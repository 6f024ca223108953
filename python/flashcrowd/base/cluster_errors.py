"""Errors of other machines, in one line with the remedy."""

from __future__ import annotations


class ClusterError(Exception):
    """Runs cannot be carried out where they were to be; the message names the remedy."""


class Lost(ClusterError):
    """The scheduler ended, or says nothing any more."""
