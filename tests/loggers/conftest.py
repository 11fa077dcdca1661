"""A trainer that is nothing but its contract: numbers that tests can predict.

Every vector step takes two environment steps and yields a collect log, empty but for
each fifth, and then one train log. At sample_step `s` the episode's return is `s`, at
learn_step `n` the loss is a 0-dim tensor `n`, an evaluation's return is `s / 2`.
"""

import contextlib
import dataclasses
import itertools
import json
from types import SimpleNamespace

import pytest
import torch

from yieldrl.experiments import Run


@dataclasses.dataclass(frozen=True, kw_only=True)
class FakeConfig:
    env_id: str = "Fake-v0"
    seed: int = 1
    total_steps: int = 100
    eval_every: int = 0
    eval_episodes: int = 2

    def to_dict(self):
        return dataclasses.asdict(self)


class FakeAgent:
    def __init__(self):
        self.sample_step = 0
        self.learn_step = 0
        self.device = "cpu"


_numbers = itertools.count()


class FakeRun(Run):
    """A run whose folder holds nothing but what loggers write."""

    def claim(self):
        return self.folder


class FakeTrainer:
    """See the module's docstring."""

    evaluator = SimpleNamespace(seed=1_234)
    wrap_envs = staticmethod(lambda envs, training: envs)

    def __init__(self, folder, **config):
        self.config = FakeConfig(**config)
        self.agent = FakeAgent()
        self.train_is_due = False
        self.closed_loops = 0  # generators whose `finally` was reached
        self.closed = False
        self.within_step = lambda: None
        self.run = FakeRun("fake", self.config)
        self.run.folder = folder / f"run-{next(_numbers)}"

    def __call__(self):
        try:
            while self.train_is_due or self.agent.sample_step < self.config.total_steps:
                self.within_step()
                yield self._train() if self.train_is_due else self._collect()
                every = self.config.eval_every if self.train_is_due else 0
                if every and self.agent.sample_step % every == 0:
                    yield self.evaluate(self.config.eval_episodes)
        finally:
            self.closed_loops += 1

    def _collect(self):
        self.agent.sample_step += 2
        self.train_is_due = True
        step = self.agent.sample_step
        ended = step % 10 == 0
        logs = {"episode_return": float(step), "episodes": 1.0} if ended else {}
        return self.log("collect", logs)

    def _train(self):
        self.agent.learn_step += 1
        self.train_is_due = False
        return self.log("train", {"loss": torch.tensor(float(self.agent.learn_step))})

    def evaluate(self, episodes=10, seed=None):
        logs = {"episode_return": self.agent.sample_step / 2, "episodes": episodes}
        return self.log("evaluate", logs | ({"seed": seed} if seed is not None else {}))

    def log(self, log_type, logs):
        steps = vars(self.agent)
        return {
            "log_type": log_type,
            "sample_step": steps["sample_step"],
            "learn_step": steps["learn_step"],
            "logs": logs,
        }

    def save(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        steps = [self.agent.sample_step, self.agent.learn_step, self.train_is_due]
        path.write_text(json.dumps(steps))
        return path

    def load(self, path):
        steps = json.loads(path.read_text())
        self.agent.sample_step, self.agent.learn_step, self.train_is_due = steps

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True


@pytest.fixture
def make_trainer(tmp_path):
    """Makes fake trainers with the given config, each with a folder of its own."""
    return lambda **config: FakeTrainer(tmp_path, **config)


@pytest.fixture
def trainer(make_trainer):
    """A fake trainer of 100 environment steps that does not evaluate by itself."""
    return make_trainer()


@pytest.fixture
def trainer_class():
    """The class of the fake trainers, to derive from."""
    return FakeTrainer


@pytest.fixture
def small_disk():
    """A context in which no file may have more bytes, that of the output included."""
    resource = pytest.importorskip("resource")

    @contextlib.contextmanager
    def limited(size):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited
