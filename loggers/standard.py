"""The loggers of the command line, together."""

from yieldrl.loggers.base import Target
from yieldrl.loggers.checkpoints import checkpoint
from yieldrl.loggers.progress_bar import progress
from yieldrl.loggers.tensorboard_events import tensorboard
from yieldrl.loggers.text_files import csv


def default(trainer: Target) -> Target:
    """Add the command line's loggers: checkpoints, CSV, TensorBoard, progress bar."""
    for logger in (checkpoint(), csv(), tensorboard(), progress()):
        trainer = logger(trainer)
    return trainer
