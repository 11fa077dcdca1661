"""Execution of learning: gradient steps, precision, compilation, processes.

Algorithms say `minimize(loss, batch)`; what that takes is decided here.
"""

from yieldrl.runtime.accumulation import AccumulatedStep, JointStep
from yieldrl.runtime.gradient_step import GradientStep, Loss, averaged
from yieldrl.runtime.runtime import Precision, Runtime, in_precision

__all__ = [
    "AccumulatedStep",
    "GradientStep",
    "JointStep",
    "Loss",
    "Precision",
    "Runtime",
    "averaged",
    "in_precision",
]
