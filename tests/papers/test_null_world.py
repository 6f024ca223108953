"""Where no setting has an effect, few claims may be reproduced: those that a paper lists."""

import pytest

from flashcrowd.papers import paper, reproduce


@pytest.mark.slow
@pytest.mark.parametrize("name", paper.names())
def test_only_claims_that_say_why_survive_shuffled_runs(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.getbasetemp() / "papers" / name
    found = reproduce(name, out, quick=True, shuffles=10)
    assert found.null_world is not None
    assert set(found.null_world.always) <= set(paper.load(name).survivors), found.null_world


def test_survivors_are_claims() -> None:
    for name in paper.names():
        one = paper.load(name)
        assert set(one.survivors) <= {claim.id for claim in one.claims}
        assert all(why.endswith(".") for why in one.survivors.values())
