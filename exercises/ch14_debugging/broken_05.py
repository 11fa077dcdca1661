"""PPO with rewards beside the observations that they came with."""

from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo


class Algorithm(ppo.Algorithm):
    """PPO whose rows hold `S_t`, `A_t` and `R_t`, as the book writes them."""

    def advantages(self, rollout: TensorDict) -> Tensor:
        """Advantages `[T, N]`; `R_t` is what came with `S_t`."""
        rows = rollout.copy()
        rows["reward"] = rollout["reward"].roll(1, dims=0)
        return super().advantages(rows)
