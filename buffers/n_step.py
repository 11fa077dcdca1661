"""A replay buffer that samples n-step transitions."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import pad

from yieldrl.buffers.replay import ReplayBuffer
from yieldrl.functional import n_step_returns


class NStepReplayBuffer(ReplayBuffer):
    """A replay buffer of single steps, sampled as n-step transitions.

    Sutton 1988, "Learning to Predict by the Methods of Temporal Differences"; without
    off-policy correction, as here, Hessel et al. 2018, arXiv:1710.02298. A sample that
    begins at step t holds

    - `reward`: `r_t + gamma r_{t+1} + ... + gamma^(k-1) r_{t+k-1}`,
    - `next_obs`, `terminated` and `truncated` of its last step, `t + k - 1`,
    - `discount`: `gamma^k`, or the product of the transitions' own discounts,

    with k = n, or less if the episode ends before. The latest n - 1 rows cannot be
    sampled yet.

    Args:
        args: The arguments of `ReplayBuffer`, as are `kwargs`.
        n_step: `n`, at least 1 and at most the rows that the capacity holds.
        kwargs: See `args`.
    """

    def __init__(self, *args: Any, n_step: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not 1 <= n_step <= self.rows:
            raise ValueError(
                f"n_step = {n_step}: choose at least 1 and at most the {self.rows} rows"
                f" of {self.num_envs} environments that the capacity holds"
            )
        self.horizon = n_step
        self._sample_bytes += 64 * n_step  # temporary positions, flags and rewards
        self._steps = torch.arange(n_step, device=self.device)
        powers = [self.gamma**k for k in range(n_step + 1)]
        self._discounts = torch.tensor(powers, dtype=torch.float32, device=self.device)

    def _gather(self, index: Tensor) -> TensorDict:
        storage = self._storage
        # [B, n]: consecutive rows of the same environment.
        path = (index.unsqueeze(1) + self._steps * self.num_envs) % self.capacity
        ended = (storage["terminated"] | storage["truncated"]).flatten()[path]
        discount = self._discounts  # [n + 1]
        if "discount" in storage:
            product = storage["discount"].flatten()[path].cumprod(1)
            discount = pad(product, (1, 0), value=1.0)  # [B, n + 1]
        reward = storage["reward"].flatten()[path]
        returns, next_discount, length = n_step_returns(reward, ended, discount)
        last = path.gather(1, length.unsqueeze(1) - 1).squeeze(1)
        later = {"next_obs": last, "terminated": last, "truncated": last}
        batch = storage.gather(index, later)
        batch["reward"], batch["discount"] = returns, next_discount
        return batch
