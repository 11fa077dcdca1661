"""Loggers and other decorators of the trainer's generator.

    trainer = loggers.csv()(loggers.progress()(trainer))
    for log in trainer():
        ...

A logger yields the logs that it gets unchanged, writes before it yields, and closes
its files however the loop ends; a new loop continues where the last one stopped. Given
a trainer it returns a proxy, which behaves like the trainer, and leaves the class as it
is; in a class body it decorates `__call__`. wandb and others are imported on use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
