"""PPO and GRPO beside a model of the world: what is imagined, weighed and resumed."""

import pytest
import torch
from factories import plain, resumed
from imagining import TINY, imagined, until_learning

from yieldrl.algorithms import grpo_imagined, ppo_imagined
from yieldrl.functional import gae
from yieldrl.vla.observations import PROMPT


def trainer(**options):
    return ppo_imagined.Trainer(ppo_imagined.Config(**{**TINY, **options}))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_share_is_real_and_every_sample_says_what_it_was_made_with(share):
    """As many real transitions as make that share, rounded up, of 32."""
    run = trainer(real_share=share)
    run.agent.counters.policy_version = 5
    pieces = until_learning(run)
    version = pieces["model_version"]
    dreamt = int((version == 2).sum())  # after the warm-up
    assert dreamt + (version == -1).sum() == len(pieces)
    assert (pieces["acted_version"] == 5).all()
    assert pieces["obs", PROMPT].shape[2:] == (16,), "latents of one length"
    if share == 1:
        assert (dreamt, len(pieces)) == (0, 32)
        return
    assert 0 < dreamt <= 24
    real = min(32, -(-dreamt * share // (1 - share)))
    assert len(pieces) - dreamt == real


def test_the_horizon_bootstraps_and_an_end_does_not():
    """Generalized advantages of a segment, with the critic's word on what is beyond."""
    run = trainer()
    own = run.algorithm
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


def test_one_critic_says_all_values_of_an_estimate():
    """At a refresh it has learned since the rollout was collected."""
    run = trainer(refreshes=3)
    own = run.algorithm
    checked = []

    def compared(rollout):
        following = type(own).next_values(own, rollout)
        if "step" not in set(rollout["obs"].keys()):  # a real one
            now = own.model.get_value(own.model.inputs(rollout).flatten(0, 1))
            torch.testing.assert_close(rollout["value"].flatten(), now)
            checked.append(own.past.refreshed)
        return following

    own.next_values = compared
    list(run())
    assert {0, 1, 2} <= set(checked)


def test_two_stages_have_an_optimizer_each_and_one_has_groups():
    rates = {"learning_rate": 1e-4, "value_learning_rate": 2e-4}
    rates |= {"model_learning_rate": 3e-4, "head_learning_rate": 4e-4}
    two = trainer(**rates).algorithm
    assert [g["lr"] for g in two.optimizer.param_groups] == [1e-4, 2e-4]
    assert [g["lr"] for g in two.world_optimizer.param_groups] == [3e-4, 4e-4]
    one = trainer(stages=1, **rates).algorithm
    assert [g["lr"] for g in one.optimizer.param_groups] == [1e-4, 2e-4, 3e-4, 4e-4]
    assert not hasattr(one, "world_optimizer")


@pytest.mark.parametrize("stages", [1, 2])
def test_who_moves_with_a_policys_step(stages):
    """With one stage the model too; what embeds pictures never."""
    run = trainer(stages=stages, model_warmup_steps=0, micro_batches=21)
    run.algorithm.sync_target()
    parts = {"model": run.model.state_dict(), "world": run.algorithm.world}
    before = {k: v.clone() for k, v in run.model.state_dict().items()}
    trunk = {k: v.clone() for k, v in parts["world"].state_dict().items()}
    until_learning(run)
    moved = {k for k, v in run.model.state_dict().items() if not v.equal(before[k])}
    assert any("lm_head" in name for name in moved)
    assert not any("vision" in k or "projector" in k for k in moved)
    now = parts["world"].state_dict()
    of_world = {k for k, v in now.items() if not v.equal(trunk[k])}
    assert ("change.weight" in of_world) == (stages == 1)
    assert run.algorithm.past.model_steps == (stages == 1)


@pytest.mark.parametrize("kind", ["PPO", "PPO in two stages", "GRPO"])
def test_it_resumes_to_the_bit(kind, tmp_path):
    """Also between two refreshes of one rollout."""

    def run():
        if kind == "GRPO":
            return grouped(num_envs=16, total_steps=96)
        return trainer(stages=2 if kind == "PPO in two stages" else 1)

    whole = list(map(plain, run()()))
    stop = 3 + next(i for i, x in enumerate(whole) if x["log_type"] == "train")
    assert resumed(run(), stop, tmp_path) == whole


def test_update_learns_from_a_rollout_of_ones_own():
    run = trainer()
    rollout = run.collector.collect(4)
    logs = run.update(rollout)
    assert run.algorithm.counters.learn_step == 4
    assert float(logs["imagined/length"]) >= 1


def test_several_learners_are_refused():
    with pytest.raises(ValueError, match="a model of the world of its own"):
        trainer(collection="ray", learners=2)


MORE = {"group_size": 4, "num_branches": 16, "num_steps": 3, "gamma": 0.5}


def grouped(**options):
    return grpo_imagined.Trainer(grpo_imagined.Config(**{**TINY, **MORE, **options}))


def segment(own):
    """Three steps of two groups of four: one wins at steps 1 and 2, the other never."""
    found = imagined(own, 2)
    reward = torch.zeros(3, 8)
    reward[0, 0] = reward[1, 1] = 1
    ended = reward.cumsum(0) > 0
    valid = torch.cat([torch.ones(1, 8, dtype=torch.bool), ~ended[:-1]])
    found["reward"], found["valid"] = reward, valid
    found["terminated"] = ended & valid
    found["truncated"] = torch.zeros(3, 8, dtype=torch.bool)
    found["truncated"][-1] = valid[-1] & ~ended[-1]
    return found


def test_advantages_of_groups_by_hand():
    """Returns 1, 1/2, 0, 0: less their mean 3/8, by their standard deviation; a group
    that never wins is left out, and so is what comes after an end."""
    run = grouped()
    until_learning(run)
    own = run.algorithm
    rows = own.worth(segment(own))
    returns = torch.tensor([1, 0.5, 0, 0])
    expected = (returns - 0.375) / returns.std(correction=0)
    torch.testing.assert_close(rows["advantage"][:, 0], expected, atol=1e-4, rtol=1e-4)
    assert rows.batch_size == (4, 3)
    assert rows["used"].sum(1).tolist() == [1, 2, 3, 3]


def test_a_group_begins_in_one_real_state_and_is_whole():
    with pytest.raises(ValueError, match="num_branches = 18"):
        grouped(num_branches=18)
    run = grouped(num_envs=32)
    until_learning(run)
    own = run.algorithm
    starts = own.states(own.starts())[PROMPT].unflatten(0, (4, 4))
    assert (starts == starts[:, :1]).all()
    assert len(starts[:, 0].flatten(1).unique(dim=0)) > 1


def test_imagined_branches_lie_beside_real_episodes():
    """Four of one group, and with a share of a half as many real episodes."""
    run = grouped(kl_coef=0.1, num_envs=32)
    rows = until_learning(run)
    real = rows[rows["model_version"][:, 0] < 0]
    own = run.algorithm
    rows = own.beside(real, [own.worth(segment(own))])
    dreamt = rows["model_version"][:, 0] >= 0
    assert dreamt.tolist() == [False] * 4 + [True] * 4
    assert (rows["advantage"][rows["used"]] != 0).all()
    assert torch.equal(rows["valid"], rows["used"])
    assert "reference" in set(rows.keys())
    # Where no group differs, really or imagined, there is nothing to learn.
    for none in (real[:0], run.buffer.rollout()[:0]):
        assert len(own.beside(none, [rows[:0]])) == 0


def test_chunks_are_imagined_as_they_are_executed():
    """Two actions a token, of which both are executed; a step is discounted twice."""
    options = {"chunk_length": 2, "outcome": "number", "num_steps": 2}
    run = grouped(num_envs=32, **options)
    until_learning(run)
    own = run.algorithm
    found = imagined(own)
    assert found["action"].shape == (3, 16, 2)
    assert (found["discount"] == 0.25).all()
    assert (found["num_steps"] == 2).all()
