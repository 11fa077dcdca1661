"""The games of MinAtar (Young and Tian 2019, arXiv:1903.03176), on tensors."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
