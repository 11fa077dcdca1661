"""Rainbow's network: two streams of distributions through noisy layers."""

from collections.abc import Sequence

from yieldrl.algorithms import c51, dueling_dqn
from yieldrl.networks import NoisyMLP

from .config import Config


class Model(c51.Model, dueling_dqn.Model):
    """C51's atoms for every action, from the dueling streams, by noisy layers.

    Only the streams are noisy. What they share is not, as in the paper, whose streams
    share convolutions.

    Differs from the paper: behind the convolutions, both streams share 512 features.
    """

    config: Config

    def make_mlp(self, sizes: Sequence[int]) -> NoisyMLP:
        return NoisyMLP(sizes, "relu", sigma=self.config.noise_sigma)
