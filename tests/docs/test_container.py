"""The container of `flashcrowd autolimit`: an ordinary user, no password in it."""

import re
import shlex

import pytest
from tests.docs.test_tutorial import ROOT

from flashcrowd.cli import main

FILE = (ROOT / "docs" / "container" / "Containerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "keep-downloads-alive.md").read_text(encoding="utf-8")


def test_it_runs_as_an_ordinary_user_with_its_state_in_a_volume() -> None:
    steps = [line.split(maxsplit=1) for line in FILE.splitlines() if re.match(r"[A-Z]+ ", line)]
    users = [given for word, given in steps if word == "USER"]
    assert users == ["autolimit"]
    assert "useradd --system autolimit" in FILE
    (volume,) = [given for word, given in steps if word == "VOLUME"]
    assert ["ENV", f"STATE_DIRECTORY={volume}"] in steps
    assert "PASSWORD" not in FILE


def test_the_page_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = re.findall(r"^docker run .*?(?<!\\)$", PAGE, re.S | re.M)
    words = shlex.split(command)
    assert any(word.endswith(":/state") for word in words)
    given = words[words.index("autolimit") + 1 :]
    with pytest.raises(SystemExit) as ended:
        main(["autolimit", *given])
    # All that is missing here is the file with the password.
    assert ended.value.code == 2
    assert f"--password-file {given[-1]}: No such file" in capsys.readouterr().err
    assert f":{given[-1]}:ro" in command
