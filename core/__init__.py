"""The base of all rooms: spaces, configs, seeds, ranks, and how losses are executed.

It imports no other part of yieldrl. Algorithms say `minimize(loss, batch)`; what that
takes (compilation, precision, averages over processes) is decided here.
"""

from yieldrl.core.config import Config, SyncOnly
from yieldrl.core.conversion import ObservationActionAdapter
from yieldrl.core.device import keep_freed_memory, resolve_device, set_threads
from yieldrl.core.fields import (
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
from yieldrl.core.files import CheckpointError
from yieldrl.core.gradient_step import Loss, averaged
from yieldrl.core.logs import Counters
from yieldrl.core.ranks import (
    Ranks,
    mean_of_all,
    ranks,
    standardized,
)
from yieldrl.core.running_statistics import means
from yieldrl.core.runtime import Precision, Runtime, in_precision
from yieldrl.core.seeding import (
    derive_seed,
    drawing_from,
    restore_generator,
    rng_state,
    seed_everything,
    set_rng_state,
)
from yieldrl.core.signals import defer_keyboard_interrupt
from yieldrl.core.text import Utf8Text

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
    "Loss",
    "NonNegative",
    "ObservationActionAdapter",
    "Plain",
    "Positive",
    "Precision",
    "Ranks",
    "Runtime",
    "Steps",
    "StepsOrZero",
    "SyncOnly",
    "UnitInterval",
    "Utf8Text",
    "Widths",
    "averaged",
    "defer_keyboard_interrupt",
    "derive_seed",
    "drawing_from",
    "in_precision",
    "keep_freed_memory",
    "mean_of_all",
    "means",
    "ranks",
    "resolve_device",
    "restore_generator",
    "rng_state",
    "seed_everything",
    "set_rng_state",
    "set_threads",
    "standardized",
]
