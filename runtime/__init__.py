"""Execution of learning: gradient steps, precision, compilation, processes.

Algorithms say `minimize(loss, batch)`; what that takes is decided here.
"""

from yieldrl.runtime.accumulation import AccumulatedStep
from yieldrl.runtime.acting_record import ActingRecord
from yieldrl.runtime.agent_base import AgentBase
from yieldrl.runtime.averaging import averaged
from yieldrl.runtime.gradient_step import GradientStep, Loss
from yieldrl.runtime.learner import Learner
from yieldrl.runtime.learning_mode import LearningMode, frozen
from yieldrl.runtime.precision import Precision, in_precision
from yieldrl.runtime.runtime import Runtime

__all__ = [
    "AccumulatedStep",
    "ActingRecord",
    "AgentBase",
    "GradientStep",
    "Learner",
    "LearningMode",
    "Loss",
    "Precision",
    "Runtime",
    "averaged",
    "frozen",
    "in_precision",
]
