"""What `vla` measures: policies that see, are told what to do, and act."""

from __future__ import annotations

from yieldrl.benchmarks.trials import Trial

from . import adapters, chunks, elsewhere, goto, imports, phases, reacher

__all__ = ["TRIALS"]

TRIALS: dict[str, Trial] = {
    "goto": goto.TRIAL,
    "policies": phases.TRIAL,
    "reacher": reacher.TRIAL,
    "chunks": chunks.TRIAL,
    "adapters": adapters.TRIAL,
    "elsewhere": elsewhere.TRIAL,
    "imports": imports.TRIAL,
}
"""Trial -> what it is. `benchmarks/results/vla-TRIAL.json` keeps it."""
