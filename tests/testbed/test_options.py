"""What a testbed's file may say."""

from pathlib import Path

import pytest
from tests.runner import small

from flashcrowd.base.cluster_errors import ClusterError
from flashcrowd.cli import main
from flashcrowd.testbed.options import VARIABLE, Options

GOOD = """
enoslib = "{environment}"
provider = "static"
role = "nodes"
[node]
python = "env/bin/python"
folder = "/scratch"
files = ["a.whl"]
prepare = ["python3 -m venv env", "env/bin/pip install a.whl"]
[configuration.resources]
machines = []
networks = []
"""


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "a.whl").touch()
    python = tmp_path / "enoslib" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    return tmp_path / "enoslib"


def read(environment: Path, text: str) -> Options:
    file = environment.parent / "nodes.toml"
    file.write_text(text.format(environment=environment))
    return Options.read(file)


def test_what_it_says_is_read(environment: Path) -> None:
    found = read(environment, GOOD)
    assert found.enoslib == environment / "bin" / "python"
    assert found.files == (environment.parent / "a.whl",)
    assert found.configuration == {"resources": {"machines": [], "networks": []}}
    assert (found.provider, found.role, found.folder) == ("static", "nodes", "/scratch")
    assert found.prepare[1] == "env/bin/pip install a.whl"
    assert not found.keep


@pytest.mark.parametrize("more", [("--shard", "1/2"), ("--fresh",), ("--engine", "both")])
def test_what_does_not_go_together(
    environment: Path, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    study = environment.parent / "small.toml"
    study.write_text(small.swarm("leechers", hosts=1, size="1 MB", repeats=4))
    with pytest.raises(SystemExit, match="2"):
        main(["run", str(study), "--on", "enoslib:nodes.toml", *more])
    assert capsys.readouterr().err.startswith("--on enoslib: ")
    assert not (environment.parent / "results").exists()


def test_the_environment_may_be_said_elsewhere(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = GOOD.replace('enoslib = "{environment}"', "")
    with pytest.raises(ClusterError, match=r"python3 -m venv ~/enoslib && ~/enoslib/bin/pip inst"):
        read(environment, text)
    monkeypatch.setenv(VARIABLE, str(environment))
    assert read(environment, text).enoslib == environment / "bin" / "python"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[node]", "[node", "is no TOML: "),
        ('provider = "static"', "", "provider: a text is needed"),
        ('"{environment}"', '"/no/such"', "enoslib: /no/such is no environment of Python"),
        ("role =", "rolle =", "rolle: there is no such key"),
        ("folder =", "folders =", "node.folders: there is no such key"),
        ('["a.whl"]', '["b.whl"]', "node.files: "),
        ('["a.whl"]', "[3]", "node.files: a list of texts is needed"),
        ('"/scratch"', '"scratch"', "node.folder: scratch: a path from / is needed"),
        ('"env/bin/python"', "3", "node.python: a text is needed"),
    ],
)
def test_mistakes(environment: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ClusterError) as caught:
        read(environment, GOOD.replace(old, new, 1))
    text = str(caught.value)
    assert text.startswith(f"{environment.parent / 'nodes.toml'}: {said}")
    assert "\n" not in text
