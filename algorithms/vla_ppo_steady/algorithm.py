"""The mathematics of PPO for vision-language-action policies, steadied."""

from contextlib import nullcontext
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.algorithms import vla_ppo
from yieldrl.algorithms.vla_ppo.algorithm import joint
from yieldrl.functional import clipped_gain
from yieldrl.runtime import frozen
from yieldrl.runtime.acting_record import CHUNK

from .config import Config


class Algorithm(vla_ppo.Algorithm):
    """PPO with a clip of two sides and a bound, near to a policy that may be
    another than acted; with a robust value loss, and a critic that may learn first.

    Raises:
        ValueError: If the critic is to learn first in a model that does not say by its
            `parameter_groups` what the critic is.
    """

    config: Config

    def __init__(self, model: Any, config: Config) -> None:
        super().__init__(model, config)
        groups = getattr(model, "parameter_groups", dict)()
        critic = {id(parameter) for parameter in groups.get("value", ())}
        self.others = [p for p in model.parameters() if id(p) not in critic]
        if config.critic_warmup_steps and not critic:
            remedy = "choose 0, or name it in the model's parameter_groups, as 'value'"
            raise config.error("critic_warmup_steps", f"which part is it? {remedy}")

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """As PPO, and `proximal`, the `log_prob` by the policy of now."""
        prepared = super().prepare(rollout)
        if not self.config.decoupled:
            return prepared
        obs = self.model.inputs(prepared).flatten(0, 1).split(CHUNK)
        action = prepared["action"].flatten(0, 1).split(CHUNK)
        parts = zip(obs, action, strict=True)
        said = torch.cat([self.model.evaluate_actions(*part)[0] for part in parts])
        return prepared.set("proximal", said.unflatten(0, prepared.batch_size))

    def measured(self, data: TensorDict) -> TensorDict:
        """As vla_ppo; decoupled, with `pi_prox / pi_behav A` for the advantage.

        Hilton et al. 2021, "Batch size-invariance for policy optimization",
        arXiv:2110.00641, equation 5: the ratio that is clipped is then to `pi_prox`.
        """
        data = super().measured(data)
        if not self.config.decoupled:
            return data
        near, acted = (joint(data[name], data) for name in ("proximal", "log_prob"))
        data["advantage"] = (near - acted).exp() * data["advantage"]
        return data.set("log_prob", data["proximal"])

    def gain(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The surrogate with a clip of two sides and a bound, to be maximised."""
        low, high = self.config.clip_coef, self.config.clip_high
        bounds = low, low if high is None else high, self.config.dual_clip
        return clipped_gain(ratio, advantage, *bounds)

    def value_loss(self, value: Tensor, data: TensorDict) -> Tensor:
        """Huber's loss of values, clipped if the config says so (Huber 1964)."""
        delta, clip = self.config.huber_delta, self.config.clip_value
        if delta is None:
            return super().value_loss(value, data)
        moved = value - data["value"]
        near = data["value"] + (moved if clip is None else moved.clamp(-clip, clip))
        loss = nn.HuberLoss(reduction="none", delta=delta)
        returns = data["returns"]
        return torch.maximum(loss(value, returns), loss(near, returns)).mean()

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`, at first of the critic alone."""
        warming = self.counters.learn_step < self.config.critic_warmup_steps
        with frozen(self.others) if warming else nullcontext():
            return super().learn(data)
