"""GRPO: advantages by hand, gradients against exact ones, and what is left out."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest
import torch
from factories import config_of, plain, resumed, trainer_of, update
from gymnasium.spaces import Box, MultiDiscrete
from lettered import Lettered, algorithm_of
from tensordict import TensorDict
from token_policy import Tokens
from torch import Tensor, nn

from yieldrl.algorithms import (
    dapo,
    dr_grpo,
    grpo,
    gspo,
    reinforce_pp,
    rloo,
)
from yieldrl.cli import catalog
from yieldrl.envs import TorchVectorEnv
from yieldrl.envs.wrappers import ActionChunks, GroupStarts
from yieldrl.envs.writing import SumsVectorEnv
from yieldrl.language import TokenPolicy
from yieldrl.on_policy import tokens_taken

PENDULUM = {"env_id": "yieldrl/Pendulum-v1", "num_envs": 4, "total_steps": 128}
ANSWERS = {"num_envs": 16, "group_size": 4, "learning_rate": 0.05, "num_epochs": 1}
ANSWERS |= {"total_steps": 4096, "eval_every": 0}


def cartpole(module: Any = grpo, **options: Any) -> Any:
    """The tuned file, which a variant has from its parent."""
    return replace(
        catalog.load_config("grpo/cartpole", module.Trainer), eval_every=0, **options
    )


def answers(algorithm: Any, action: Any, advantage: Any) -> TensorDict:
    """Episodes `[B, T]` of tokens `[B, T, L]`, all drawn by the policy of now."""
    tokens = torch.tensor(action)
    size = tokens.shape[:2]
    log_prob = algorithm.model.evaluate_actions(None, tokens.flatten(0, 1))[0]
    data = {
        "obs": torch.zeros(*size, 3),
        "action": tokens,
        "log_prob": log_prob.detach().unflatten(0, size),
        "advantage": torch.tensor(advantage).unsqueeze(1).expand(size).clone(),
        "valid": torch.ones(size, dtype=torch.bool),
        "used": torch.ones(size, dtype=torch.bool),
    }
    return algorithm.measured(TensorDict(data, list(size)))


# ------------------------------------------------------------------------- advantages

RETURNS = torch.tensor([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0], [0.0, 2.0, 9.0]])
COUNTED = torch.tensor([[True] * 3, [True] * 3, [True, True, False]])
STD = math.sqrt((4 + 1 + 9) / 3)
EXPECTED = {
    grpo: [[-2 / STD, -1 / STD, 3 / STD], [0, 0, 0], [-1, 1, 0]],
    rloo: [[-3, -1.5, 4.5], [0, 0, 0], [-2, 2, 0]],
    dr_grpo: [[-2, -1, 3], [0, 0, 0], [-1, 1, 0]],
}


@pytest.mark.parametrize("module", EXPECTED)
def test_advantages_by_hand(module: Any) -> None:
    found = algorithm_of(module).relative(RETURNS, COUNTED)
    torch.testing.assert_close(found, torch.tensor(EXPECTED[module]).float())
    assert (found[1] == 0).all(), "exactly"


def test_reinforce_pp_has_one_mean_and_deviation_for_all_groups() -> None:
    found = algorithm_of(reinforce_pp).relative(RETURNS, COUNTED)
    values = RETURNS[COUNTED]
    expected = (values - values.mean()) / values.std(correction=0)
    torch.testing.assert_close(found[COUNTED], expected)
    assert found[2, 2] == 0
    equal = torch.full((2, 3), 0.1)
    assert (algorithm_of(reinforce_pp).relative(equal, equal > 0) == 0).all()


# -------------------------------------------------------------------------- gradients

REWARD = (1.0, -0.5, 0.25)


def expected_return(logits: Tensor) -> Tensor:
    return logits.softmax(-1) @ torch.tensor(REWARD)


def mean_gradient(algorithm: Any, size: int) -> Tensor:
    """The mean over all groups of a bandit's arms, weighed by their probability."""
    total = torch.zeros(3)
    probability = algorithm.model.logits.detach().softmax(-1)
    for arms in itertools.product(range(3), repeat=size):
        returns = torch.tensor([[REWARD[arm] for arm in arms]])
        advantage = algorithm.relative(returns, torch.ones(1, size, dtype=torch.bool))
        action = [[[arm]] for arm in arms]
        data = answers(algorithm, action, advantage[0].tolist())
        loss, _ = algorithm.loss(data)
        (gradient,) = torch.autograd.grad(loss, algorithm.model.logits)
        total += probability[list(arms)].prod() * gradient
    return total


@pytest.mark.parametrize("size", [2, 4])
def test_the_mean_gradient_on_a_bandit_is_that_of_the_expected_return(
    size: int,
) -> None:
    """RLOO's to rounding; with the return in its own baseline it is too small."""
    unbiased = algorithm_of(rloo)
    wanted = -torch.func.grad(expected_return)(unbiased.model.logits.detach())
    torch.testing.assert_close(mean_gradient(unbiased, size), wanted)
    plain = algorithm_of(dr_grpo, num_steps=1)
    shrunk = wanted * (size - 1) / size
    torch.testing.assert_close(mean_gradient(plain, size), shrunk)


# ------------------------------------------------------------------------------- loss


def moved(algorithm: Any, data: TensorDict) -> None:
    """Let the policy have moved from the one that acted."""
    data["log_prob"] -= torch.tensor([0.3, -0.1, 0.05]).expand_as(data["log_prob"])
    mask = algorithm.model.written(data["action"].flatten(0, 1))
    data["log_prob"] *= mask.view(data["log_prob"].shape)


ACTION = [[[1, 2, 0]], [[2, 0, 0]]]  # of three tokens and of two
RATIO = [[0.3, -0.1, 0.05], [0.3, -0.1]]  # logarithms
ADVANTAGE = [1.0, -2.0]


def gains(log_ratios: list[list[float]], low: float = 0.2, high: float = 0.2) -> Any:
    found = []
    for row, advantage in zip(log_ratios, ADVANTAGE, strict=True):
        ratios = [math.exp(x) for x in row]
        near = [min(max(ratio, 1 - low), 1 + high) for ratio in ratios]
        pairs = zip(ratios, near, strict=True)
        found.append([min(r * advantage, n * advantage) for r, n in pairs])
    return found


def loss_of(module: Any, **options: Any) -> float:
    algorithm = algorithm_of(module, Lettered(3), num_steps=1, **options)
    data = answers(algorithm, ACTION, ADVANTAGE)
    moved(algorithm, data)
    return algorithm.loss(data)[1]["policy_loss"].item()


def mean_of_means(rows: list[list[float]]) -> float:
    return sum(sum(row) / len(row) for row in rows) / len(rows)


def test_the_loss_of_tokens_by_hand() -> None:
    assert loss_of(grpo) == pytest.approx(-mean_of_means(gains(RATIO)))


def test_padding_has_no_part() -> None:
    algorithm = algorithm_of()
    data = answers(algorithm, [[[1], [2]], [[2], [1]]], [1.0, -2.0])
    alone = answers(algorithm, [[[1]], [[2]]], [1.0, -2.0])
    for each in (data, alone):
        each["log_prob"] -= 0.1
    data["valid"][:, 1] = False
    data["log_prob"][:, 1] = torch.nan
    data = algorithm.measured(data)
    for name, value in algorithm.loss(alone)[1].items():
        torch.testing.assert_close(algorithm.loss(data)[1][name], value)


def test_dapo_clips_wider_upwards_and_takes_all_tokens_alike() -> None:
    each = gains(RATIO, high=0.28)
    tokens = [gain for row in each for gain in row]
    assert loss_of(dapo) == pytest.approx(-sum(tokens) / 5)
    assert max(each[0]) == pytest.approx(1.28)


def test_dr_grpo_divides_by_a_constant() -> None:
    total = sum(sum(row) for row in gains(RATIO))
    assert loss_of(dr_grpo) == pytest.approx(-total / 2 / 3)


def test_gspo_has_the_geometric_mean_of_an_answers_ratios() -> None:
    means = [[sum(row) / len(row)] for row in RATIO]
    wide = gains(means)
    assert loss_of(gspo, clip_coef=0.2) == pytest.approx(-mean_of_means(wide))
    narrow = gains(means, 0.01, 0.01)
    assert loss_of(gspo) == pytest.approx(-mean_of_means(narrow))


def test_entropy_and_divergence_are_terms_of_the_loss() -> None:
    options = {"entropy_coef": 0.5, "kl_coef": 0.25}
    algorithm = algorithm_of(grpo, Lettered(3), **options)
    data = answers(algorithm, ACTION, ADVANTAGE)
    data["reference"] = data["log_prob"] + torch.tensor([0.3, -0.1, 0.05])
    loss, logs = algorithm.loss(data)
    k3 = [[math.exp(x) - 1 - x for x in row] for row in RATIO]
    assert logs["kl"].item() == pytest.approx(mean_of_means(k3), rel=1e-4)
    expected = logs["policy_loss"] - 0.5 * logs["entropy"] + 0.25 * logs["kl"]
    torch.testing.assert_close(loss, expected)
    assert logs["approx_kl"] == 0
    assert not any(metric.requires_grad for metric in logs.values())


# ----------------------------------------------------------------- what is learned from


def rollout_of(algorithm: Any, reward: list[list[float]], **changes: Any) -> TensorDict:
    """Two groups of three that end at once, in each of `T` steps."""
    size = len(reward), 6
    ends = torch.ones(size, dtype=torch.bool)
    step = torch.arange(len(reward)).unsqueeze(1).expand(size)
    log_prob = algorithm.model.evaluate_actions(None, torch.ones(6, 1).long())[0]
    entries = {
        "obs": torch.zeros(*size, 3),
        "action": torch.ones(*size, 1, dtype=torch.int64),
        "log_prob": log_prob.detach().expand(len(reward), 6, 1).clone(),
        "reward": torch.tensor(reward),
        "terminated": ends.clone(),
        "truncated": ~ends,
        "valid": ends.clone(),
        "begins": ends.clone(),
        "ends": ends.clone(),
        "episode": step.clone(),
    }
    return TensorDict({**entries, **changes}, list(size))


def test_groups_of_equal_returns_are_left_out_and_counted() -> None:
    algorithm = algorithm_of()
    rollout = rollout_of(algorithm, [[1, 1, 1, 0, 1, 0.0], [0, 0, 0, 2, 2, 2.0]])
    minibatches, logs = algorithm.begin(rollout)
    assert logs["grpo/informative_groups"] == 0.25
    assert logs["grpo/whole_episodes"] == 1
    assert len(minibatches.pieces) == 3
    assert minibatches.pieces["valid"].all()
    assert rollout["advantage"][1].tolist() == [0] * 6
    expected = torch.tensor([-0.5, 1, -0.5]) * math.sqrt(2)
    torch.testing.assert_close(rollout["advantage"][0, 3:], expected)
    assert rollout["returns"].tolist() == rollout["reward"].tolist()


def test_nothing_is_learned_where_no_group_differs() -> None:
    algorithm = algorithm_of()
    before = algorithm.model.logits.detach().clone()
    logs = update(algorithm, rollout_of(algorithm, [[1.0] * 6]))
    assert logs == {"grpo/informative_groups": 0, "grpo/whole_episodes": 1}
    assert algorithm.counters.learn_step == 0
    assert torch.equal(algorithm.model.logits, before)


def test_episodes_that_were_cut_have_no_part() -> None:
    algorithm = algorithm_of()
    rollout = rollout_of(algorithm, [[1, 2, 90, 4, 5, 6.0]])
    rollout["ends"][0, 2] = False
    minibatches, logs = algorithm.begin(rollout)
    assert rollout["advantage"][0, :3].tolist() == pytest.approx([-1, 1, 0], rel=1e-5)
    assert logs["grpo/whole_episodes"].item() == pytest.approx(5 / 6)
    assert len(minibatches.pieces) == 5


def test_a_group_is_played_by_one_policy() -> None:
    version = torch.zeros(1, 6, dtype=torch.int64)
    version[0, 1] = 3
    algorithm = algorithm_of()
    rollout = rollout_of(algorithm, [[1, 2, 3, 4, 5, 6.0]], policy_version=version)
    with pytest.raises(ValueError, match="several policies acted in one group"):
        algorithm.begin(rollout)
    beside = algorithm_of(collection="async")  # where a resumed run may have two
    minibatches, logs = beside.begin(rollout)
    assert len(minibatches.pieces) == 3
    assert logs["grpo/informative_groups"] == 0.5


def test_the_reference_is_asked_once_a_rollout_and_moved_by_its_sync() -> None:
    algorithm = algorithm_of(kl_coef=0.1)
    assert algorithm_of().reference is None
    algorithm.model.logits.data += torch.tensor([0.5, 0.0, 0.0])
    rollout = rollout_of(algorithm, [[1, 2, 3, 4, 5, 6.0]])
    own = algorithm.reference.evaluate_actions(None, torch.ones(6, 1).long())[0]
    pieces = algorithm.begin(rollout)[0].pieces
    assert torch.equal(pieces["reference"], own.unsqueeze(1))
    assert algorithm.loss(algorithm.measured(pieces))[1]["kl"] > 0
    update(algorithm, rollout)
    assert not algorithm.reference.logits.requires_grad
    assert not torch.equal(algorithm.reference.logits, algorithm.model.logits)
    assert algorithm.state_dict().keys() == {"model", "optimizer", "reference"}
    algorithm.sync_target()
    assert torch.equal(algorithm.reference.logits, algorithm.model.logits)
    pieces = algorithm.begin(rollout)[0].pieces
    assert algorithm.loss(algorithm.measured(pieces))[1]["kl"] == 0


# ----------------------------------------------------------------------------- training


def test_it_trains_on_groups_and_evaluates_without() -> None:
    trainer = trainer_of(grpo, **PENDULUM)
    assert isinstance(trainer.envs, GroupStarts)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
    assert len(logs) == 4 * 2 * 2
    assert logs[0]["grpo/informative_groups"] == 1
    assert logs[0]["approx_kl"] == pytest.approx(0, abs=1e-6)
    assert not any("value" in name for name in logs[0])
    assert not any(map(torch.equal, before, trainer.model.parameters()))
    assert not isinstance(trainer.evaluator.envs, GroupStarts)
    assert trainer.evaluate(3)["logs"]["episodes"] == 3


def shares(logs: Any) -> list[float]:
    """Of episodes that were whole, by rollout."""
    name = "grpo/whole_episodes"
    return [float(log["logs"][name]) for log in logs if name in log["logs"]]


def test_environments_without_a_state_lose_the_rollout_under_way_alone(
    tmp_path: Any,
) -> None:
    config = config_of(grpo, eval_every=0, **{**PENDULUM, "env_id": "Pendulum-v1"})
    trainer = grpo.Trainer(config)
    for log in trainer():
        if log["sample_step"] == 12:
            break
    trainer.save(tmp_path / "run.pt")
    resumed = list(grpo.Trainer.load(tmp_path / "run.pt")())
    assert shares(resumed) == [0, 1, 1, 1]
    assert max(log["logs"].get("episode_length", 8) for log in resumed) == 8


def test_a_step_that_was_interrupted_moves_no_round() -> None:
    """After its row was written: one rollout is lost."""
    trainer, calls = trainer_of(grpo, **PENDULUM), itertools.count()
    usual = trainer.agent.count_steps

    def interrupted(given: Any) -> None:
        if next(calls) == 5:
            raise KeyboardInterrupt
        usual(given)

    trainer.agent.count_steps = interrupted
    with pytest.raises(KeyboardInterrupt):
        list(trainer())
    lost, *others = shares(trainer())
    assert (lost, set(others)) == (0, {1})


class Spell(TorchVectorEnv):
    """Say the two numbers that you see; an answer is an episode, worth its share."""

    single_observation_space = Box(0, 1, (6,))
    single_action_space = MultiDiscrete([3, 3])
    noise_size = 2

    def initial_state(self, noise: Tensor) -> Tensor:
        return (3 * noise).floor()

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        right = (state == action.T).float().mean(0)
        return state, right, torch.ones_like(right, dtype=torch.bool)

    def observe(self, state: Tensor) -> Tensor:
        return nn.functional.one_hot(state.T.long(), 3).flatten(1).float()


LEVELS = [(grpo, {}), (dapo, {}), (grpo, {"ratio_level": "sequence"})]


@pytest.mark.parametrize(("module", "options"), LEVELS)
def test_answers_of_several_tokens_are_learned(module: Any, options: Any) -> None:
    """From one look at each prompt, by groups that see the same one."""
    config = config_of(module, **ANSWERS, **options)
    worlds = Spell(config.num_envs, max_episode_steps=1)
    trainer = module.Trainer(config, envs=worlds, model=Tokens)
    before = trainer.evaluate(64)["logs"]["episode_return"]
    for log in trainer():
        assert log["logs"].get("grpo/whole_episodes", 1) == 1
    assert before < 0.7
    assert trainer.evaluate(64)["logs"]["episode_return"] > 0.95


def test_chunks_count_as_far_as_they_were_executed() -> None:
    """CartPole falls in the middle of some; the rest of such a chunk has no part."""
    poles = gym.make_vec("yieldrl/CartPole-v1", num_envs=8, max_episode_steps=60)
    chunks = ActionChunks(poles, length=4)
    options = {"group_size": 4, "num_steps": 15, "total_steps": 120, "eval_every": 0}
    options["demonstration_steps"] = 0
    trainer = grpo.Trainer(grpo.Config(**options), envs=chunks, model=Tokens)
    assert trainer.envs.horizon == 15
    for log in trainer():
        if log["log_type"] == "train":
            break
    pieces = trainer.buffer.passes.pieces
    steps = pieces[pieces["valid"]]
    taken = tokens_taken(trainer.model, steps, steps["log_prob"])
    assert torch.equal(taken.flatten(1).sum(1), steps["num_steps"])
    assert 0 < (steps["num_steps"] < 4).sum() <= len(pieces), "only where they end"
    lengths = (pieces["num_steps"] * pieces["valid"]).sum(1)
    assert torch.equal(pieces["returns"][:, 0], lengths.float())


SUMS: dict[str, Any] = {"env_id": "yieldrl/Sums-v1", "env_kwargs": {"max_operand": 9}}
SUMS |= {"num_envs": 64, "demonstration_steps": 0, "eval_every": 0, "device": "cpu"}
SUMS |= {"threads": 1}


def test_answers_are_written_to_equal_prompts() -> None:
    config = grpo.Config(**SUMS, num_steps=1, total_steps=128, num_minibatches=1)
    trainer, returns = grpo.Trainer(config), []
    assert isinstance(trainer.model, TokenPolicy)
    for log in trainer():
        if log["log_type"] == "collect":
            returns.append(log["logs"]["episode_return"])
        if trainer.buffer.full and log["log_type"] == "collect":
            prompts = trainer.buffer.rollout()["obs", "prompt"].view(8, 8, -1)
            assert (prompts == prompts[:, :1]).all()
            assert len(prompts[:, 0].unique(dim=0)) > 1
    assert log["sample_step"] == 128
    assert len(returns) == 2, "the mean reward of every rollout is logged"


SMALL = {"d_model": 16, "num_layers": 1, "num_heads": 2}
WAY = {**SUMS, **SMALL, "demonstration_steps": 128, "clone_steps": 6, "kl_coef": 0.1}
WAY |= {"total_steps": 512, "num_epochs": 1}


class Even(SumsVectorEnv):
    """Sums that are worth their share of even bytes, so that all groups differ."""

    def grade(self, state: Any, answer: Tensor) -> Tensor:
        return (answer % 2 == 0).float().mean(1)


def on_the_way(**options: Any) -> Any:
    config = grpo.Config(**WAY | options)
    return grpo.Trainer(config, envs=Even(64, max_operand=9))


def test_sums_go_on_bitwise(tmp_path: Any) -> None:
    """While cloning, between rollouts, and between two minibatches."""
    expected = list(map(plain, on_the_way()()))
    assert len([log for log in expected if "kl" in log["logs"]]) == 6 * 4
    for stop in (3, 9, 12):
        envs = Even(64, max_operand=9)
        assert resumed(on_the_way(), stop, tmp_path, envs=envs) == expected


def test_the_clone_is_made_of_single_prompts_and_is_the_reference() -> None:
    trainer = on_the_way()
    assert not isinstance(trainer.cloning.envs, GroupStarts)
    for log in trainer():
        if log["logs"]["phase"] == 1.0:
            break
    assert trainer.cloning is None
    pairs = zip(
        trainer.model.parameters(),
        trainer.algorithm.reference.parameters(),
        strict=True,
    )
    assert all(torch.equal(own, kept) for own, kept in pairs)
    rate = trainer.config.learning_rate
    assert trainer.algorithm.learning_rate == rate
    trainer.algorithm.anneal(0.625)  # half way from 128 to 512 steps
    [group] = trainer.algorithm.optimizer.param_groups
    assert group["lr"] == pytest.approx(0.5 * rate)


def test_the_rate_rises_before_it_falls_and_is_never_zero() -> None:
    algorithm = on_the_way(warmup_share=0.5, learning_rate=0.6).algorithm
    assert algorithm.config.batch_size == 64
    rates = []
    for step in range(128, 512, 64):  # at the start of every rollout
        algorithm.anneal(step / 512)
        rates.append(algorithm.learning_rate)
    assert rates == pytest.approx([0.2, 1 / 3, 0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_first_step_says_how_far_learner_and_sampler_are(precision: Any) -> None:
    """Rounding, or what bfloat16 makes of it."""
    logs = [log["logs"] for log in on_the_way(precision=precision)()]
    gaps = [float(log["sampling_gap"]) for log in logs if "sampling_gap" in log]
    most = 1e-5 if precision == "float32" else 0.1
    assert len(gaps) == 6, "of four steps of each rollout the first"
    assert all(0 <= gap < most for gap in gaps)


def test_what_does_not_fit_is_said_at_construction() -> None:
    with pytest.raises(ValueError, match=r"num_envs = 12: .* = group_size"):
        grpo.Config(num_envs=12)
    for name in ("rollout_workers", "learners"):
        with pytest.raises(ValueError, match=rf"num_envs = 24: .* each of {name}"):
            grpo.Config(num_envs=24, collection="ray", **{name: 2})
    with pytest.warns(UserWarning, match="num_steps = 100: .* and may take 500"):
        grpo.Trainer(cartpole(num_steps=100))


@pytest.mark.slow
@pytest.mark.parametrize("module", [grpo, dr_grpo])
def test_it_learns_to_balance(module: Any) -> None:
    """Those that treat an episode of many steps in a way of their own."""
    trainer = module.Trainer(cartpole(module))
    for _ in trainer():
        pass
    assert trainer.evaluate(20)["logs"]["episode_return"] > 400


def test_the_gap_to_the_sampler_is_a_mean_over_tokens() -> None:
    algorithm = algorithm_of(grpo, Lettered(3))
    data = answers(algorithm, ACTION, ADVANTAGE)
    moved(algorithm, data)
    wanted = sum(abs(x) for row in RATIO for x in row) / 5
    assert algorithm.loss(data)[1]["sampling_gap"].item() == pytest.approx(wanted)


def test_a_policy_of_the_background_changes_only_between_rollouts() -> None:
    trainer, versions = trainer_of(grpo, **PENDULUM, collection="async"), []
    for log in trainer():
        if log["log_type"] == "train" and trainer.buffer.full:
            versions.append(trainer.buffer.rollout()["policy_version"].unique())
    assert all(len(version) == 1 for version in versions)
    assert len({int(version) for version in versions}) > 1
