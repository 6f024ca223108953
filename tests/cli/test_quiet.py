"""Each command that can be quiet takes `-q` for it."""

import pytest

from flashcrowd.cli import main

QUIET = ("expect", "fetch", "peer", "run")


@pytest.mark.parametrize("command", QUIET)
def test_q_is_short_for_quiet(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert "--quiet -q" in " ".join(capsys.readouterr().out.split())


def test_no_other_command_can_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = [line.split()[1] for line in capsys.readouterr().out.splitlines() if "│" in line]
    for command in {it for it in listed if it.isalpha()} - set(QUIET):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "--quiet" not in capsys.readouterr().out, command
