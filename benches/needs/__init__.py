"""What `flashcrowd check` predicts of a run, beside what runs take: see `__main__.py`."""
