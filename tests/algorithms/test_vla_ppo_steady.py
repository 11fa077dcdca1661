"""PPO for policies of many tokens, steadied: each part by hand, and turned off."""

import math
from functools import partial

import pytest
import torch
from factories import config_of, plain, step
from gymnasium.spaces import Box, MultiDiscrete
from tensordict import TensorDict
from token_policy import Tokens
from torch import nn

from yieldrl.algorithms import ppo, vla_ppo, vla_ppo_steady

from .test_vla_ppo import SMALL as COMMON
from .test_vla_ppo import algorithm as algorithm_of
from .test_vla_ppo import minibatch

SMALL = {**COMMON, "collection": "sync"}
OFF = {"clip_high": None, "dual_clip": None, "decoupled": False, "huber_delta": None}


algorithm = partial(algorithm_of, vla_ppo_steady, collection="sync")


def test_turned_off_it_is_vla_ppo_bitwise():
    runs = []
    for module, options in ((vla_ppo, {}), (vla_ppo_steady, OFF)):
        options |= {"collection": "sync", "ratio_level": "chunk"}
        own = algorithm_of(module, **options)
        runs.append([plain({"logs": own.learn(minibatch())}) for _ in range(3)])
    assert runs[0] == runs[1]


def test_two_bounds_and_a_third_where_the_advantage_is_negative():
    own = algorithm(clip_coef=0.2, clip_high=0.5, dual_clip=2.0)
    ratio = torch.tensor([0.5, 1.4, 1.6, 0.5, 1.6, 7.0])
    advantage = torch.tensor([2.0, 2.0, 2.0, -1.0, -1.0, -1.0])
    gain = own.surrogate(ratio, advantage)
    # 0.5 * 2, 1.4 * 2, (1 + 0.5) * 2; (1 - 0.2) * -1, 1.6 * -1, 2 * -1
    assert gain.tolist() == pytest.approx([1.0, 2.8, 3.0, -0.8, -1.6, -2.0])


def test_huber_grows_linearly_from_delta_on():
    data = TensorDict({"returns": torch.zeros(3), "value": torch.ones(3)}, [3])
    value = torch.tensor([0.5, 1.0, 3.0])
    # 0.5 e^2 up to 1, and then e - 0.5
    wanted = (0.125 + 0.5 + 2.5) / 3
    loss = algorithm(huber_delta=1.0).value_loss(value, data)
    assert float(loss) == pytest.approx(wanted)
    square = algorithm(huber_delta=None).value_loss(value, data)
    assert float(algorithm(huber_delta=9.0).value_loss(value, data)) == float(square)
    clipped = {"clip_value": 0.5}  # 1.5 is as far as 3 may go, 0.5 stays, 1 too
    own = algorithm(huber_delta=1.0, **clipped)
    moved = TensorDict({"returns": torch.full((1,), 4.0), "value": torch.ones(1)}, [1])
    assert float(own.value_loss(torch.tensor([3.0]), moved)) == 2.5 - 0.5


class TestDecoupled:
    def rollout(self, own):
        """Of `[T, N]` = `[2, 3]`, by a policy that gave all half of the odds."""
        data = minibatch(6).view(2, 3)
        data["log_prob"] = torch.full((2, 3, 3, 1), math.log(0.5))
        flags = {name: torch.zeros(2, 3, dtype=torch.bool) for name in ENDS}
        steps = {"next_obs": data["obs"].clone(), "reward": torch.ones(2, 3)}
        return TensorDict({**dict(data.items()), **flags, **steps}, [2, 3])

    def test_the_policy_of_now_is_asked_once_for_the_rollout(self):
        own = algorithm()
        prepared = own.prepare(self.rollout(own))
        flat = prepared.flatten(0, 1)
        said = own.model.evaluate_actions(flat["obs"], flat["action"])[0]
        assert torch.equal(flat["proximal"], said.detach())

    def test_its_ratio_is_clipped_and_the_other_one_a_weight(self):
        """Of one action: r = pi / pi_prox = 1.5, clipped at 1.2; pi_prox / mu = 0.6."""
        options = {"ratio_level": "chunk", "normalize_advantage": False}
        own = algorithm(clip_high=None, dual_clip=None, **options)
        data = TensorDict(
            {
                "log_prob": torch.full((1, 3, 1), math.log(0.5)),
                "proximal": torch.full((1, 3, 1), math.log(0.3)),
                "num_steps": torch.tensor([1]),
                "advantage": torch.tensor([2.0]),
            },
            [1],
        )
        now = torch.full((1, 3, 1), math.log(0.45))
        evaluated = now, torch.zeros(len(data)), None
        loss, logs = own.loss(own.measured(data), evaluated)
        assert float(loss) == pytest.approx(-0.6 * 1.2 * 2)
        kl = 1.5 - 1 - math.log(1.5)
        assert float(logs["approx_kl"]) == pytest.approx(kl, abs=1e-6)


ENDS = ("terminated", "truncated")


def test_at_first_the_critic_alone_learns():
    own = algorithm(critic_warmup_steps=2, decoupled=False)
    before = {k: p.detach().clone() for k, p in own.model.named_parameters()}
    grads = {k: p.requires_grad for k, p in own.model.named_parameters()}

    def moved():
        named = own.model.named_parameters()
        return {k.split(".")[0] for k, p in named if (p != before[k]).any()}

    for _ in range(2):
        step(own, minibatch())
        assert moved() == {"critic"}
    assert {k: p.requires_grad for k, p in own.model.named_parameters()} == grads
    step(own, minibatch())
    assert moved() == {"critic", "actor", "adapter"}


def test_a_critic_that_is_not_named_is_refused():
    config = config_of(vla_ppo_steady, **SMALL, critic_warmup_steps=1)
    with pytest.raises(ValueError, match="critic_warmup_steps = 1: which part is it"):
        vla_ppo_steady.Trainer(config, model=ppo.Model)


FIELDS = {"chunk_length": 2, "ratio_level": "action"}
FIELDS |= {"value_per": "action", "gamma": 0.5, "demonstration_steps": 0}
FIELDS |= {"collection": "sync", "device": "cpu", "eval_every": 0}


class Valued(Tokens):
    """With a value of each of its `L` choices."""

    def __init__(self, *args):
        super().__init__(*args)
        self.critic = nn.Linear(8, self.length)

    def evaluate_each(self, obs, action):
        log_prob, entropy, _ = self.evaluate_actions(obs, action)
        return log_prob, entropy, self.critic(self.body(obs).tanh())

    def get_value(self, obs):
        return self.critic(self.body(obs).tanh())[:, 0]


def by_action(**options):
    torch.manual_seed(0)
    model = Valued(Box(-9, 9, (4,)), MultiDiscrete([2, 2]))
    config = vla_ppo_steady.Config(**{**FIELDS, **options})
    return vla_ppo_steady.Algorithm(model, config)


def chunks_of(own):
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


def test_an_action_is_judged_by_what_came_from_it_on():
    own = by_action(gae_lambda=1.0, normalize_advantage=False)
    prepared = own.prepare(chunks_of(own)).flatten(0, 1)
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
def test_inside_of_a_chunk_lambda_is_one(gae_lambda):
    """The first action's is GAE's of the chunk, with any lambda between chunks."""
    own = by_action(gae_lambda=gae_lambda)
    prepared = own.prepare(chunks_of(own))
    assert torch.equal(prepared["action_returns"][..., 0], prepared["returns"])
    after = prepared["action_returns"][0, 0, 1]
    next_return = gae_lambda * 4 + (1 - gae_lambda) * prepared["value"][1, 0]
    torch.testing.assert_close(after, 2 + 0.5 * next_return)


def test_each_has_its_advantage_in_the_surrogate_and_its_return_in_the_value_loss():
    own = by_action(normalize_advantage=False, decoupled=False, huber_delta=None)
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
        float(by_action(huber_delta=1.0).value_loss(value, data).detach()),
        (0.5 + 0 + 2.5) / 3,
    )


def test_advantages_of_executed_actions_are_normalized():
    own = by_action(decoupled=False)
    data = own.measured(own.prepare(chunks_of(own)).flatten(0, 1))
    even = torch.cat([data["advantage"][0], data["advantage"][1, :1]])
    assert float(even.mean()) == pytest.approx(0, abs=1e-6)
    assert float(even.std()) == pytest.approx(1, abs=1e-4)


def test_micro_batches_give_the_step_of_the_whole_minibatch():
    weights = []
    for parts in (1, 2):
        own = by_action(micro_batches=parts)
        data = own.prepare(chunks_of(own)).flatten(0, 1)
        data = torch.cat([data, data[:1]])
        own.model.double()
        own.optimizer = torch.optim.SGD(own.model.parameters(), lr=0.1)
        action, steps = data["action"], data["num_steps"]
        own.learn(data.double().set("action", action).set("num_steps", steps))
        flat = [p.detach().flatten() for p in own.model.parameters()]
        weights.append(torch.cat(flat))
    assert float((weights[0] - weights[1]).abs().max()) < 1e-9


TINY = {
    "env_kwargs": {"height": 3, "width": 3, "num_objects": 1, "max_episode_steps": 4}
}
TINY |= {"model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}}
TINY |= {"num_envs": 8, "num_steps": 4, "num_epochs": 1, "num_minibatches": 2}
TINY |= {"total_steps": 64}


def test_the_tiny_model_learns_by_action():
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


def test_values_that_nobody_says_are_refused():
    def config(**options):
        return vla_ppo_steady.Config(**{**FIELDS, **options})

    for options in ({"ratio_level": "chunk"}, {"chunk_length": 1}, {"gamma": 0.0}):
        with pytest.raises(ValueError, match="value_per = 'action'"):
            config(**options)
    own = by_action()
    each = own.model.evaluate_each
    own.model.evaluate_each = lambda *of: (*each(*of)[:2], each(*of)[2][:, :1])
    with pytest.raises(ValueError, match="the model has one of a look: choose"):
        own.prepare(chunks_of(own))
