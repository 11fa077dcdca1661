"""The mathematics of direct preference optimization.

Rafailov et al. 2023, "Direct Preference Optimization: Your Language Model is Secretly a
Reward Model", arXiv:2305.18290.
"""

import copy
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import logsigmoid

from yieldrl.abstractions import Logs, Policy
from yieldrl.algorithms import ppo
from yieldrl.buffers import EpisodeGroups, Minibatches
from yieldrl.on_policy import in_rows, tokens_taken
from yieldrl.on_policy.episode_rows import evaluate_steps, log_prob_of

from .config import Config


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
        pairs = groups.pairs(rollout.select("obs", "action", "num_steps", strict=False))
        if len(pairs) > 0:
            pairs["reference"] = log_prob_of(self.reference, pairs)
        return pairs

    def rollout_logs(self, rollout: TensorDict, data: TensorDict) -> Logs:
        """The number of pairs, and the share of pairs dropped for equal returns."""
        groups = EpisodeGroups.of(rollout, 2, self.config.gamma)
        whole = groups.whole.all(1).sum()
        equal = 1 - len(data) / whole.clamp(min=1)
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
        valid = data["valid"]
        steps = data[valid]
        now, _ = evaluate_steps(self.model, steps)
        mask = in_rows(tokens_taken(self.model, steps, now), valid)
        return (in_rows(now, valid) - data["reference"]).where(mask, 0.0)
