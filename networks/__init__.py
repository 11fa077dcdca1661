"""Parts of models: layers, observation encoders, distributions, normalization."""

from yieldrl.networks.distributions import (
    Categorical,
    Distribution,
    Gaussian,
    MultiCategorical,
    action_size,
    make_distribution,
)
from yieldrl.networks.encoder import Encoder, NatureCNN
from yieldrl.networks.layers import mlp, orthogonal
from yieldrl.networks.normalizer import ObservationNormalizer, RewardScaler

__all__ = [
    "Categorical",
    "Distribution",
    "Encoder",
    "Gaussian",
    "MultiCategorical",
    "NatureCNN",
    "ObservationNormalizer",
    "RewardScaler",
    "action_size",
    "make_distribution",
    "mlp",
    "orthogonal",
]
