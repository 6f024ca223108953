"""The plan: what an engine needs to run, and nothing else."""

from flashcrowd.plan.lower import lower
from flashcrowd.plan.plan import Plan

__all__ = ["Plan", "lower"]
