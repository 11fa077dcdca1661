"""Rainbow's network: two streams of distributions through noisy layers."""

from __future__ import annotations

from collections.abc import Sequence

from yieldrl.algorithms import c51, dueling_dqn
from yieldrl.networks import NoisyMLP

from .config import Config


class Model(c51.Model, dueling_dqn.Model):
    """C51's atoms for every action, from the dueling streams, by noisy layers.

    Differs from the paper: the convolutions' last layer, of 512 features, has no noise.
    """

    config: Config

    def make_mlp(self, sizes: Sequence[int]) -> NoisyMLP:
        return NoisyMLP(sizes, "relu", sigma=self.config.noise_sigma)
