"""The one room that knows about compilers; all else is plain PyTorch.

What compiles is `torch.compile`, with its guards and its cache. Here is when that pays
(`Plan`) and what is one function (`CompiledStep`, `CompiledCall`).
"""

from yieldrl.speed.compiled_call import CompiledCall
from yieldrl.speed.compiled_step import CompiledStep
from yieldrl.speed.plan import Plan

__all__ = [
    "CompiledCall",
    "CompiledStep",
    "Plan",
]
