"""The mathematics of PPO for policies whose actions are many tokens."""

from collections.abc import Generator, Mapping
from typing import Any, ClassVar, Literal

import torch
from gymnasium import Space
from gymnasium.vector import VectorEnv
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import LogData, Logs, Policy
from yieldrl.algorithms import ppo
from yieldrl.algorithms.behavior_cloning import cloned_first
from yieldrl.algorithms.tokens import executed_mask, sum_executed
from yieldrl.core import Coefficient, Count, LearningRate
from yieldrl.envs.wrappers import ActionChunks
from yieldrl.vla import VLAPolicy
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.parameter_groups import optimizer_groups


@dataclass(frozen=True, kw_only=True)
class Config(VLAConfig, cloned_first.CloningConfig):
    """PPO for vision-language-action policies; the defaults train a tiny one, with
    weights of its own, on yieldrl/GoTo-v1 seen as images with its instruction: it
    clones an expert, then it goes on by itself."""

    uncompiled: ClassVar[str | None] = "libraries of large models compile their own"
    precision: ClassVar[str] = "float32"  # the model's own is `dtype`
    actor_obs: ClassVar[tuple[str, ...]] = ()  # it reads what `observation_keys` says
    critic_obs: ClassVar[tuple[str, ...]] = ()

    env_id: str = "yieldrl/GoToPixels-v1"
    """Id of a registered environment with images, or whose observations
    `observation_keys` names."""

    total_steps: int = 60_000

    num_envs: int = 64

    collection: Literal["sync", "async", "ray"] = "async"

    num_steps: int = 16
    """Chunks of actions that every environment executes for a rollout (T)."""

    num_epochs: int = 4
    num_minibatches: int = 8

    learning_rate: float = 1e-4
    """Learning rate of AdamW at the start. Pretrained models take less, 1e-5 say;
    higher learns faster, too high forgets what was known before."""

    value_learning_rate: LearningRate | None = None
    """Learning rate of the value head, which can take more where the model around it is
    pretrained. By default `learning_rate`."""

    adapter_learning_rate: LearningRate | None = None
    """Learning rate of low-rank adapters, which can take more than the weights that
    they stand for. By default `learning_rate`."""

    weight_decay: Coefficient = 0.0
    """Share of every weight that AdamW takes away per step, times the learning rate.
    Higher keeps weights smaller."""

    ratio_level: Literal["token", "action", "chunk"] = "chunk"
    """Unit of the clipped probability ratio: `chunk`, all executed tokens of a
    decision together, as in PPO's theory; `action`, those of an action; `token`, each
    of them. Smaller parts leave long chunks of many numbers less clipped."""

    micro_batches: Count = 1
    """Parts in which a minibatch goes through the model. More take less memory and
    more time, for the same step."""

    normalize_reward: bool = False
    """Divide rewards by the running standard deviation of the return. It is off so that
    the critic goes on with the returns that cloning taught it; turn it on where rewards
    are much larger than 1."""

    entropy_coef: float = 0.0  # a bonus makes a good clone forget

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio_level != "chunk" and self.log_prob_per != "token":
            raise self.error(
                "ratio_level",
                "the ratio of a token needs its log-probability: choose 'chunk', or"
                " log_prob_per='token'",
            )


class Model(VLAPolicy):
    """The vision-language-action policy that a config describes."""

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        spaces = observation_space, action_space
        model = VLAPolicy.from_config(*spaces, config).model
        super().__init__(*spaces, model, **config.policy_options())


class Algorithm(ppo.Algorithm):
    """PPO with one ratio per token, one per action, or one per chunk of actions.

    A policy may tell the log-probability of every token, `[B, L, D]`: of `D` numbers of
    each of a chunk's `L` actions. Tokens of actions that were not executed, because the
    episode ended or the next look came first, have no part in the ratio, nor in the
    entropy. A policy that tells one number, `[B]`, is trained as PPO trains it.
    """

    config: Config

    def make_optimizer(self) -> torch.optim.Optimizer:
        return adamw(self.model, self.config)

    def anneal(self, fraction_done: float) -> None:
        """Let learning rates fall linearly, from the end of the demonstrations on."""
        super().anneal(self.config.improved_share(fraction_done))

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        return super().learn(self.measured(data))

    def measured(self, data: TensorDict) -> TensorDict:
        """A minibatch `[B]` with what micro batches would not take alike: normalised
        advantages and `parts [B]`, the mean number of ratios of a decision."""
        data = data.copy()
        data["advantage"] = self.normalized(data["advantage"])
        _, executed = self.parts(data["log_prob"], data)
        count = executed.view(len(data), -1).sum(1).float().mean()
        return data.set("parts", count.expand(len(data)))

    def parts(self, log_prob: Tensor, data: TensorDict) -> tuple[Tensor, Tensor]:
        """Log-probabilities of what has a ratio, and whether it was executed, bool.

        Of chunks `[B]`, of actions `[B, L]`, of tokens `[B, L, D]`.
        """
        level = self.config.ratio_level
        if level == "chunk" or log_prob.ndim == 1:
            whole = sum_executed(log_prob, data)
            return whole, torch.ones_like(whole, dtype=torch.bool)
        parts = log_prob.flatten(2).sum(2) if level == "action" else log_prob
        return parts, executed_mask(parts, data)

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """PPO's, with a ratio for each part of a decision that was executed.

        All parts have the advantage of their decision, and count alike. The entropy is
        that of executed tokens; `approx_kl` is of whole decisions at all levels,
        `clip_fraction` of the ratios.
        """
        config, model = self.config, self.model
        if evaluated is None:
            evaluated = model.evaluate_actions(model.inputs(data), data["action"])
        log_prob, entropy, value = evaluated
        now, executed = self.parts(log_prob, data)
        before, _ = self.parts(data["log_prob"], data)
        log_ratio = (now - before).where(executed, 0.0)
        ratio = log_ratio.exp()
        advantage = data["advantage"]  # [B], or of each action, [B, L]
        advantage = advantage.view(*advantage.shape, *[1] * (now.ndim - advantage.ndim))
        share = executed / data["parts"].view(-1, *[1] * (now.ndim - 1))

        def mean(values: Tensor) -> Tensor:
            return values.reshape(len(values), -1).sum(1).mean()  # over decisions

        policy_loss = -mean(share * self.surrogate(ratio, advantage))
        entropy = sum_executed(entropy, data).mean()
        loss = policy_loss - config.entropy_coef * entropy
        logs = {"policy_loss": policy_loss, "entropy": entropy}
        if value is not None:
            value_loss = logs["value_loss"] = self.value_loss(value, data)
            loss = loss + config.value_coef * value_loss
        with torch.no_grad():
            logs["approx_kl"] = mean(ratio - 1 - log_ratio)
            logs["clip_fraction"] = mean(share * ((ratio - 1).abs() > config.clip_coef))
        logs = {"loss": loss, **logs, **model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}


def adamw(model: Any, config: Any) -> torch.optim.AdamW:
    """AdamW, with a learning rate for each of a model's parameter groups.

    ValueError if a group that the model does not have is given a rate.
    """
    options = {"eps": 1e-5, "weight_decay": config.weight_decay, "fused": True}
    return torch.optim.AdamW(optimizer_groups(model, config), **options)


class Trainer(ppo.Trainer):
    """Behaviour cloning and PPO, one after the other, on one model."""

    config: Config
    config_class = Config
    model_class = Model
    policy_class = Policy  # what a model in its place must be
    algorithm_class = Algorithm

    def __init__(self, config: Any = None, **parts: Any) -> None:
        super().__init__(config, **parts)
        self.cloning = cloned_first.make_cloning(self)

    def __call__(self) -> Generator[LogData, None, None]:
        """Clone demonstrations first, if there are any; then train."""
        return cloned_first.clone_first(self, super().__call__)

    def update(self, rollout: TensorDict) -> Logs:
        cloned_first.check_cloned(self)
        return super().update(rollout)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "cloning": cloned_first.cloning_state(self)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        cloned_first.load_state(self, state, super().load_state_dict)

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Environments that take `chunk_length` actions at once."""
        return in_chunks(envs, self.config)


def in_chunks(envs: VectorEnv, config: Any) -> VectorEnv:
    """Environments that take `chunk_length` actions at once."""
    if config.chunk_length == 1:
        return envs
    each = {"each_reward": getattr(config, "value_per", "chunk") == "action"}
    options = {"execute": config.execute_steps, "gamma": config.gamma, **each}
    return ActionChunks(envs, config.chunk_length, **options)
