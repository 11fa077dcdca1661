"""The one room that knows about compilers and short cuts; all else is plain PyTorch.

Nothing here changes a result beyond rounding, and nothing here is needed:
`CompiledStep` stands in for `GradientStep` where a `Plan` says that it pays,
`CompiledCall` for a function that acts, and `ArrayPolicy` for `predict`. How much is
rounded `in_precision` leaves to the config.
"""

from yieldrl.speed.array_policy import ArrayPolicy
from yieldrl.speed.compiled_call import CompiledCall
from yieldrl.speed.compiled_step import CompiledStep
from yieldrl.speed.plan import Mode, Plan
from yieldrl.speed.precision import Precision, in_precision

__all__ = [
    "ArrayPolicy",
    "CompiledCall",
    "CompiledStep",
    "Mode",
    "Plan",
    "Precision",
    "in_precision",
]
