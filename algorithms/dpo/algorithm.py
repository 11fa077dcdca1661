"""The mathematics of direct preference optimization.

Rafailov et al. 2023, "Direct Preference Optimization: Your Language Model is Secretly a
Reward Model", arXiv:2305.18290.
"""

import copy
from dataclasses import field
from typing import Any, ClassVar

import torch
from gymnasium.vector import VectorEnv
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import logsigmoid

from yieldrl.abstractions import Logs, Policy
from yieldrl.algorithms import grpo, ppo
from yieldrl.algorithms.behavior_cloning.cloned_first import CloningConfig
from yieldrl.algorithms.episode_rows import evaluate_steps, log_prob_of
from yieldrl.algorithms.tokens import in_rows, steps_of, tokens_taken
from yieldrl.buffers import EpisodeGroups, Minibatches
from yieldrl.core import BatchSize, LearningRate, Positive
from yieldrl.envs.names import find_function
from yieldrl.envs.wrappers import GroupStarts, JudgedReward


@dataclass(frozen=True, kw_only=True)
class Config(CloningConfig):
    """Direct preference optimization; the defaults clone an expert of sums for a
    moment, and learn from pairs of the clone's own answers in a minute."""

    uncompiled: ClassVar[str | None] = "episodes of every rollout have other lengths"
    critic_obs: ClassVar[tuple[str, ...]] = ()  # there is no critic
    num_minibatches: ClassVar[int] = 1  # `pairs_per_step` says
    clip_coef: ClassVar[float] = 0.0
    clip_value: ClassVar[None] = None
    target_kl: ClassVar[None] = None
    desired_kl: ClassVar[None] = None
    gae_lambda: ClassVar[float] = 1.0
    value_coef: ClassVar[float] = 0.0
    entropy_coef: ClassVar[float] = 0.0
    normalize_advantage: ClassVar[bool] = False
    normalize_reward: ClassVar[bool] = False
    anneal_learning_rate: ClassVar[bool] = False  # there is only one rollout

    env_id: str = "yieldrl/Sums-v1"
    """Id of a registered environment, in which episodes can begin in pairs."""

    env_kwargs: dict[str, Any] = field(default_factory=lambda: {"max_operand": 9})
    """Keyword arguments for the environment's constructor. Sums end at 9 + 9 here, not
    at 19 + 19 as elsewhere, so that one rollout has many answers to each of them."""

    total_steps: int = 16_384
    """Environment steps, the expert's and those of one rollout of answers, counted over
    all environments. With more, pairs are made anew by what has been learned, while the
    reference stays: DPO is then no longer offline (Guo et al. 2024,
    arXiv:2402.04792)."""

    num_envs: int = 8_192
    """Number of environments stepped side by side, an even one: two of them begin every
    episode together, and make a pair."""

    num_steps: int = 1
    """Steps that every environment takes for a rollout (T). Choose at least the longest
    episode's; what does not end in a rollout is not compared."""

    demonstration_steps: int = 8_192

    clone_steps: int | None = 100
    """Gradient steps of cloning. More make a better reference, of which pairs teach
    less: where both answers are right, nothing is preferred."""

    clone_batch_size: int = 64
    clone_warmup_steps: int = 50
    clone_learning_rate: float = 1e-3
    eval_episodes: int = 512  # right or wrong: a share of 0.9 has an error of 0.013

    judge: str = "reward"
    """Who compares the answers: `reward` is the environment's, of which a sum over the
    episode is taken; `my_module:function` scores actions, from observations `[N, ...]`
    and actions `[N, ...]` to numbers `[N]`."""

    beta: Positive = 1.0
    """How much reward a nat of divergence from the reference costs. Higher keeps closer
    to the reference; lower follows the pairs further, also where they mislead."""

    num_epochs: int = 10
    """Passes over the pairs of a rollout. More fit them more closely, and in the end
    also what is accidental about them."""

    pairs_per_step: BatchSize = 64
    """Pairs of each gradient step (of the largest, if they differ by one). More are
    less noisy and slower."""

    learning_rate: LearningRate = 1e-4
    """Learning rate of Adam. Higher learns faster, and makes all answers unlikely that
    are in no pair."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_envs % 2:
            raise self.error("num_envs", "two make a pair: choose an even number")


class Algorithm(ppo.Algorithm):
    """Make the better answer of a pair more likely, and the other one less.

    If `beta log(pi / reference)` is the reward of an answer, then `pi` is the best
    policy for that reward less `beta` times its divergence from the reference (equation
    4). So a policy is a reward model, and is fitted to preferences as one (Bradley &
    Terry 1952): there is nothing to sample, and no second model to learn.

    An answer is an episode, a row of `[B, 2, T]` steps with K tokens each; the better
    one of a pair comes first.

    Differs from the paper: where episodes have several steps, the reward is of all of
    them together, of which the environment's part cancels.
    """

    config: Config

    takes_ratio = False

    def __init__(self, model: Policy, config: Config) -> None:
        super().__init__(model, config)
        shared = {id(p): p for p in self.model.parameters() if not p.requires_grad}
        self.reference = copy.deepcopy(self.model, shared).requires_grad_(False)
        self.whole_pairs = 0  # of the latest rollout

    def make_optimizer(self) -> torch.optim.Optimizer:
        parameters, rate = self.model.parameters(), self.config.learning_rate
        return torch.optim.Adam(parameters, lr=rate, fused=True)

    def sync_target(self) -> None:
        """Bring the reference up to the model."""
        self.reference.load_state_dict(self.model.state_dict())

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """The pairs `[P, 2, T]` of a rollout `[T, N]`, and what the reference says.

        Pairs of equal returns say nothing, and are left out.
        """
        groups = EpisodeGroups.of(rollout, 2, self.config.gamma)
        self.whole_pairs = int(groups.whole.all(1).sum())
        pairs = groups.pairs(rollout.select("obs", "action", "num_steps", strict=False))
        if len(pairs) > 0:
            pairs["reference"] = log_prob_of(self.reference, pairs)
        return pairs

    def rollout_logs(self, rollout: TensorDict, data: TensorDict) -> Logs:
        """The number of pairs, and the share of pairs dropped for equal returns."""
        equal = 1 - len(data) / max(1, self.whole_pairs)
        return {"dpo/pairs": float(len(data)), "dpo/equal_pairs": equal}

    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """Epochs in random order over pairs `[P, 2, T]`."""
        config = self.config
        parts = -(-len(data) // config.pairs_per_step)
        return Minibatches(data, config.num_epochs, max(1, parts), seed)

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """Equation 7 for pairs `[B, 2, T]`, and what to log."""
        log_ratio = self.log_ratio(data)
        reward = self.config.beta * log_ratio.sum((2, 3))  # [B, 2]
        margin = reward[:, 0] - reward[:, 1]
        loss = -logsigmoid(margin).mean()
        with torch.no_grad():
            divergence = (log_ratio.exp() - 1 - log_ratio).sum((2, 3))  # estimator k3
            logs = {
                "accuracy": (margin > 0).float().mean(),
                "margin": margin.mean(),
                "chosen_reward": reward[:, 0].mean(),
                "rejected_reward": reward[:, 1].mean(),
                "kl": divergence.mean(),
            }
        logs = {"loss": loss, **logs, **self.model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}

    def log_ratio(self, data: TensorDict) -> Tensor:
        """`log(pi / reference)` of all tokens of pairs, `[B, 2, T, K]`, else 0."""
        valid, steps = data["valid"], steps_of(data)
        now, _ = evaluate_steps(self.model, steps)
        mask = in_rows(tokens_taken(self.model, steps, now), valid)
        return (in_rows(now, valid) - data["reference"]).where(mask, 0.0)


class Trainer(grpo.Trainer):
    """Clone an expert, let pairs of answers be judged, and learn from them."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
    informative_log = "dpo/pairs"

    _learns_in_step = False  # processes would drop different pairs

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Let the judge score actions, and pairs of environments begin together."""
        if not training:
            return envs
        if self.config.judge != "reward":
            judge = find_function("judge", self.config.judge, "(obs, action)")
            envs = JudgedReward(envs, judge)
        return GroupStarts(envs, 2, self.config.num_steps)
