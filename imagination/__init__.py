"""World models, and imagination: rollouts predicted by them."""

from yieldrl.imagination.config import ImaginationConfig, LatentConfig
from yieldrl.imagination.diagnostics import (
    ExploitationWatch,
    calibration_error,
    k_step_errors,
    outcome_errors,
)
from yieldrl.imagination.ensemble import EnsembleModel
from yieldrl.imagination.fitting import fit
from yieldrl.imagination.imagination import Imagination
from yieldrl.imagination.latent import LatentModel
from yieldrl.imagination.mirror import Mirror, make_mirror
from yieldrl.imagination.outcomes import (
    Outcome,
    OutcomeHead,
    RewardAndEnd,
    ThreeClasses,
    outcome_head,
)
from yieldrl.imagination.replayed import ReplayedImagination
from yieldrl.imagination.rollout import imagine, imagined_return
from yieldrl.imagination.symlog import TwoHot, symexp, symlog
from yieldrl.imagination.three_classes import (
    ENDED,
    GOES_ON,
    SUCCESS,
    BalancedClasses,
    class_weights,
    decode_reward_termination,
    encode_reward_termination,
    recall_of_ends,
)
from yieldrl.imagination.world_model import Prediction, WorldModel

__all__ = [
    "ENDED",
    "GOES_ON",
    "SUCCESS",
    "BalancedClasses",
    "EnsembleModel",
    "ExploitationWatch",
    "Imagination",
    "ImaginationConfig",
    "LatentConfig",
    "LatentModel",
    "Mirror",
    "Outcome",
    "OutcomeHead",
    "Prediction",
    "ReplayedImagination",
    "RewardAndEnd",
    "ThreeClasses",
    "TwoHot",
    "WorldModel",
    "calibration_error",
    "class_weights",
    "decode_reward_termination",
    "encode_reward_termination",
    "fit",
    "imagine",
    "imagined_return",
    "k_step_errors",
    "make_mirror",
    "outcome_errors",
    "outcome_head",
    "recall_of_ends",
    "symexp",
    "symlog",
]
