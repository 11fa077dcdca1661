"""Grid world with coloured shapes and an instruction that names the goal."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
