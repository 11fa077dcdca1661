"""What `collecting` measures: one entry a trial.

A trial measures something of collectors that work in the background, says what is
demanded of it, and how to show it.
"""

from __future__ import annotations

from . import corrections, lag, overhead, overlap, soak
from .trial import Options, Run, Trial, Verdict

__all__ = ["TRIALS", "Options", "Run", "Trial", "Verdict"]

TRIALS: dict[str, Trial] = {
    "overlap": overlap.TRIAL,
    **corrections.TRIALS,
    "lag": lag.TRIAL,
    "overhead": overhead.TRIAL,
    "soak": soak.TRIAL,
}
"""Trial -> what it is. `benchmarks/results/collecting-TRIAL.json` keeps it."""
