"""GRPO for policies of many tokens: groups of pictures, chunks, levels, cloning."""

import numpy as np
import pytest
import torch
from factories import plain, resumed
from gymnasium.spaces import Box, MultiDiscrete
from tensordict import TensorDict
from token_policy import Tokens

from yieldrl.algorithms import vla_grpo
from yieldrl.envs.wrappers import ActionChunks, GroupStarts

TINY = {"env_kwargs": {"max_episode_steps": 8}}
TINY |= {"model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}}
TINY |= {"num_envs": 8, "group_size": 4, "num_steps": 8, "num_epochs": 1}
TINY |= {"num_minibatches": 2, "demonstration_steps": 0, "chunk_length": 2}
TINY |= {"total_steps": 128, "eval_every": 0, "device": "cpu"}


def trainer(**options):
    pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")
    return vla_grpo.Trainer(vla_grpo.Config(**{**TINY, **options}))


def algorithm(**options):
    """Of a policy of chunks of 3 choices between 2."""
    torch.manual_seed(0)
    model = Tokens(Box(-9, 9, (4,)), MultiDiscrete([2, 2, 2]))
    config = vla_grpo.Config(**{**TINY, "chunk_length": 3, **options})
    return vla_grpo.Algorithm(model, config)


def episodes(own):
    """Two of two chunks and of one, of which 3, 1 and 2 actions were executed."""
    size = 2, 2
    obs = torch.randn(*size, 4, generator=torch.Generator().manual_seed(0))
    action = torch.tensor([[[0, 1, 0], [1, 1, 0]], [[1, 0, 1], [0, 0, 0]]])
    log_prob = own.model.evaluate_actions(obs.flatten(0, 1), action.flatten(0, 1))[0]
    moved = torch.linspace(-0.5, 0.4, 12).view(4, 3, 1)  # logarithms of the ratios
    data = {
        "obs": obs,
        "action": action,
        "log_prob": (log_prob.detach() - moved).unflatten(0, size),
        "num_steps": torch.tensor([[3, 1], [2, 3]]),
        "advantage": torch.tensor([[1.0, 1.0], [-2.0, -2.0]]),
        "valid": torch.tensor([[True, True], [True, False]]),
    }
    data["used"] = data["valid"]
    return TensorDict(data, list(size))


def test_a_group_sees_one_picture_and_reads_one_instruction():
    """At the beginning of every episode, in environments that take chunks."""
    run = trainer(num_steps=16, total_steps=256)
    assert isinstance(run.envs, GroupStarts)
    assert isinstance(run.envs.env, ActionChunks)
    assert run.envs.horizon == 4
    next(log for log in run() if run.buffer.full)
    rollout = run.buffer.rollout()
    begins = rollout["begins"].view(16, 2, 4)
    assert (begins == begins[..., :1]).all()
    assert begins[..., 0].sum() > 4, "several episodes in a rollout"
    for name in ("rgb", "language"):
        seen = rollout["obs", name].flatten(2).unflatten(1, (2, 4))
        first = seen[begins[..., 0]]  # [starts, 4, ...]
        assert (first == first[:, :1]).all()
        assert len(first[:, 0].unique(dim=0)) > 2
    assert (rollout["num_steps"] > 1).any(), "of chunks of two actions"


def test_groups_that_are_too_hard_or_too_easy_are_left_out():
    """Success rates of 1/4, 2/4, 3/4 and 4/4, and of one that does not count."""
    returns = torch.tensor(
        [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1]], dtype=torch.float32
    )
    counted = torch.ones(4, 4, dtype=torch.bool)
    usual = algorithm().relative(returns, counted)
    assert (usual != 0).any(1).tolist() == [True, True, True, False]
    for least, kept in ((0.25, [1, 1, 1, 0]), (0.3, [0, 1, 0, 0])):
        found = algorithm(least_share=least).relative(returns, counted)
        assert torch.equal(found, usual * torch.tensor(kept).unsqueeze(1))


@pytest.mark.parametrize("level", ["token", "action", "step", "sequence"])
def test_ratios_of_tokens_of_chunks_and_of_episodes(level):
    """By hand: what was not executed has no part, an episode's tokens weigh alike."""
    own = algorithm(ratio_level=level, clip_coef=0.2)
    loss, logs = own.loss(own.measured(episodes(own)))
    loss = loss.detach()
    moved = np.linspace(-0.5, 0.4, 12)
    rows = [[moved[:3], moved[3:4]], [moved[6:8]]]
    gains = []
    for chunks, advantage in zip(rows, (1.0, -2.0), strict=True):
        if level in ("token", "action"):  # of one choice each
            parts = list(np.concatenate(chunks))
        elif level == "step":
            parts = [of.sum() for of in chunks for _ in of]
        else:
            parts = [np.concatenate(chunks).sum()] * sum(map(len, chunks))
        ratio = np.exp(parts)
        near = ratio.clip(0.8, 1.2)
        gains.append(np.minimum(ratio * advantage, near * advantage).mean())
    assert float(loss) == pytest.approx(-np.mean(gains), abs=1e-6)
    assert float(logs["policy_loss"]) == pytest.approx(float(loss))


def test_an_action_of_two_numbers_has_one_ratio_between_token_and_chunk():
    own = algorithm(ratio_level="action")
    log_ratio = torch.arange(6.0).view(1, 1, 6)  # of L = 3 actions of D = 2 numbers
    mask = torch.ones_like(log_ratio, dtype=torch.bool)
    shared = own.shared(log_ratio, mask)
    assert shared.flatten().tolist() == [1, 1, 5, 5, 9, 9]


def test_a_value_head_stays_and_adapters_have_a_rate():
    own = algorithm(learning_rate=1e-3, adapter_learning_rate=1e-2, weight_decay=0.1)
    before = {k: p.detach().clone() for k, p in own.model.named_parameters()}
    assert [group["lr"] for group in own.optimizer.param_groups] == [1e-3, 1e-2, 1e-3]
    own.learn(episodes(own))
    moved = {k for k, p in own.model.named_parameters() if (p != before[k]).any()}
    assert moved == {"actor.weight", "actor.bias", "adapter.weight"}


def test_one_number_for_a_chunk_has_no_ratio_of_its_tokens():
    with pytest.raises(ValueError, match="the ratio of a token needs"):
        vla_grpo.Config(**{**TINY, "log_prob_per": "chunk"})
    own = algorithm(log_prob_per="chunk", ratio_level="step")
    log_ratio = torch.tensor([[[0.5], [-0.1]]])
    mask = torch.ones_like(log_ratio, dtype=torch.bool)
    assert torch.equal(own.shared(log_ratio, mask), log_ratio)


CLONING = {"demonstration_steps": 32, "clone_steps": 3, "clone_batch_size": 8}


def test_an_expert_is_cloned_first_and_plays_every_episode_once():
    run = trainer(**CLONING)
    logs, cloning = [], run.cloning
    assert cloning is not None
    assert not isinstance(cloning.envs, GroupStarts)
    for log in run():
        logs.append(plain(log))
        if len(logs) == 5:
            first = cloning.buffer.rollout()["obs", "rgb"][0].flatten(1)
            assert len(first.unique(dim=0)) == 8, "no two of a group alike"
    phases = [log["logs"]["phase"] for log in logs]
    assert phases == sorted(phases)
    steps = {int(log["sample_step"]) for log in logs if log["logs"]["phase"] == 1.0}
    assert (min(steps), max(steps)) == (40, 160)
    rates = [log["logs"]["learning_rate"] for log in logs if log["log_type"] == "train"]
    assert run.config.learning_rate >= rates[3] > rates[-1], "annealed after cloning"


def test_a_saved_run_goes_on_bitwise(tmp_path):
    """While it clones, while it collects, and between two minibatches."""
    through = list(map(plain, trainer(**CLONING)()))
    for stop in (6, 9, 14):
        assert resumed(trainer(**CLONING), stop, tmp_path) == through
