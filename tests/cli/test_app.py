import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flashcrowd import cli
from flashcrowd.cli import main

STUDIES = Path(__file__).parents[2] / "studies"
LATENCY = str(STUDIES / "latency.toml")


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_check_prints_a_study_file_and_counts_the_runs(capsys):
    assert status("check", LATENCY) == 0
    out, err = capsys.readouterr()
    assert out.startswith("# 8 points × 5 repeats = 40 runs\n#   network.loss: 2 values\n")
    assert "stop" not in tomllib.loads(out)
    assert "a run of point" not in out
    assert err == ""


def test_check_says_which_client_it_is_where_nothing_else_does(capsys):
    assert status("check", LATENCY) == 0
    assert "no `profile`" not in capsys.readouterr().out
    assert status("check", str(STUDIES / "patch.toml")) == 0
    assert "no `profile`" not in capsys.readouterr().out, "it is swept"
    assert status("check", str(STUDIES / "churn.toml")) == 0
    assert "# no `profile`: workloads." in capsys.readouterr().out


def test_check_prints_every_default_and_every_point_if_asked(capsys):
    assert status("check", "--all", LATENCY) == 0
    out, err = capsys.readouterr()
    assert tomllib.loads(out)["stop"] == {"horizon": "24 h", "stall": "30 min"}
    assert "a run of point 7" in out
    assert err == ""


def test_check_takes_values_from_the_command_line(capsys):
    arguments = ["--set", "network.rtt=7 ms", "--set", "network.loss=1 %", "--repeats", "1"]
    assert status("check", LATENCY, *arguments, "--seed", "9") == 0
    out = capsys.readouterr().out
    assert out.startswith("# 1 point × 1 repeat = 1 run\n")
    assert tomllib.loads(out)["network"]["rtt"] == "7 ms"
    assert tomllib.loads(out)["seed"] == 9


def test_a_mistake_ends_with_status_2_and_one_message(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert status("check", LATENCY, "--set", "network.rt=7 ms") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == f"{LATENCY}: 1 problem"
    assert 'hint     did you mean "network.rtt"?' in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("table", ["", "[workloads.swarm.populations]\n"])
def test_a_swarm_without_populations_is_refused_in_words(table: str, capsys, tmp_path):
    study = tmp_path / "study.toml"
    swarm = '[workloads.swarm]\nkind = "swarm"\nsize = "1 MB"\n'
    study.write_text(f'format = 1\ntitle = "x"\n[network.groups.home]\n{swarm}{table}')
    assert status("check", str(study)) == 2
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", f"{study}: 1 problem")
    assert "workloads.swarm.populations\n" in err
    assert "Traceback" not in err


def test_a_setting_that_is_none_is_told(capsys):
    assert status("check", LATENCY, "--set", "network.rtt") == 2
    assert "dotted.path=value" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--jobs", "--repeats", "--seed"])
@pytest.mark.parametrize("number", ["1.5", "1e0", "0x1", "true", ""])
def test_what_is_counted_is_a_whole_number(option: str, number: str, capsys):
    assert status("check", LATENCY, f"{option}={number}") != 0
    assert "whole number" in "".join(capsys.readouterr())


def test_repeats_may_be_until_it_is_sure(capsys):
    assert status("check", LATENCY, "--repeats", "until 5 %") == 0
    repeats = tomllib.loads(capsys.readouterr().out)["repeats"]
    assert repeats == "until 5 %" or repeats["until"] == "5 %"


def test_a_transport_is_a_stack_or_utp(capsys):
    assert status("explain", "workloads.transport") == 0
    assert "names    flashcrowd list stacks, flashcrowd list utp" in capsys.readouterr().out


def test_schema_prints_json(capsys):
    assert status("schema") == 0
    assert '"$schema": "https://json-schema.org/draft/2020-12/schema"' in capsys.readouterr().out


def test_plan_prints_or_saves_one_point(capsys, tmp_path):
    from flashcrowd.plan.plan import Plan

    assert status("plan", LATENCY, "--point", "7") == 0
    printed = Plan.from_json(capsys.readouterr().out)
    assert status("plan", LATENCY, "--point", "7", "--out", str(tmp_path / "plan.json")) == 0
    assert Plan.load(tmp_path / "plan.json").to_json() == printed.to_json()
    assert printed.data["network"]["cores"][0]["conditions"]["delay_ns"] == 500 * 10**6
    assert status("plan", LATENCY, "--out", str(tmp_path / "no" / "plan.json")) == 2
    assert "a file that can be written" in capsys.readouterr().err
    assert status("plan", LATENCY, "--point", "8") == 2
    assert "a number from 0 to 7" in capsys.readouterr().err


def test_ctrl_c_is_answered_calmly(capsys, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flashcrowd.cli.app", interrupted)
    assert status("check", LATENCY) == 130
    assert capsys.readouterr().err == "\nInterrupted. What was finished is kept.\n"


def test_a_reader_who_goes_away_is_no_fault():
    command = [sys.executable, "-m", "flashcrowd", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in (0, 1)


def test_help_and_version_need_nothing_heavy():
    code = (
        "import sys; from flashcrowd.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pyarrow', 'polars', 'scipy', 'matplotlib', 'pydantic'}\n"
        "found = heavy & set(sys.modules)\n"
        "sys.exit(str(found) if found else 0)"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "check" in made.stdout


def test_what_serves_fetches_and_limits_reads_no_studies():
    modules = ", ".join(f"flashcrowd.cli.{name}" for name in ("serve", "fetch", "autolimit"))
    code = f"import sys, {modules}; print({{'flashcrowd.scenario'}} & sys.modules.keys())"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout == "set()\n"


@pytest.mark.parametrize(
    "command",
    [
        *("init", "run", "report", "compare", "reproduce", "check", "plan", "draw", "list"),
        *("explain", "schema", "completion", "utp"),
    ],
)
def test_every_command_explains_itself(capsys, command: str):
    assert status(command, "--help") == 0
    assert f"flashcrowd {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "page", sorted(Path(cli.__file__).parent.glob("*.py")), ids=lambda it: it.stem
)
def test_no_help_has_what_is_printed_as_nothing(page: Path):
    """Help is rendered as Markdown, in which a tag is a tag."""
    constants = [it for it in ast.walk(ast.parse(page.read_text())) if isinstance(it, ast.Constant)]
    assert not [it.value for it in constants if re.search(r"<[!/a-z]", str(it.value))]
