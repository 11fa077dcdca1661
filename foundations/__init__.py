"""Shared utilities: spaces, configs, seeds, ranks. Imports no other part of yieldrl."""

from yieldrl.foundations.config import Config, SyncOnly
from yieldrl.foundations.conversion import ObservationActionAdapter
from yieldrl.foundations.device import keep_freed_memory, resolve_device, set_threads
from yieldrl.foundations.fields import (
    MAX_NUMBER,
    MAX_STEPS,
    MAX_TRANSITIONS,
    BatchSize,
    Coefficient,
    Count,
    LearningRate,
    LogStd,
    NonNegative,
    Plain,
    Positive,
    Steps,
    StepsOrZero,
    UnitInterval,
    Widths,
)
from yieldrl.foundations.files import CheckpointError
from yieldrl.foundations.logs import Counters
from yieldrl.foundations.ranks import Ranks, mean_and_std, mean_of_all, ranks
from yieldrl.foundations.running_statistics import means
from yieldrl.foundations.seeding import (
    derive_seed,
    drawing_from,
    restore_generator,
    rng_state,
    seed_everything,
    set_rng_state,
)
from yieldrl.foundations.signals import defer_keyboard_interrupt
from yieldrl.foundations.text import Utf8Text

__all__ = [
    "MAX_NUMBER",
    "MAX_STEPS",
    "MAX_TRANSITIONS",
    "BatchSize",
    "CheckpointError",
    "Coefficient",
    "Config",
    "Count",
    "Counters",
    "LearningRate",
    "LogStd",
    "NonNegative",
    "ObservationActionAdapter",
    "Plain",
    "Positive",
    "Ranks",
    "Steps",
    "StepsOrZero",
    "SyncOnly",
    "UnitInterval",
    "Utf8Text",
    "Widths",
    "defer_keyboard_interrupt",
    "derive_seed",
    "drawing_from",
    "keep_freed_memory",
    "mean_and_std",
    "mean_of_all",
    "means",
    "ranks",
    "resolve_device",
    "restore_generator",
    "rng_state",
    "seed_everything",
    "set_rng_state",
    "set_threads",
]
