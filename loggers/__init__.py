"""Loggers and other decorators of the trainer's generator.

    trainer = loggers.csv()(loggers.progress()(trainer))
    for log in trainer():
        ...

A logger yields the logs that it gets unchanged, writes before it yields, and closes
its files however the loop ends; a new loop continues where the last one stopped. Given
a trainer it returns a proxy, which behaves like the trainer, and leaves the class as it
is; in a class body it decorates `__call__`. wandb and others are imported on use.
"""

from yieldrl.loggers.base import Decorated, Logger, Target
from yieldrl.loggers.checkpoints import (
    checkpoint,
    latest_checkpoint,
    list_checkpoints,
)
from yieldrl.loggers.live_plots import live_plot
from yieldrl.loggers.loop_control import early_stop, evaluation
from yieldrl.loggers.progress_bar import progress
from yieldrl.loggers.tensorboard_events import tensorboard
from yieldrl.loggers.text_files import csv, jsonl
from yieldrl.loggers.videos import record_video, video
from yieldrl.loggers.wandb_run import wandb
from yieldrl.loggers.windowed_means import Row
from yieldrl.loggers.writer import Writer

__all__ = [
    "Decorated",
    "Logger",
    "Row",
    "Writer",
    "checkpoint",
    "csv",
    "default",
    "early_stop",
    "evaluation",
    "jsonl",
    "latest_checkpoint",
    "list_checkpoints",
    "live_plot",
    "progress",
    "record_video",
    "tensorboard",
    "video",
    "wandb",
]


def default(trainer: Target) -> Target:
    """Add the command line's loggers: checkpoints, CSV, TensorBoard, progress bar."""
    for logger in (checkpoint(), csv(), tensorboard(), progress()):
        trainer = logger(trainer)
    return trainer
