"""Lines between the processes of a run: what comes is what was said, and nothing else is taken."""

from __future__ import annotations

import json
import os

import pytest

from flashcrowd.base.messages import BadMessage, Channel, Failed, Progress, decoded, encoded
from flashcrowd.emulation.messages import End, LabOrder, ShareOrder

SHARE = ShareOrder("{}", 1, folder=None, division="{}", run=2, node=1, address="::1")


@pytest.mark.parametrize("message", [SHARE, End(1.5, "stalled", "it stands"), Failed("é\n")])
def test_what_is_said_is_heard(message: ShareOrder | End | Failed) -> None:
    assert encoded(message).count(b"\n") == 1
    assert decoded(encoded(message), LabOrder, ShareOrder, End, Failed) == message


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"Ende": {}}, r"""b'{"Ende": {}}' is no message of End, Progress"""),
        ({"End": {"at_s": 1, "outcome": ""}}, "End: reason: unknown, or not there"),
        ({"Progress": {"part": 1, "whole": 2}}, "Progress: whole: unknown, or not there"),
        ({"Progress": 1}, "is no message"),
        ({}, "is no message"),
        ([], "is no message"),
    ],
)
def test_of_another_version_nothing_is_taken(said: object, words: str) -> None:
    with pytest.raises(BadMessage) as raised:
        decoded(json.dumps(said).encode(), End, Progress)
    assert words in str(raised.value)


def test_lines_of_others_are_passed_over_until_the_end() -> None:
    back, to = os.pipe()
    channel = Channel(back, to, Progress)
    assert channel.hear(0.0) == []
    os.write(to, b'printed by a library\n{"Progress": {"pa\n')
    channel.say(Progress(0.5))
    os.write(to, encoded(Progress(0.75))[:-3])
    assert channel.hear(0.0) == [Progress(0.5)]
    os.write(to, encoded(Progress(0.75))[-3:])
    assert channel.hear(0.0) == [Progress(0.75)]
    os.close(to)
    with pytest.raises(EOFError):
        channel.hear(0.0)
    os.close(back)
