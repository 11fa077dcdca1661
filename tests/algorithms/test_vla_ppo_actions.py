"""Values of the actions of a chunk: their returns by hand, their part in the loss."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, MultiDiscrete
from tensordict import TensorDict
from token_policy import Tokens
from torch import Tensor, nn

from yieldrl.algorithms import vla_ppo_steady
from yieldrl.functional import returns_within

FIELDS: dict[str, Any] = {"chunk_length": 2, "ratio_level": "action"}
FIELDS |= {"value_per": "action", "gamma": 0.5, "demonstration_steps": 0}
FIELDS |= {"collection": "sync", "device": "cpu", "eval_every": 0}


class Valued(Tokens):
    """With a value of each of its `L` choices."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.critic = nn.Linear(8, self.length)

    def evaluate_each(self, obs: Any, action: Tensor) -> Any:
        log_prob, entropy, _ = self.evaluate_actions(obs, action)
        return log_prob, entropy, self.critic(self.body(obs).tanh())

    def get_value(self, obs: Any) -> Tensor:
        return self.critic(self.body(obs).tanh())[:, 0]


def algorithm(**options: Any) -> Any:
    torch.manual_seed(0)
    model = Valued(Box(-9, 9, (4,)), MultiDiscrete([2, 2]))
    config = vla_ppo_steady.Config(**{**FIELDS, **options})
    return vla_ppo_steady.Algorithm(model, config)


def rollout(own: Any) -> TensorDict:
    """Rewards 1 and 2, and then 4, after which the episode ends in mid-chunk."""
    obs, action = torch.randn(2, 4), torch.tensor([[0, 1], [1, 1]])
    with torch.no_grad():
        log_prob, _, value = own.model.evaluate_each(obs, action)
    data = {
        "obs": obs,
        "next_obs": obs.roll(-1, 0),
        "action": action,
        "log_prob": log_prob,
        "value": value[:, 0],
        "rewards": torch.tensor([[1.0, 2.0], [4.0, 0.0]]),
        "reward": torch.tensor([1 + 0.5 * 2, 4.0]),
        "discount": torch.tensor([0.25, 0.5]),
        "num_steps": torch.tensor([2, 1]),
        "terminated": torch.tensor([False, True]),
        "truncated": torch.tensor([False, False]),
    }
    return TensorDict(data, [2]).unsqueeze(1)


def test_an_action_is_judged_by_what_came_from_it_on() -> None:
    own = algorithm(gae_lambda=1.0, normalize_advantage=False)
    prepared = own.prepare(rollout(own)).flatten(0, 1)
    assert "rewards" not in set(prepared.keys())
    wanted = torch.tensor([[1 + 0.5 * 2 + 0.25 * 4, 2 + 0.5 * 4], [4.0, 0.0]])
    torch.testing.assert_close(prepared["action_returns"], wanted)
    said = own.model.evaluate_each(prepared["obs"], prepared["action"])[2].detach()
    assert torch.equal(prepared["action_value"], said)
    data = own.measured(prepared)
    torch.testing.assert_close(data["advantage"][:, 0], prepared["advantage"])
    torch.testing.assert_close(data["advantage"][0], (wanted - said)[0])
    assert data["actions"].tolist() == [1.5, 1.5]


@pytest.mark.parametrize("gae_lambda", [0.0, 0.9])
def test_inside_of_a_chunk_lambda_is_one(
    gae_lambda: float,
) -> None:
    """The first action's is GAE's of the chunk, with any lambda between chunks."""
    own = algorithm(gae_lambda=gae_lambda)
    prepared = own.prepare(rollout(own))
    assert torch.equal(prepared["action_returns"][..., 0], prepared["returns"])
    after = prepared["action_returns"][0, 0, 1]
    next_return = gae_lambda * 4 + (1 - gae_lambda) * prepared["value"][1, 0]
    torch.testing.assert_close(after, 2 + 0.5 * next_return)


def test_longer_chunks() -> None:
    rewards = torch.tensor([[1.0, 0.0, 3.0, 0.0]])  # three executed, and 8 after them
    found = returns_within(torch.tensor([1 + 0.25 * 3 + 0.125 * 8]), rewards, 0.5)
    assert found[0, :3].tolist() == [2.75, 0.5 * 3 + 0.25 * 8, 3 + 0.5 * 8]


def test_each_has_its_advantage_in_the_surrogate_and_its_return_in_the_value_loss() -> (
    None
):
    own = algorithm(normalize_advantage=False, decoupled=False, huber_delta=None)
    data = TensorDict(
        {
            "log_prob": torch.zeros(2, 2, 1),
            "advantage": torch.zeros(2),
            "num_steps": torch.tensor([2, 1]),
            "action_returns": torch.tensor([[3.0, 4.0], [4.0, 99.0]]),
            "action_value": torch.tensor([[1.0, 5.0], [3.0, 0.0]]),
        },
        [2],
    )
    data = own.measured(data)
    ratio = torch.tensor([[[1.1], [0.9]], [[1.0], [7.0]]], requires_grad=True)
    loss, _ = own.loss(data, (ratio.log(), torch.zeros(len(data)), None))
    assert float(loss.detach()) == pytest.approx(-(1.1 * 2 - 0.9 * 1 + 1.0 * 1) / 3)
    value = torch.tensor([[2.0, 4.0], [1.0, 5.0]], requires_grad=True)
    loss = own.value_loss(value, data)
    assert float(loss.detach()) == pytest.approx(0.5 * (1 + 0 + 9) / 3)
    (grad,) = torch.autograd.grad(loss, value)
    assert grad.flatten().tolist() == pytest.approx([-1 / 3, 0, -1, 0])
    torch.testing.assert_close(
        float(algorithm(huber_delta=1.0).value_loss(value, data).detach()),
        (0.5 + 0 + 2.5) / 3,
    )


def test_advantages_of_executed_actions_are_normalized() -> None:
    own = algorithm(decoupled=False)
    data = own.measured(own.prepare(rollout(own)).flatten(0, 1))
    even = torch.cat([data["advantage"][0], data["advantage"][1, :1]])
    assert float(even.mean()) == pytest.approx(0, abs=1e-6)
    assert float(even.std()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("level", ["action", "token"])
def test_micro_batches_give_the_step_of_the_whole_minibatch(level: str) -> None:
    weights = []
    for parts in (1, 2):
        own = algorithm(micro_batches=parts, ratio_level=level)
        data = own.prepare(rollout(own)).flatten(0, 1)
        data = torch.cat([data, data[:1]])
        own.model.double()
        own.optimizer = torch.optim.SGD(own.model.parameters(), lr=0.1)
        action, steps = data["action"], data["num_steps"]
        own.learn(data.double().set("action", action).set("num_steps", steps))
        flat = [p.detach().flatten() for p in own.model.parameters()]
        weights.append(torch.cat(flat))
    assert float((weights[0] - weights[1]).abs().max()) < 1e-9


TINY: dict[str, Any] = {
    "env_kwargs": {"height": 3, "width": 3, "num_objects": 1, "max_episode_steps": 4}
}
TINY |= {"model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}}
TINY |= {"num_envs": 8, "num_steps": 4, "num_epochs": 1, "num_minibatches": 2}
TINY |= {"total_steps": 64}


def test_the_tiny_model_learns_by_action() -> None:
    pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")
    config = vla_ppo_steady.Config(**{**FIELDS, **TINY})
    with vla_ppo_steady.Trainer(config) as run:
        logs = [log["logs"] for log in run() if log["log_type"] == "train"]
        obs, _ = run.evaluator.envs.reset(seed=0)
        said = run.agent.algorithm.model(obs)[2]
        values = run.model.evaluate_each(obs, run.model(obs)[0])[2]
    assert len(logs) > 2
    assert all(math.isfinite(v) for log in logs for v in log.values())
    assert values.shape == (len(said), 2)
    torch.testing.assert_close(values[:, 0], said)


def test_what_does_not_fit_is_refused() -> None:
    def config(**options: Any) -> Any:
        return vla_ppo_steady.Config(**{**FIELDS, **options})

    for options in ({"ratio_level": "chunk"}, {"chunk_length": 1}, {"gamma": 0.0}):
        with pytest.raises(ValueError, match="value_per = 'action'"):
            config(**options)
    own = algorithm()
    each = own.model.evaluate_each
    own.model.evaluate_each = lambda *of: (*each(*of)[:2], each(*of)[2][:, :1])
    with pytest.raises(ValueError, match="the model has one of a look: choose"):
        own.prepare(rollout(own))
