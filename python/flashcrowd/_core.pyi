"""The engines, compiled. Private: use `flashcrowd.run` or `flashcrowd.engines`."""

__all__ = ["build_info"]

def build_info() -> dict[str, str | None]:
    """What this build is: `version`, `profile`, `commit`, `engine` and `rustc`."""
