"""What everything else stands on, and what knows nobody: spaces, configs, seeds."""

from yieldrl.foundations.border import Border
from yieldrl.foundations.checked import LARGEST, MOST_STEPS, MOST_TRANSITIONS
from yieldrl.foundations.config import Config
from yieldrl.foundations.counters import Counters, Counting
from yieldrl.foundations.device import (
    keep_freed_memory,
    resolve_device,
    set_threads,
)
from yieldrl.foundations.errors import CheckpointError
from yieldrl.foundations.moments import means
from yieldrl.foundations.ranks import Ranks, mean_and_std, ranks
from yieldrl.foundations.schedules import linear, updates_due
from yieldrl.foundations.seeding import (
    derive_seed,
    restore_generator,
    rng_state,
    seed_everything,
    set_rng_state,
)
from yieldrl.foundations.text import Utf8Text
from yieldrl.foundations.uninterrupted import uninterrupted

__all__ = [
    "LARGEST",
    "MOST_STEPS",
    "MOST_TRANSITIONS",
    "Border",
    "CheckpointError",
    "Config",
    "Counters",
    "Counting",
    "Ranks",
    "Utf8Text",
    "derive_seed",
    "keep_freed_memory",
    "linear",
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
    "updates_due",
]
