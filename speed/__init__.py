"""The one room that knows about compilers: `torch.compile`, its guards and its cache.

Here is when it pays (`Plan`); what is compiled lies in `yieldrl.runtime`.
"""

from yieldrl.foundations.foreign_names import moved_names
from yieldrl.speed.plan import Plan

__all__ = ["Plan"]

_MOVED = ("CompiledCall", "CompiledStep")
__getattr__ = moved_names(__name__, {x: f"yieldrl.runtime.{x}" for x in _MOVED})
