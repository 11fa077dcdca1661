"""The one room that knows about compilers: `torch.compile`, its guards and its cache.

Here is when it pays (`Plan`) and what is one function (the other two).
"""

from yieldrl.speed.compiled_call import CompiledCall
from yieldrl.speed.compiled_step import CompiledStep
from yieldrl.speed.plan import Plan

__all__ = [
    "CompiledCall",
    "CompiledStep",
    "Plan",
]
