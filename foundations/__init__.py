"""What everything else stands on, and what knows nobody: spaces, configs, seeds."""

from typing import TYPE_CHECKING

from yieldrl.foundations.border import Border
from yieldrl.foundations.config import Config
from yieldrl.foundations.counters import Counters, Counting
from yieldrl.foundations.device import (
    keep_freed_memory,
    resolve_device,
    set_threads,
)
from yieldrl.foundations.errors import CheckpointError
from yieldrl.foundations.moments import means
from yieldrl.foundations.moved import moved_names
from yieldrl.foundations.ranges import (
    MAX_NUMBER,
    MAX_STEPS,
    MAX_TRANSITIONS,
    BatchSize,
    Coefficient,
    Constraint,
    Count,
    LearningRate,
    LogStd,
    NonNegative,
    Positive,
    Range,
    Steps,
    StepsOrZero,
    UnitInterval,
    Widths,
)
from yieldrl.foundations.ranks import Ranks, mean_and_std, ranks
from yieldrl.foundations.seeding import (
    derive_seed,
    restore_generator,
    rng_state,
    seed_everything,
    set_rng_state,
)
from yieldrl.foundations.text import Utf8Text
from yieldrl.foundations.uninterrupted import uninterrupted

LARGEST, MOST_STEPS = MAX_NUMBER, MAX_STEPS  # as they were called before
MOST_TRANSITIONS = MAX_TRANSITIONS

__all__ = [
    "LARGEST",
    "MAX_NUMBER",
    "MAX_STEPS",
    "MAX_TRANSITIONS",
    "MOST_STEPS",
    "MOST_TRANSITIONS",
    "BatchSize",
    "Border",
    "CheckpointError",
    "Coefficient",
    "Config",
    "Constraint",
    "Count",
    "Counters",
    "Counting",
    "LearningRate",
    "LogStd",
    "NonNegative",
    "Positive",
    "Range",
    "Ranks",
    "Steps",
    "StepsOrZero",
    "UnitInterval",
    "Utf8Text",
    "Widths",
    "derive_seed",
    "keep_freed_memory",
    "mean_and_std",
    "means",
    "ranks",
    "resolve_device",
    "restore_generator",
    "rng_state",
    "seed_everything",
    "set_rng_state",
    "set_threads",
    "uninterrupted",
]

if not TYPE_CHECKING:
    __getattr__ = moved_names(
        __name__,
        {
            "linear": "yieldrl.functional.linear",
            "updates_due": "yieldrl.functional.updates_due",
        },
    )
