"""World models, and imagination: rollouts predicted by them."""

from yieldrl.imagination.config import ImaginationConfig, LatentConfig
from yieldrl.imagination.decoders import Decoder, make_decoder
from yieldrl.imagination.diagnostics import (
    ExploitationWatch,
    calibration_error,
    k_step_errors,
    outcome_errors,
)
from yieldrl.imagination.ensemble import EnsembleModel, fit
from yieldrl.imagination.imagination import Imagination, ReplayedImagination
from yieldrl.imagination.latent import LatentModel
from yieldrl.imagination.outcomes import (
    ENDED,
    GOES_ON,
    SUCCESS,
    BalancedClasses,
    Outcome,
    OutcomeHead,
    RewardAndEnd,
    ThreeClasses,
    TwoHot,
    class_weights,
    decode_reward_termination,
    encode_reward_termination,
    outcome_head,
    recall_of_ends,
    symexp,
    symlog,
)
from yieldrl.imagination.rollout import Prediction, WorldModel, imagine, imagined_return

__all__ = [
    "ENDED",
    "GOES_ON",
    "SUCCESS",
    "BalancedClasses",
    "Decoder",
    "EnsembleModel",
    "ExploitationWatch",
    "Imagination",
    "ImaginationConfig",
    "LatentConfig",
    "LatentModel",
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
    "make_decoder",
    "outcome_errors",
    "outcome_head",
    "recall_of_ends",
    "symexp",
    "symlog",
]
