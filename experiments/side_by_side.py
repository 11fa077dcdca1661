"""Several trainers as one, such as one for each of several seeds."""

from collections.abc import Generator, Iterable, Sequence
from statistics import fmean
from typing import Any

from yieldrl.core.logs import LogData
from yieldrl.loggers.writer import read


class SideBySide:
    """Trainers that go on in turn, from evaluation to evaluation.

    It is called as a trainer is, and loggers such as `prune` decorate it. Each trainer
    trains until its next evaluation; then the mean of these evaluations is yielded. It
    learns what it would alone, because its random numbers are its own.

    Args:
        trainers: At least one, with the same schedule; those that end early count with
            their last evaluation.

    Attributes:
        config: That of the first trainer.
    """

    def __init__(self, trainers: Iterable[Any]) -> None:
        self.trainers = [*trainers]
        self.config = self.trainers[0].config
        self._evaluated_by = getattr(self.trainers[0], "_evaluated_by", "sample_step")

    def __call__(self) -> Generator[LogData, None, None]:
        """Train, yielding the mean of the metrics of each round of evaluations."""
        loops = dict(enumerate(trainer() for trainer in self.trainers))
        latest: dict[int, LogData] = {}
        try:
            while new := {i: x for i, y in loops.items() if (x := _evaluation(y))}:
                latest |= new
                yield _mean([*latest.values()])
        finally:
            for loop in loops.values():
                loop.close()

    def close(self) -> None:
        """Close all trainers. Safe to call twice."""
        for trainer in reversed(self.trainers):
            trainer.close()


def _evaluation(loop: Generator[LogData, None, None]) -> LogData | None:
    """The next evaluation; None if the loop has ended."""
    evaluations = (x for x in loop if x["log_type"] == "evaluate" and x["logs"])
    return next(evaluations, None)


def _mean(logs: Sequence[LogData]) -> LogData:
    """The first log, with means of the metrics that all have."""
    metrics = [read(log["logs"]) for log in logs]
    shared = [name for name in metrics[0] if all(name in each for each in metrics)]
    means = {name: fmean(each[name] for each in metrics) for name in shared}
    return {**logs[0], "logs": means}
