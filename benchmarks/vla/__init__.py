"""What `vla` measures: policies that see, are told what to do, and act."""

from __future__ import annotations

from yieldrl.benchmarks.trials import Trial

__all__ = ["TRIALS"]

TRIALS: dict[str, Trial] = {}
"""Trial -> what it is. `benchmarks/results/vla-TRIAL.json` keeps it."""
