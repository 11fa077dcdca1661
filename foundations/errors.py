"""Errors that several rooms raise."""


class CheckpointError(RuntimeError):
    """A file is not a checkpoint of this project, it is damaged, or it does not fit."""
