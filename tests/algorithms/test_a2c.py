"""A2C: the paper's numbers, its place as a special case of PPO, and that it learns."""

import copy

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tensordict import TensorDict
from torch import nn

from yieldrl.algorithms import a2c, ppo

PLAIN = {"normalize_reward": False, "entropy_coef": 0.02, "value_coef": 0.6}
SMALL = {"num_envs": 2, "num_steps": 5, "eval_every": 0, "total_steps": 60}
ENV = {"env_id": "yieldrl/CartPole-v1"}  # one that can be saved and restored
ONCE = {"num_epochs": 1, "num_minibatches": 1, "normalize_advantage": False}


def plain(log):
    return {**log, "logs": {k: float(v) for k, v in log["logs"].items()}}


def algorithm_of(**kwargs):
    config = a2c.Config(**{**PLAIN, **kwargs})
    torch.manual_seed(0)
    return a2c.Algorithm(a2c.Model(Box(-1, 1, (3,)), Discrete(3), config), config)


def rollout_of(steps=5, envs=4):
    generator = torch.Generator().manual_seed(1)
    obs = torch.randn(steps + 1, envs, 3, generator=generator)
    data = {
        "obs": obs[:-1],
        "next_obs": obs[1:].clone(),
        "reward": torch.randn(steps, envs, generator=generator),
        "action": torch.randint(3, (steps, envs), generator=generator),
        "terminated": torch.zeros(steps, envs, dtype=torch.bool),
        "truncated": torch.zeros(steps, envs, dtype=torch.bool),
    }
    return TensorDict(data, [steps, envs])


def gradients(algorithm, data):
    loss, _ = algorithm.loss(data)
    return torch.autograd.grad(loss, list(algorithm.model.parameters()))


def test_returns_are_those_of_algorithm_s3():
    """R <- 0 or V(s_t); from the last step back, R <- r_i + gamma R."""
    algorithm, rollout = algorithm_of(gamma=0.9), rollout_of()
    rollout["terminated"][2, 0] = rollout["truncated"][1, 1] = True
    rollout["next_obs"][1, 1] = torch.tensor([5.0, -5.0, 5.0])
    with torch.no_grad():
        following = algorithm.model.value(rollout["next_obs"].flatten(0, 1)).view(5, 4)
    expected = torch.empty(5, 4)
    for n in range(4):
        future = following[4, n]
        for t in reversed(range(5)):
            if rollout["terminated"][t, n]:
                future = torch.zeros(())
            if rollout["truncated"][t, n]:
                future = following[t, n]
            future = expected[t, n] = rollout["reward"][t, n] + 0.9 * future
    prepared = algorithm.prepare(rollout)
    torch.testing.assert_close(prepared["returns"], expected)
    torch.testing.assert_close(
        prepared["advantage"], expected - prepared["value"], rtol=1e-4, atol=1e-6
    )


def test_nothing_is_remembered_of_the_policy():
    assert "log_prob" not in algorithm_of().prepare(rollout_of()).keys()  # noqa: SIM118


def test_the_gradient_is_that_of_ppos_first_step():
    """Huang et al. 2022: with one pass the ratio is 1, and the clip never acts."""
    child = algorithm_of()
    config = ppo.Config(**PLAIN, **ONCE, gae_lambda=1.0)
    parent = ppo.Algorithm(copy.deepcopy(child.model), config)
    agent = ppo.Agent(parent, config)
    agent.acted_version = agent.policy_version
    data = parent.prepare(agent.annotated(rollout_of())).flatten(0, 1)
    for mine, its in zip(gradients(child, data), gradients(parent, data), strict=True):
        assert mine.abs().sum() > 0
        torch.testing.assert_close(mine, its, rtol=1e-5, atol=1e-7)
    # At a second step on the same data the policy has moved, and they part.
    for algorithm in (child, parent):
        with torch.no_grad():
            algorithm.model.actor.layers[2].weight.mul_(50)
    pairs = zip(gradients(child, data), gradients(parent, data), strict=True)
    assert not all(torch.allclose(mine, its, rtol=1e-2) for mine, its in pairs)


def test_ppo_with_one_pass_and_this_optimizer_trains_the_same_network():
    class Once(ppo.Algorithm):
        def make_optimizer(self):
            return a2c.Algorithm.make_optimizer(self)  # pyright: ignore

    class OnceTrainer(ppo.Trainer):
        algorithm_class = Once

    settings = {**SMALL, **PLAIN, "gae_lambda": 1.0, "learning_rate": 2e-3}
    child = a2c.Trainer(a2c.Config(**settings))
    its = OnceTrainer(ppo.Config(**settings, **ONCE))
    first = copy.deepcopy(child.model)
    for trainer in (child, its):
        list(trainer())
        assert trainer.agent.learn_step == 6
    trio = zip(*(m.parameters() for m in (first, child.model, its.model)), strict=True)
    for before, mine, wanted in trio:
        assert not torch.equal(before, mine)
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-6)


def test_the_parts_of_the_loss():
    algorithm = algorithm_of()
    data = algorithm.prepare(rollout_of()).flatten(0, 1)
    loss, logs = algorithm.loss(data)
    parts = logs["policy_loss"] + 0.6 * logs["value_loss"] - 0.02 * logs["entropy"]
    assert loss.item() == pytest.approx(parts.item(), rel=1e-6)
    log_prob, _, value = algorithm.model.evaluate_actions(data["obs"], data["action"])
    by_hand = -(log_prob * data["advantage"]).mean()
    assert logs["policy_loss"].item() == pytest.approx(by_hand.item(), rel=1e-6)
    error = 0.5 * (value - data["returns"]).square().mean()
    assert logs["value_loss"].item() == pytest.approx(error.item(), rel=1e-6)


def test_advantages_can_be_normalized():
    algorithm = algorithm_of(normalize_advantage=True)
    data = algorithm.prepare(rollout_of()).flatten(0, 1)
    small = gradients(algorithm, data)[0]
    data["advantage"] = 3 + 1000 * data["advantage"]
    torch.testing.assert_close(gradients(algorithm, data)[0], small)


def test_the_step_is_rmsprops():
    """Equations S2 and S3: g <- alpha g + (1 - alpha) d^2, theta -= eta d / sqrt(g)."""
    algorithm = algorithm_of(learning_rate=0.1)
    before = [p.clone() for p in algorithm.model.parameters()]
    direction = [torch.full_like(p, 2.0) for p in algorithm.model.parameters()]
    square = 0.0
    for step in range(1, 3):
        for parameter, gradient in zip(
            algorithm.model.parameters(), direction, strict=True
        ):
            parameter.grad = gradient.clone()
        algorithm.optimizer.step()
        square = 0.99 * square + 0.01 * 4
        moved = 0.1 * 2 / (square**0.5 + 1e-5)
        for new, old in zip(algorithm.model.parameters(), before, strict=True):
            torch.testing.assert_close(old - new, torch.full_like(new, moved))
        before = [nn.Parameter(p.clone()) for p in algorithm.model.parameters()]
        assert step in (1, 2)


def test_one_gradient_step_a_rollout():
    logs = list(a2c.Trainer(a2c.Config(**SMALL))())
    trained = [log["sample_step"] for log in logs if log["log_type"] == "train"]
    assert trained == [10, 20, 30, 40, 50, 60]


def test_breaking_out_and_resuming_change_nothing(tmp_path):
    config = a2c.Config(**SMALL, **ENV)
    through = list(map(plain, a2c.Trainer(config)()))
    for stop in (3, 5, 6, 20):  # within a rollout, before and after a gradient step
        trainer, pieces = a2c.Trainer(config), []
        for log in trainer():
            pieces.append(plain(log))
            if len(pieces) == stop:
                break
        resumed = a2c.Trainer.load(trainer.save(tmp_path / "run.pt"))
        assert pieces + list(map(plain, resumed())) == through
        assert pieces + list(map(plain, trainer())) == through


@pytest.mark.slow
def test_it_learns_to_balance():
    trainer = a2c.Trainer(a2c.Config(total_steps=60_000, eval_every=0))
    untrained = trainer.evaluate(20)["logs"]["episode_return"]
    for _ in trainer():
        pass
    assert untrained < 150
    assert trainer.evaluate(20)["logs"]["episode_return"] > 400
