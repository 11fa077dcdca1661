"""Base of algorithms that learn from groups of episodes, such as GRPO."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import EpisodeGroups, Minibatches
from yieldrl.foundations import mean_of_all, ranks
from yieldrl.on_policy.algorithm import OnPolicyAlgorithm
from yieldrl.on_policy.episode_rows import counted
from yieldrl.on_policy.tokens import in_rows, tokens_taken
from yieldrl.runtime.acting_record import CHUNK


class GroupAlgorithm(OnPolicyAlgorithm):
    """Minibatches of whole episodes `[B, T]`, each of which is weighed as a whole.

    A subclass says what they are worth, by `prepare`, and has the loss. Its config has
    `group_size`, `num_epochs` and `num_minibatches`, beside those of cloning.
    """

    config: Any

    reads_next_obs = False

    def anneal(self, fraction_done: float) -> None:
        """Let the learning rate fall linearly, from the end of demonstrations on, after
        it rose over `warmup_share`: by the end of this rollout, so never from zero."""
        config = self.config
        rollout = config.batch_size * ranks().count / config.total_steps
        done, after = map(
            config.improved_share, (fraction_done, fraction_done + rollout)
        )
        rise = min(1.0, after / config.warmup_share) if config.warmup_share else 1.0
        super().anneal(1 - (1 - done) * rise)

    def rollout_logs(self, rollout: TensorDict, prepared: TensorDict) -> Logs:
        """Shares of complete episodes, and of groups whose returns differ."""
        groups = EpisodeGroups.of(rollout, self.config.group_size, self.config.gamma)
        differ = (groups.gathered(rollout["advantage"]) != 0).any(1)
        shares = {"whole_episodes": groups.whole, "informative_groups": differ}
        return {f"grpo/{k}": mean_of_all(x.flatten()) for k, x in shares.items()}

    def passes(self, prepared: TensorDict, seed: int) -> Minibatches:
        """Epochs in random order over episodes `[E, T]`."""
        config = self.config
        return Minibatches(prepared, config.num_epochs, config.num_minibatches, seed)

    def learn_from(self, minibatches: Minibatches, learn: Any) -> Logs:
        """Let `learn` take the gradient step that is due; a rollout's first one alone
        logs `sampling_gap`, for later the policy has moved."""
        first = minibatches.position == 0
        logs = super().learn_from(minibatches, learn)
        return logs if first else {k: v for k, v in logs.items() if k != "sampling_gap"}

    def measured(self, data: TensorDict) -> TensorDict:
        """A minibatch `[B, T]` with the `mask [B, T, K]` of tokens that count, and what
        its parts would not know: how many `episodes`, `steps` and `tokens` do."""
        valid = data["valid"]
        steps = data[valid]
        taken = in_rows(tokens_taken(self.model, steps, steps["log_prob"]), valid)
        return counted(data, taken & data["used"].unsqueeze(2))


def evaluate_steps(model: Policy, steps: TensorDict) -> tuple[Tensor, Tensor]:
    """`log_prob` and `entropy` of steps `[S]` by the model, `[S, ...]` each."""
    return model.evaluate_actions(model.inputs(steps), steps["action"])[:2]


def log_prob_of(model: Policy, rows: TensorDict) -> Tensor:
    """Log-probabilities of the tokens of episodes `[..., T]`, `[..., T, K]`."""
    valid = rows["valid"]
    parts = [evaluate_steps(model, steps)[0] for steps in rows[valid].split(CHUNK)]
    return in_rows(torch.cat(parts), valid)
