"""Trials, by the command that measures them."""

from __future__ import annotations

from . import (
    adaptation,
    comparing,
    images,
    imports,
    scaling,
    spent,
    stacked,
    trials,
    vla,
    yields,
)
from .trials import Trial

FAMILIES: dict[str, dict[str, Trial]] = {
    "collecting": trials.TRIALS,
    "vla": vla.TRIALS,
    "adaptation": adaptation.TRIALS,
    "time": {
        "ppo": spent.TRIAL,
        "scaling": scaling.TRIAL,
        "stacked": stacked.TRIAL,
        "images": images.TRIAL,
        "loggers": yields.TRIAL,
    },
    "comparing": comparing.TRIALS,
    "imports": {"start": imports.TRIAL},
}
"""Command -> its trials. `benchmarks/results/COMMAND-TRIAL.json` keeps a result."""
