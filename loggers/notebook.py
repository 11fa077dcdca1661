"""Detect Jupyter notebooks."""

import sys


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code; imports nothing to find out."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
