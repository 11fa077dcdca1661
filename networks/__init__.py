"""Parts of models: layers, observation encoders, distributions, normalization."""

from yieldrl.networks.compiled import CompiledStep
from yieldrl.networks.distributions import (
    Categorical,
    Distribution,
    Gaussian,
    MultiCategorical,
    action_size,
    make_distribution,
)
from yieldrl.networks.encoder import DictEncoder, NatureCNN, make_encoder
from yieldrl.networks.layers import MLP, orthogonal
from yieldrl.networks.normalizer import ObservationNormalizer, RewardScaler

__all__ = [
    "MLP",
    "Categorical",
    "CompiledStep",
    "DictEncoder",
    "Distribution",
    "Gaussian",
    "MultiCategorical",
    "NatureCNN",
    "ObservationNormalizer",
    "RewardScaler",
    "action_size",
    "make_distribution",
    "make_encoder",
    "orthogonal",
]
