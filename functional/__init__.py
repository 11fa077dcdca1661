"""Pure functions of tensors: advantages, returns, corrections, schedules, sampling."""

from yieldrl.functional.clipping import clipped_surrogate
from yieldrl.functional.gae import gae
from yieldrl.functional.groups import centred, group_mean, share_above
from yieldrl.functional.projection import project
from yieldrl.functional.returns import (
    discounted_cumsum,
    discounted_returns,
    explained_variance,
    n_step_returns,
    returns_within,
)
from yieldrl.functional.sampling import tempered
from yieldrl.functional.schedules import linear, updates_due
from yieldrl.functional.vtrace import vtrace

__all__ = [
    "centred",
    "clipped_surrogate",
    "discounted_cumsum",
    "discounted_returns",
    "explained_variance",
    "gae",
    "group_mean",
    "linear",
    "n_step_returns",
    "project",
    "returns_within",
    "share_above",
    "tempered",
    "updates_due",
    "vtrace",
]
