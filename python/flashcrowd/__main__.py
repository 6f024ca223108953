"""The command `flashcrowd` as a process: `python -m flashcrowd` and the installed script."""

import sys

from flashcrowd.cli import main


class _NoPandas:
    """A finder of modules by which pandas is not installed.

    pyarrow imports it where it finds it, to see whether it is given something of it, for 0.4 s.
    No command has to do with pandas.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Refuses pandas, and leaves all else to others (`importlib.abc.MetaPathFinder`)."""
        if name == "pandas":
            raise ModuleNotFoundError("no command needs it", name=name)


def command() -> None:
    """Runs the command line in a process that is the command's alone."""
    sys.meta_path.insert(0, _NoPandas)
    main()


if __name__ == "__main__":
    command()
