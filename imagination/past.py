"""What is remembered of real episodes between rollouts."""

import torch
from tensordict import TensorDict
from torch import Tensor, nn


class Past(nn.Module):
    """How far episodes are, `ages [N]`, and how often a rollout was `refreshed`."""

    ages: Tensor
    refreshed: Tensor

    def __init__(self, num_envs: int) -> None:
        super().__init__()
        self.register_buffer("ages", torch.zeros(num_envs, dtype=torch.int64))
        self.register_buffer("refreshed", torch.zeros((), dtype=torch.int64))

    def follow(self, rollout: TensorDict) -> Tensor:
        """The number of each step in its episode, `[T, N]` int64, of the next rollout.

        >>> flags = {"terminated": torch.tensor([[False], [True], [False]])}
        >>> flags["truncated"] = torch.zeros(3, 1, dtype=torch.bool)
        >>> past = Past(1)
        >>> [past.follow(TensorDict(flags, [3, 1])).flatten().tolist() for _ in "ab"]
        [[0, 1, 0], [1, 2, 0]]
        """
        goes_on = ~(rollout["terminated"] | rollout["truncated"])
        goes_on = goes_on & rollout.get("valid", goes_on)
        ages: list[Tensor] = []
        for row in goes_on:
            ages.append(self.ages.clone())
            self.ages.copy_((self.ages + 1) * row)
        return torch.stack(ages)

    def forget(self) -> None:
        """Episodes begin anew with the next rollout."""
        self.ages.zero_()
