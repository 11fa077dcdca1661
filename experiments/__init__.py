"""What a run leaves behind and starts from: configs, seeds, checkpoints, plots."""

from yieldrl.experiments.checkpoint import (
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
)
from yieldrl.experiments.config import Config
from yieldrl.experiments.machine import resolve_device, set_threads
from yieldrl.experiments.run import Run
from yieldrl.experiments.schedules import linear, updates_due
from yieldrl.experiments.seeding import (
    derive_seed,
    restore_generator,
    rng_state,
    seed_everything,
    set_rng_state,
)

__all__ = [
    "CheckpointError",
    "Config",
    "Run",
    "derive_seed",
    "linear",
    "load_checkpoint",
    "resolve_device",
    "restore_generator",
    "rng_state",
    "save_checkpoint",
    "seed_everything",
    "set_rng_state",
    "set_threads",
    "updates_due",
]
