"""Parts of models: layers, observation encoders, distributions, normalization."""

from yieldrl.networks.compiled import CompiledStep
from yieldrl.networks.distributions import (
    Categorical,
    Distribution,
    Gaussian,
    MultiCategorical,
    SquashedGaussian,
    action_size,
    make_distribution,
)
from yieldrl.networks.encoder import DictEncoder, NatureCNN, make_encoder
from yieldrl.networks.ensemble import EnsembleMLP
from yieldrl.networks.layers import MLP, orthogonal
from yieldrl.networks.noisy import NoisyMLP, noise, noisy_layers
from yieldrl.networks.normalizer import ObservationNormalizer, RewardScaler
from yieldrl.networks.recurrent import LSTM, Memory
from yieldrl.networks.shortcut import Shortcut

__all__ = [
    "LSTM",
    "MLP",
    "Categorical",
    "CompiledStep",
    "DictEncoder",
    "Distribution",
    "EnsembleMLP",
    "Gaussian",
    "Memory",
    "MultiCategorical",
    "NatureCNN",
    "NoisyMLP",
    "ObservationNormalizer",
    "RewardScaler",
    "Shortcut",
    "SquashedGaussian",
    "action_size",
    "make_distribution",
    "make_encoder",
    "noise",
    "noisy_layers",
    "orthogonal",
]
