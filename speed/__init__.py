"""The one room that knows about compilers and short cuts; all else is plain PyTorch.

Nothing here changes a result beyond rounding, and nothing here is needed:
`CompiledStep` stands in for `GradientStep`, and `ArrayPolicy` for `predict`.
"""

from yieldrl.speed.array_policy import ArrayPolicy
from yieldrl.speed.compiled_step import CompiledStep

__all__ = ["ArrayPolicy", "CompiledStep"]
