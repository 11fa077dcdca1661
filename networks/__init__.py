"""Parts of models: layers, observation encoders, distributions, normalization."""

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
from yieldrl.networks.history import GRU, History, WindowMLP
from yieldrl.networks.layers import MLP, ActionCritic, orthogonal
from yieldrl.networks.noisy import NoisyMLP, noise, noisy_layers
from yieldrl.networks.normalizer import ObservationNormalizer, RewardScaler, RunningMean
from yieldrl.networks.recurrent import LSTM, Memory
from yieldrl.networks.state_index import StateIndex
from yieldrl.networks.target import TargetUpdate
from yieldrl.networks.train_mode import (
    drops_or_norms_batches,
    frozen_parts,
    set_train_mode,
    train_mode_concern,
)

__all__ = [
    "GRU",
    "LSTM",
    "MLP",
    "ActionCritic",
    "Categorical",
    "DictEncoder",
    "Distribution",
    "EnsembleMLP",
    "Gaussian",
    "History",
    "Memory",
    "MultiCategorical",
    "NatureCNN",
    "NoisyMLP",
    "ObservationNormalizer",
    "RewardScaler",
    "RunningMean",
    "SquashedGaussian",
    "StateIndex",
    "TargetUpdate",
    "WindowMLP",
    "action_size",
    "drops_or_norms_batches",
    "frozen_parts",
    "make_distribution",
    "make_encoder",
    "noise",
    "noisy_layers",
    "orthogonal",
    "set_train_mode",
    "train_mode_concern",
]
