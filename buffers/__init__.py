"""Where transitions wait: rollouts for on-policy learning, replay for off-policy."""

from yieldrl.buffers.replay import ReplayBuffer
from yieldrl.buffers.returns import discounted_returns, gae
from yieldrl.buffers.rollout import RolloutBuffer

__all__ = ["ReplayBuffer", "RolloutBuffer", "discounted_returns", "gae"]
