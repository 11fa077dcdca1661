"""The mathematics of PPO for vision-language-action policies, steadied."""

from contextlib import nullcontext
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.algorithms import vla_ppo
from yieldrl.algorithms.rollouts import in_chunks
from yieldrl.algorithms.tokens import executed_mask, sum_executed
from yieldrl.core import Positive, StepsOrZero
from yieldrl.functional import clipped_surrogate, returns_within
from yieldrl.networks.train_mode import frozen


@dataclass(frozen=True, kw_only=True)
class Config(vla_ppo.Config):
    """PPO for vision-language-action policies, with a clip of two sides and a bound, a
    robust value loss, a critic that learns first, and a policy to stay near to that is
    not the one that acted. Each can be turned off. Values may be of single actions."""

    clip_high: Positive | None = 0.28
    """How far the ratio may rise above 1, where `clip_coef` says how far it may fall
    below. Higher lets unlikely actions become likely sooner; None is `clip_coef`."""

    dual_clip: Annotated[float, Field(ge=1, le=10**6)] | None = 3.0
    """The ratio up to which an action is made less likely where its advantage is
    negative. Lower keeps one that an old policy liked less from a large step; None is
    no bound."""

    decoupled: bool = True
    """Clip the ratio to the policy at the start of the update, and weigh actions by its
    ratio to the one that acted: then a policy that lags behind holds no step back. With
    collection='sync' both are one."""

    huber_delta: Positive | None = 10.0
    """Error of a value from which on its loss grows linearly and no more by its square,
    in units of returns. Lower listens less to rare large returns; None is the square
    everywhere."""

    critic_warmup_steps: StepsOrZero = 0
    """Gradient steps in the beginning in which the value head alone learns. More help
    where it is new beside a policy that is good already."""

    value_per: Literal["chunk", "action"] = "chunk"
    """Unit of the critic's values: a `chunk`, by whose return all its actions are
    judged; or each `action`, judged by what came from it on, for a ratio of actions or
    tokens. Cloning teaches the first one's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        chunks = self.ratio_level != "chunk" and self.chunk_length > 1
        fits = chunks and self.gamma > 0 and not self.normalize_reward
        if self.value_per == "action" and not fits:
            remedy = "have chunks, ratio_level='action' or 'token', gamma > 0, and"
            raise self.error("value_per", f"{remedy} normalize_reward=False")


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
        self.by_action = config.value_per == "action"
        groups = getattr(model, "parameter_groups", dict)()
        critic = {id(parameter) for parameter in groups.get("value", ())}
        self.others = [p for p in model.parameters() if id(p) not in critic]
        if config.critic_warmup_steps and not critic:
            remedy = "choose 0, or name it in the model's parameter_groups, as 'value'"
            raise config.error("critic_warmup_steps", f"which part is it? {remedy}")

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Add PPO's entries, and `proximal`, the `log_prob` by the policy of now; by
        action also `action_value` and `action_returns` `[T, N, L]`.

        Values in a chunk are of one look and know of none of its actions: there lambda
        is 1, so that what an action led to is counted.
        """
        data = super().prepare(rollout).exclude("rewards")
        if self.config.decoupled or self.by_action:
            data.update(in_chunks(self.proximal, self.model, data))
        if self.by_action:
            parts = data["returns"], rollout["rewards"], self.config.gamma
            data["action_returns"] = returns = returns_within(*parts)
            if data["action_value"].shape != returns.shape:
                remedy = "the model has one of a look: choose value_per='chunk'"
                raise self.config.error("value_per", remedy)
        return data

    def proximal(self, inputs: Any) -> dict[str, Tensor]:
        """By the policy of now, of actions `[B, ...]`."""
        log_prob, _, value = self.say(inputs["obs"], inputs["action"])
        values = {"action_value": value} if self.by_action else {}
        return {"proximal": log_prob, **values}

    def say(self, inputs: Any, action: Tensor) -> tuple[Tensor, ...]:
        """Evaluate actions `[B, ...]` by the policy, with values `[B]` or `[B, L]`."""
        model: Any = self.model
        ask = model.evaluate_each if self.by_action else model.evaluate_actions
        return ask(inputs, action)

    def measured(self, data: TensorDict) -> TensorDict:
        """The batch of vla_ppo; by action with the `advantage [B, L]` of each, and the
        mean number of `actions [B]`. Decoupled, `pi_prox / pi_behav A` stands for `A`.

        Hilton et al. 2021, "Batch size-invariance for policy optimization",
        arXiv:2110.00641, equation 5: the ratio that is clipped is then to `pi_prox`.
        """
        data = super().measured(data)
        if self.by_action:
            above = data["action_returns"] - data["action_value"]
            mask = executed_mask(above, data)
            data["advantage"] = above.masked_scatter(mask, self.normalized(above[mask]))
            data["actions"] = mask.sum(1).float().mean().expand(len(data))
        if not self.config.decoupled:
            return data
        now, acted = (sum_executed(data[k], data) for k in ("proximal", "log_prob"))
        rows = (-1, *[1] * (data["advantage"].ndim - 1))
        data["advantage"] = (now - acted).exp().view(rows) * data["advantage"]
        return data.set("log_prob", data["proximal"])

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """The loss of a minibatch `[B]`, and what to log of it."""
        if evaluated is None:
            evaluated = self.say(self.model.inputs(data), data["action"])
        return super().loss(data, evaluated)

    def surrogate(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The surrogate with a clip of two sides and a bound, to be maximised."""
        low, high = self.config.clip_coef, self.config.clip_high
        bounds = low, low if high is None else high, self.config.dual_clip
        return clipped_surrogate(ratio, advantage, *bounds)

    def value_loss(self, value: Tensor, data: TensorDict) -> Tensor:
        """Huber's loss of values, clipped if the config says so (Huber 1964); of values
        `[B, L]` the mean over executed actions."""
        if value.ndim > 1:
            # Of fixed shape, as to select would wait for a GPU: what was not executed
            # is its own target, and the rest is weighed up.
            mask, estimate = executed_mask(value, data), value.detach()
            names = {"returns": "action_returns", "value": "action_value"}
            targets = {k: data[x].where(mask, estimate) for k, x in names.items()}
            flat = TensorDict(targets, value.shape).flatten()
            share = data["actions"].mean() / value.shape[1]
            return self.value_loss(value.flatten(), flat) / share
        delta, clip = self.config.huber_delta, self.config.clip_value
        if delta is None:
            return super().value_loss(value, data)
        moved = value - data["value"]
        clipped = data["value"] + (moved if clip is None else moved.clamp(-clip, clip))
        loss = nn.HuberLoss(reduction="none", delta=delta)
        returns = data["returns"]
        return torch.maximum(loss(value, returns), loss(clipped, returns)).mean()

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`, at first of the critic alone."""
        warming = self.counters.learn_step < self.config.critic_warmup_steps
        with frozen(self.others) if warming else nullcontext():
            return super().learn(data)


class Trainer(vla_ppo.Trainer):
    """vla_ppo's, with steadier steps."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
