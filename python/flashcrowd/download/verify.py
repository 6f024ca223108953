"""Digests of written bytes, in a thread of their own.

They are computed from the file on the disk, not from what came: so a byte in a wrong place is found
as well. hashlib releases the interpreter's lock while it works.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque

from flashcrowd.download.digests import Digests
from flashcrowd.download.part import Part

READ = 1 << 20
"""Bytes that are read at a time."""


class _Beside:
    """A thread that works as soon as there is work, until it is stopped."""

    def __init__(self, part: Part, name: str) -> None:
        self._part = part
        self._buffer = memoryview(bytearray(READ))
        self._news = threading.Condition()
        self._stopped = False
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except OSError as error:
            with self._news:
                self._error = error
                self._news.notify_all()

    def _turn(self) -> bool:
        """Waits for work and does some of it; False at the end."""
        raise NotImplementedError

    def _read(self, at: int, count: int) -> memoryview:
        read = os.preadv(self._part.fd, [self._buffer[: min(count, READ)]], at)
        if not read:
            raise OSError("the file is shorter than it was")
        return self._buffer[:read]

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the thread, what it has to do is left."""
        with self._news:
            self._stopped = True
            self._news.notify_all()
        self._thread.join()


class Blocks(_Beside):
    """Verifies each block when it is whole."""

    def __init__(self, part: Part, digests: Digests) -> None:
        self.digests = digests
        self._queue: deque[int] = deque()
        self._working = False
        self._known = bytearray(len(digests.blocks))  # 1: in the queue, or verified
        self._bad: list[int] = []
        super().__init__(part, "digests of blocks")
        for start, end in part.ranges:
            self.offer(start, end)

    def offer(self, start: int, end: int) -> None:
        """Bytes were written: blocks that are whole by this are verified."""
        size = self.digests.block_bytes
        for index in range(start // size, -(-end // size)):
            if not self._known[index] and self._part.ranges.holds(*self.digests.block(index)):
                self._known[index] = 1
                with self._news:
                    self._queue.append(index)
                    self._news.notify_all()

    def settle(self) -> list[int]:
        """Waits until all that was offered is verified; gives the blocks that are wrong.

        These may be offered again.
        """
        with self._news:
            self._news.wait_for(lambda: (not self._queue and not self._working) or self._error)
            self._check()
            bad, self._bad = self._bad, []
        for index in bad:
            self._known[index] = 0
        return sorted(bad)

    def _turn(self) -> bool:
        with self._news:
            self._working = False
            self._news.notify_all()
            self._news.wait_for(lambda: self._queue or self._stopped)
            if self._stopped:
                return False
            index = self._queue.popleft()
            self._working = True
        start, end = self.digests.block(index)
        digest = hashlib.sha256()
        while start < end:
            data = self._read(start, end - start)
            digest.update(data)
            start += len(data)
        if digest.digest() != self.digests.blocks[index]:
            with self._news:
                self._bad.append(index)
        return True


class Whole(_Beside):
    """The digest of the whole file: it follows the first gap."""

    def __init__(self, part: Part, algorithm: str) -> None:
        self._digest = hashlib.new(algorithm)
        self._done = 0
        self._until = part.ranges.prefix
        super().__init__(part, "digest of the file")

    def reach(self, prefix: int) -> None:
        """The first `prefix` bytes are there."""
        if prefix > self._until:
            with self._news:
                self._until = prefix
                self._news.notify_all()

    def settle(self) -> bytes:
        """Waits for the digest of all bytes up to the last `reach`."""
        with self._news:
            self._news.wait_for(lambda: self._done == self._until or self._error)
            self._check()
            return self._digest.digest()

    def _turn(self) -> bool:
        with self._news:
            self._news.notify_all()
            self._news.wait_for(lambda: self._done < self._until or self._stopped)
            if self._stopped:
                return False
            until = self._until
        while self._done < until and not self._stopped:
            data = self._read(self._done, until - self._done)
            self._digest.update(data)
            with self._news:
                self._done += len(data)
        return True
