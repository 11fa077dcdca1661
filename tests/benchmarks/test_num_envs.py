"""PPO in rollouts of many widths: what is measured, and when the claim holds."""

from __future__ import annotations

import pytest

from yieldrl.benchmarks import results
from yieldrl.benchmarks.claims.evidence import num_envs
from yieldrl.benchmarks.registry import CLAIMS

ALL = (*num_envs.SHAPES, *num_envs.WIDER, *num_envs.PIECES)


def test_widths_differ_in_what_their_names_say() -> None:
    assert {width.num_envs * width.num_steps for width in num_envs.SHAPES} == {512}
    assert {width.num_steps for width in num_envs.WIDER} == {32}
    for width in num_envs.PIECES:
        assert width._replace(num_minibatches=4) in num_envs.WIDER
        assert width.num_envs * width.num_steps / width.num_minibatches == 128
    assert len({width.name for width in ALL}) == len(ALL)
    assert set(num_envs.BILLED) <= set(ALL)


def test_a_look_says_what_was_spent() -> None:
    width = num_envs.Width(64, 32, 16)
    found = list(num_envs.looks(width, seed=1, steps=8_192))
    assert [at for at, _, _ in found] == [4_096, 8_192]
    rollouts = [at // (64 * 32) for at, _, _ in found]
    assert [taken for _, taken, _ in found] == [4 * 16 * n for n in rollouts]
    assert all(value > 0 for *_, value in found)


@pytest.fixture
def measured() -> dict[str, float]:
    found = results.load(results.FOLDER / "widths-cartpole.json")["runs"]
    return dict(next(run for run in found if run["holds"])["numbers"])


@pytest.mark.parametrize(
    "name", ["late, 512 x 1", "late, 1024 x 32", "transitions, 1024 x 32"]
)
def test_the_claim_can_turn_out_false(measured: dict[str, float], name: str) -> None:
    claim, kind = CLAIMS["evidence"]["widths-cartpole"], name.partition(",")[0]
    assert claim.holds(measured)
    other = measured[f"{kind}, 4 x 128, 4 minibatches"]
    assert not claim.holds({**measured, f"{name}, 4 minibatches": other})
