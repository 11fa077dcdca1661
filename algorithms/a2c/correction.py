"""What is done about actions of an older policy: in A2C, a weight of the gradient.

A2C takes one step from where it is, so theta is pi, and no surrogate limits how far it
goes. What is left of a correction is the factor of `A grad log pi(a | s)`:

    none    1
    clip    min(1, pi / mu)
    gipo    exp(-0.5 (log(pi / mu) / sigma)^2) pi / mu
    vtrace  min(1, pi / mu), which its advantages already have; they and the returns are
            those of pi, over the rest of the rollout too
"""

from __future__ import annotations

from torch import Tensor

from yieldrl.algorithms.ppo import correction


class Truncated(correction.Clip):
    """`clip`: an action weighs `min(1, pi / mu)`.

    "1-step importance sampling" of Espeholt et al. 2018, arXiv:1802.01561, section
    5.2.2, truncated as in V-trace with `rho_bar = 1`. Advantages and returns are those
    of the behaviour that was seen.
    """

    def surrogate(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The weighed advantages `[B]`."""
        return ratio.clamp(max=1.0) * advantage


CORRECTIONS = {**correction.CORRECTIONS, "clip": Truncated}
"""What `Config.correction` stands for; the ratio of those that start anew is 1."""
