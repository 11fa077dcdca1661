"""Training on Ray: workers in other processes, and on other machines.

The extra `[ray]` has it. An algorithm does not know of it: `Config(collection="ray")`
gives its trainer a `RayCollector` in place of a `SyncCollector`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
