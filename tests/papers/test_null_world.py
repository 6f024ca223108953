"""Where no setting has an effect, few claims may be reproduced: those that a paper lists."""

from pathlib import Path

import pytest

from flashcrowd.papers import paper, reproduce


def survivors(one: paper.Paper) -> dict[str, str]:
    """Claims that may be reproduced in every null world of the quick campaign, by id: why."""
    return one.about.get("null_world", {})


@pytest.mark.slow
@pytest.mark.parametrize("name", paper.names())
def test_only_claims_that_say_why_survive_shuffled_runs(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.getbasetemp() / "papers" / name
    found = reproduce(name, out, quick=True, shuffles=10)
    assert found.null_world is not None
    assert set(found.null_world.always) <= set(survivors(paper.load(name))), found.null_world


def test_survivors_are_claims() -> None:
    for name in paper.names():
        one = paper.load(name)
        assert set(survivors(one)) <= {claim.id for claim in one.claims}
        assert all(why.endswith(".") for why in survivors(one).values())


@pytest.mark.slow
@pytest.mark.parametrize("name", paper.names())
def test_the_page_says_what_quick_mode_prints(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After a change that moves verdicts: ``flashcrowd reproduce NAME --quick --write-docs``."""
    page = Path(__file__).parents[2] / "docs" / f"{name}.md"
    copy = tmp_path_factory.mktemp(name) / page.name
    copy.write_text(page.read_text())
    out = tmp_path_factory.getbasetemp() / "papers" / name
    reproduce(name, out, quick=True, docs=copy)

    def counts(text: str) -> list[str]:
        _, _, rest = text.partition("<!-- claims of quick mode -->")
        return [line for line in rest.partition("<!-- end")[0].splitlines() if "|" in line]

    assert counts(page.read_text()) == counts(copy.read_text())
