"""PPO for policies of many tokens, steadied: each part by hand, and turned off."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from factories import plain, step
from gymnasium.spaces import Box, MultiDiscrete
from tensordict import TensorDict
from token_policy import Tokens

from yieldrl.algorithms import ppo, vla_ppo, vla_ppo_steady

from .test_vla_ppo import SMALL as COMMON
from .test_vla_ppo import minibatch

SMALL = {**COMMON, "collection": "sync"}
OFF = {"clip_high": None, "dual_clip": None, "decoupled": False, "huber_delta": None}


def algorithm(module: Any = vla_ppo_steady, **options: Any) -> Any:
    """Of a policy of chunks of 3 choices between 2."""
    torch.manual_seed(0)
    model = Tokens(Box(-9, 9, (4,)), MultiDiscrete([2, 2, 2]))
    return module.Algorithm(model, module.Config(**SMALL, chunk_length=3, **options))


@pytest.mark.parametrize("level", ["token", "chunk"])
def test_turned_off_it_is_vla_ppo_bitwise(level: str) -> None:
    runs = []
    for module, options in ((vla_ppo, {}), (vla_ppo_steady, OFF)):
        own = algorithm(module, **options, ratio_level=level)
        runs.append([plain({"logs": own.learn(minibatch())}) for _ in range(3)])
    assert runs[0] == runs[1]


def test_two_bounds_and_a_third_where_the_advantage_is_negative() -> None:
    own = algorithm(clip_coef=0.2, clip_high=0.5, dual_clip=2.0)
    ratio = torch.tensor([0.5, 1.4, 1.6, 0.5, 1.6, 7.0])
    advantage = torch.tensor([2.0, 2.0, 2.0, -1.0, -1.0, -1.0])
    gain = own.surrogate(ratio, advantage)
    # 0.5 * 2, 1.4 * 2, (1 + 0.5) * 2; (1 - 0.2) * -1, 1.6 * -1, 2 * -1
    assert gain.tolist() == pytest.approx([1.0, 2.8, 3.0, -0.8, -1.6, -2.0])


def test_huber_grows_linearly_from_delta_on() -> None:
    data = TensorDict({"returns": torch.zeros(3), "value": torch.ones(3)}, [3])
    value = torch.tensor([0.5, 1.0, 3.0])
    # 0.5 e^2 up to 1, and then e - 0.5
    wanted = (0.125 + 0.5 + 2.5) / 3
    assert float(algorithm(huber_delta=1.0).value_loss(value, data)) == pytest.approx(
        wanted
    )
    square = algorithm(huber_delta=None).value_loss(value, data)
    assert float(algorithm(huber_delta=9.0).value_loss(value, data)) == float(square)
    clipped = {"clip_value": 0.5}  # 1.5 is as far as 3 may go, 0.5 stays, 1 too
    own = algorithm(huber_delta=1.0, **clipped)
    moved = TensorDict({"returns": torch.full((1,), 4.0), "value": torch.ones(1)}, [1])
    assert float(own.value_loss(torch.tensor([3.0]), moved)) == 2.5 - 0.5


class TestDecoupled:
    def rollout(self, own: Any) -> TensorDict:
        """Of `[T, N]` = `[2, 3]`, by a policy that gave all half of the odds."""
        data = minibatch(6).view(2, 3)
        data["log_prob"] = torch.full((2, 3, 3, 1), math.log(0.5))
        flags = {name: torch.zeros(2, 3, dtype=torch.bool) for name in ENDS}
        steps = {"next_obs": data["obs"].clone(), "reward": torch.ones(2, 3)}
        return TensorDict({**dict(data.items()), **flags, **steps}, [2, 3])

    def test_the_policy_of_now_is_asked_once_for_the_rollout(self) -> None:
        own = algorithm()
        prepared = own.prepare(self.rollout(own))
        flat = prepared.flatten(0, 1)
        said = own.model.evaluate_actions(flat["obs"], flat["action"])[0]
        assert torch.equal(flat["proximal"], said.detach())

    @pytest.mark.parametrize("level", ["token", "chunk"])
    def test_its_ratio_is_clipped_and_the_other_one_a_weight(self, level: str) -> None:
        """Of one action: r = pi / pi_prox = 1.5, clipped at 1.2; pi_prox / mu = 0.6."""
        options = {"ratio_level": level, "normalize_advantage": False}
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

    def test_where_the_policy_of_now_acted_nothing_changes(self) -> None:
        runs = []
        for decoupled in (False, True):
            fields = {**SMALL, **OFF, "decoupled": decoupled}
            config = vla_ppo_steady.Config(**fields)
            run = vla_ppo_steady.Trainer(config, model=ppo.Model)
            runs.append([plain(log)["logs"] for log in run()])
        for one, other in zip(*runs, strict=True):
            assert one == pytest.approx(other, rel=1e-3, abs=1e-5)


ENDS = ("terminated", "truncated")


def test_at_first_the_critic_alone_learns() -> None:
    own = algorithm(critic_warmup_steps=2, decoupled=False)
    before = {k: p.detach().clone() for k, p in own.model.named_parameters()}
    grads = {k: p.requires_grad for k, p in own.model.named_parameters()}

    def moved() -> set[str]:
        named = own.model.named_parameters()
        return {k.split(".")[0] for k, p in named if (p != before[k]).any()}

    for _ in range(2):
        step(own, minibatch())
        assert moved() == {"critic"}
    assert {k: p.requires_grad for k, p in own.model.named_parameters()} == grads
    step(own, minibatch())
    assert moved() == {"critic", "actor", "adapter"}


def test_a_critic_that_is_not_named_is_refused() -> None:
    config = vla_ppo_steady.Config(**SMALL, critic_warmup_steps=1)
    with pytest.raises(ValueError, match="critic_warmup_steps = 1: which part is it"):
        vla_ppo_steady.Trainer(config, model=ppo.Model)
