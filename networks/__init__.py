"""Parts of models: layers, observation encoders, distributions, normalization."""

from yieldrl.networks.accumulation import AccumulatedStep
from yieldrl.networks.averaging import averaged
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
from yieldrl.networks.gradient_step import GradientStep, Loss
from yieldrl.networks.history import GRU, History, WindowMLP
from yieldrl.networks.layers import MLP, orthogonal
from yieldrl.networks.learner import Learner
from yieldrl.networks.learning_mode import LearningMode, frozen_parts, set_train_mode
from yieldrl.networks.noisy import NoisyMLP, noise, noisy_layers
from yieldrl.networks.normalizer import ObservationNormalizer, RewardScaler
from yieldrl.networks.precision import Precision, in_precision
from yieldrl.networks.recurrent import LSTM, Memory
from yieldrl.networks.target import TargetUpdate

__all__ = [
    "GRU",
    "LSTM",
    "MLP",
    "AccumulatedStep",
    "Categorical",
    "DictEncoder",
    "Distribution",
    "EnsembleMLP",
    "Gaussian",
    "GradientStep",
    "History",
    "Learner",
    "LearningMode",
    "Loss",
    "Memory",
    "MultiCategorical",
    "NatureCNN",
    "NoisyMLP",
    "ObservationNormalizer",
    "Precision",
    "RewardScaler",
    "SquashedGaussian",
    "TargetUpdate",
    "WindowMLP",
    "action_size",
    "averaged",
    "frozen_parts",
    "in_precision",
    "make_distribution",
    "make_encoder",
    "noise",
    "noisy_layers",
    "orthogonal",
    "set_train_mode",
]
