"""The mathematics of GRPO for vision-language-action policies, imagined too."""

import torch
from tensordict import TensorDict

from yieldrl.algorithms import vla_grpo
from yieldrl.functional import discounted_returns
from yieldrl.imagination.imagining import ImaginesToo
from yieldrl.on_policy.group_algorithm import log_prob_of

from .config import Config


class Algorithm(ImaginesToo, vla_grpo.Algorithm):
    """GRPO of episodes that were played, and of branches that a model of the world
    foresees.

    A group is `group_size` branches from one real state, whichever step of its episode
    that is. Steps after the first predicted end count for nothing, and neither does
    what may come after the horizon: there is no critic.
    """

    config: Config

    reads_next_obs = True  # the world model learns from it

    def starts(self) -> TensorDict:
        """A real transition for each group."""
        return self.experience.sample(
            self.config.num_branches // self.config.group_size
        )

    def states(self, starts: TensorDict) -> TensorDict:
        """Their first states, each as often as a group is large."""
        size, chosen = self.config.group_size, super().states(starts)
        return chosen[torch.arange(len(chosen)).repeat_interleave(size)]

    def rows(self, prepared: TensorDict) -> TensorDict:
        return prepared

    def worth(self, segment: TensorDict) -> TensorDict:
        """The branches `[B, H]` of groups whose discounted returns differ."""
        ends = segment["terminated"], segment["truncated"]
        nothing = torch.zeros_like(segment["reward"])
        returns = discounted_returns(
            segment["reward"], nothing, *ends, segment["discount"]
        )[0].view(-1, self.config.group_size)
        advantage = self.relative(returns, torch.ones_like(returns, dtype=torch.bool))
        kept = (advantage != 0).any(1, keepdim=True).expand(advantage.shape).flatten()
        branches = segment.transpose(0, 1)[kept]
        spread = advantage.flatten()[kept].unsqueeze(1).expand(branches.shape)
        branches["advantage"], branches["used"] = spread.clone(), branches["valid"]
        if self.reference is not None and len(branches) > 0:
            branches["reference"] = log_prob_of(self.reference, branches)
        return branches
