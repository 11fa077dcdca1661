"""What `adaptation` measures: who acts well in worlds whose parameters are hidden."""

from __future__ import annotations

from yieldrl.benchmarks.trials import Trial

from . import compared, regularizer, speed

__all__ = ["TRIALS"]

TRIALS: dict[str, Trial] = {
    **compared.TRIALS,
    "regularizer": regularizer.TRIAL,
    "speed": speed.TRIAL,
}
"""Trial -> what it is. `benchmarks/results/adaptation-TRIAL.json` keeps it."""
