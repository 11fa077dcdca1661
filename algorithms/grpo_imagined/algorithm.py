"""The mathematics of GRPO for vision-language-action policies, imagined too."""

import torch
from pydantic.dataclasses import dataclass
from tensordict import TensorDict

from yieldrl.algorithms import vla_grpo
from yieldrl.algorithms.episode_rows import log_prob_of
from yieldrl.buffers import selected
from yieldrl.functional import discounted_returns
from yieldrl.imagination.config import WorldModelConfig
from yieldrl.imagination.imagining import ImaginationSchedule, PolicyImagination


@dataclass(frozen=True, kw_only=True)
class Config(WorldModelConfig, vla_grpo.Config):
    """GRPO for vision-language-action policies beside a model of the world; the
    defaults let a tiny one, on a small grid, go on from a weak clone."""

    total_steps: int = 20_000  # what is imagined does not count

    num_branches: int = 512
    """Branches that are imagined at a time, a multiple of `group_size`: so many from
    each real state. More give steadier updates, and take more time."""

    gamma: float = 0.95
    """Discount of rewards in returns. Below 1 a success counts for more the earlier it
    comes, in a horizon too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_branches % self.group_size:
            whole = f"choose a multiple of {self.group_size}"
            raise self.error("num_branches", f"a group would not be whole: {whole}")


class Algorithm(PolicyImagination, vla_grpo.Algorithm):
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
        count = self.config.num_branches // self.config.group_size
        return self.experience.sample(count)

    def states(self, starts: TensorDict) -> TensorDict:
        """Their first states, each as often as a group is large."""
        size, chosen = self.config.group_size, super().states(starts)
        order = torch.arange(len(chosen), device=chosen["step"].device)
        return chosen[order.repeat_interleave(size)]

    def rows(self, data: TensorDict) -> TensorDict:
        return data

    def worth(self, segment: TensorDict) -> TensorDict:
        """The branches `[B, H]` of groups whose discounted returns differ."""
        ends = segment["terminated"], segment["truncated"]
        nothing = torch.zeros_like(segment["reward"])
        played = segment["reward"], nothing, *ends, segment["discount"]
        returns = discounted_returns(*played)[0].view(-1, self.config.group_size)
        advantage = self.relative(returns, torch.ones_like(returns, dtype=torch.bool))
        kept = (advantage != 0).any(1, keepdim=True).expand(advantage.shape).flatten()
        rows = segment.transpose(0, 1).contiguous()
        rows["advantage"] = advantage.flatten().unsqueeze(1).expand(rows.shape).clone()
        branches = selected(rows, kept)
        branches["used"] = branches["valid"]
        if self.reference is not None and len(branches) > 0:
            branches["reference"] = log_prob_of(self.reference, branches)
        return branches


class Trainer(ImaginationSchedule, vla_grpo.Trainer):
    """Clone an expert; then learn a model of the world and a policy side by side."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
