"""The command `flashcrowd` as a process: `python -m flashcrowd` and the installed script."""

# Before all other imports, that of `signal` too, which has some itself.
import _signal  # pyright: ignore[reportMissingImports]

# Nothing has begun that Ctrl-C could interrupt: until `main` hears of it, it just ends the process,
# and is raised in no module that is half imported.
if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import atexit
import os
import signal
import sys
from contextlib import suppress

from flashcrowd.base.terminal import guard
from flashcrowd.cli import main
from flashcrowd.cli.ending import open_streams


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


class _End:
    """Ends the process when all that asked to be called at its end has been.

    The interpreter would now take itself down, and whatever thread of pyarrow or Dask then still
    lets go of an object of Python's is ended within C++ (`PyThread_exit_thread`, before Python
    3.14), which aborts the process: status -6, rarely, of a command that had done all it should.

    Attributes:
        status: the exit status; at first that of an uncaught exception.
    """

    status: int = 1

    def __call__(self) -> None:
        """For `atexit`: what was registered first is called last."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the reader is gone
                stream.flush()
        os._exit(self.status)


def command() -> None:
    """Runs the command line in a process that is the command's alone."""
    end = _End()
    atexit.register(end)
    sys.meta_path.insert(0, _NoPandas)
    open_streams()
    guard()  # for good: a traceback has words from elsewhere, too
    try:
        main()
    except SystemExit as left:
        end.status = left.code if isinstance(left.code, int) else int(left.code is not None)
        raise
    except KeyboardInterrupt:
        end.status = 128 + signal.SIGINT
        raise


if __name__ == "__main__":
    command()
