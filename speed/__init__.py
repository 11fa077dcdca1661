"""The one room that knows about compilers: `torch.compile`, its guards and its cache.

Here is when it pays (`Plan`), and a function under it (`CompiledCall`).
"""

from yieldrl.foundations.foreign_names import moved_names
from yieldrl.speed.compiled_call import CompiledCall
from yieldrl.speed.plan import Plan

__all__ = [
    "CompiledCall",
    "Plan",
]

__getattr__ = moved_names(__name__, {"CompiledStep": "yieldrl.runtime.CompiledStep"})
