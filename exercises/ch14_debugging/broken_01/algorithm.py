"""The mathematics of PPO, with advantages of its own."""

from __future__ import annotations

from yieldrl.algorithms import ppo

from .correction import Clip


class Algorithm(ppo.Algorithm):
    """PPO whose advantages are those of `correction.py`."""

    corrections = {"clip": Clip}  # noqa: RUF012
