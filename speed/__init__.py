"""The one room that knows about compilers: `torch.compile`, its guards and its cache.

Here is when it pays (`Plan`); what is compiled lies in `yieldrl.runtime`.
"""

from yieldrl.speed.plan import Plan

__all__ = ["Plan"]
