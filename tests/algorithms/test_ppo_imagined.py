"""PPO beside a model of the world: what is imagined, weighed, optimized and resumed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from factories import plain, resumed
from imagining import TINY, imagined, until_learning

from yieldrl.algorithms import ppo_imagined
from yieldrl.functional import gae
from yieldrl.vla.latents import PROMPT


def trainer(**options: Any) -> ppo_imagined.Trainer:
    return ppo_imagined.Trainer(ppo_imagined.Config(**{**TINY, **options}))


def test_every_sample_says_what_it_was_made_with() -> None:
    pieces = until_learning(trainer())
    dreamt = pieces["model_version"] >= 0
    assert set(pieces["model_version"][dreamt].tolist()) == {2}, "after the warm-up"
    assert 0 < int(dreamt.sum()) <= 24
    assert (pieces["acted_version"] == 0).all()
    assert set(pieces["model_version"][~dreamt].tolist()) == {-1}
    assert pieces["obs", PROMPT].shape[2:] == (16,), "latents of one length"


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_share_of_what_is_real(share: float) -> None:
    """As many real transitions as make that share, rounded up, of 32."""
    pieces = until_learning(trainer(real_share=share))
    dreamt = int((pieces["model_version"] >= 0).sum())
    if share == 1:
        assert (dreamt, len(pieces)) == (0, 32)
        return
    real = min(32, -(-dreamt * share // (1 - share)))
    assert len(pieces) - dreamt == real


def test_the_horizon_bootstraps_and_an_end_does_not() -> None:
    """Generalized advantages of a segment, with the critic's word on what is beyond."""
    run = trainer()
    own: Any = run.algorithm
    until_learning(run)
    segment = imagined(own)
    assert (segment["obs", "step"][1] == segment["obs", "step"][0] + 1).all()
    with torch.no_grad():
        rows = own.worth(segment.clone()).squeeze(1)
        value = run.model.get_value(segment.flatten()["obs"]).view(3, 8)
        after = run.model.get_value(segment.flatten()["next_obs"]).view(3, 8)
    ends = segment["terminated"], segment["truncated"]
    assert (ends[1][-1] == (segment["valid"][-1] & ~ends[0][-1])).all()
    expected = gae(
        segment["reward"], value, after, *ends, own.config.gamma, own.config.gae_lambda
    )
    found = expected[segment["valid"]]
    torch.testing.assert_close(rows["advantage"], found, atol=1e-5, rtol=1e-5)
    assert len(rows) == int(segment["valid"].sum())


def test_one_critic_says_all_values_of_an_estimate() -> None:
    """At a refresh it has learned since the rollout was collected."""
    run = trainer(refreshes=3)
    own: Any = run.algorithm
    checked: list[int] = []

    def compared(rollout: Any) -> Any:
        following = type(own).next_values(own, rollout)
        if "step" not in set(rollout["obs"].keys()):  # a real one
            now = own.model.get_value(own.model.inputs(rollout).flatten(0, 1))
            torch.testing.assert_close(rollout["value"].flatten(), now)
            checked.append(int(own.past.refreshed))
        return following

    own.next_values = compared
    for _ in run():
        pass
    assert {0, 1, 2} <= set(checked)


def test_two_stages_have_an_optimizer_each_and_one_has_groups() -> None:
    rates = {"learning_rate": 1e-4, "value_learning_rate": 2e-4}
    rates |= {"model_learning_rate": 3e-4, "head_learning_rate": 4e-4}
    two: Any = trainer(**rates).algorithm
    assert [g["lr"] for g in two.optimizer.param_groups] == [1e-4, 2e-4]
    assert [g["lr"] for g in two.world_optimizer.param_groups] == [3e-4, 4e-4]
    one: Any = trainer(stages=1, **rates).algorithm
    assert [g["lr"] for g in one.optimizer.param_groups] == [1e-4, 2e-4, 3e-4, 4e-4]
    assert not hasattr(one, "world_optimizer")


@pytest.mark.parametrize("stages", [1, 2])
def test_who_moves_with_a_policys_step(stages: int) -> None:
    """With one stage the model too; what embeds pictures never."""
    run = trainer(stages=stages, model_warmup_steps=0, micro_batches=21)
    run.algorithm.sync_target()
    parts: Any = {"model": run.model.state_dict(), "world": run.algorithm.world}
    before = {k: v.clone() for k, v in run.model.state_dict().items()}
    trunk = {k: v.clone() for k, v in parts["world"].state_dict().items()}
    until_learning(run)
    moved = {k for k, v in run.model.state_dict().items() if not v.equal(before[k])}
    assert any("lm_head" in name for name in moved)
    assert not any("vision" in k or "projector" in k for k in moved)
    now = parts["world"].state_dict()
    of_world = {k for k, v in now.items() if not v.equal(trunk[k])}
    assert ("change.weight" in of_world) == (stages == 1)
    assert int(now["version"]) == (stages == 1)


@pytest.mark.parametrize("stages", [1, 2])
def test_it_resumes_to_the_bit(stages: int, tmp_path: Any) -> None:
    """Also between two refreshes of one rollout."""
    whole = list(map(plain, trainer(stages=stages)()))
    stop = 3 + next(i for i, x in enumerate(whole) if x["log_type"] == "train")
    assert resumed(trainer(stages=stages), stop, tmp_path) == whole


def test_update_learns_from_a_rollout_of_ones_own() -> None:
    run = trainer()
    rollout = run.collector.collect(4)
    logs = run.update(rollout)
    assert run.algorithm.counters.learn_step == 4
    assert float(logs["imagined/length"]) >= 1


def test_several_learners_are_refused() -> None:
    with pytest.raises(ValueError, match="a model of the world of its own"):
        trainer(collection="ray", learners=2)
