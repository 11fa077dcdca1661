"""Whatever a loss reads may change between two steps: a compiled step sees it.

Each case trains a small network twice, eager and compiled, and changes something on the
way. Parameters, logs and what the loss left behind must be the same, to rounding.
"""

import copy
import random

import pytest
import torch
from tensordict import TensorDict
from torch import nn

from yieldrl.runtime import CompiledStep, GradientStep
from yieldrl.speed import Plan

STEPS = 8
CHANGED = 4
"""The step before which something changes."""


pytestmark = [
    pytest.mark.usefixtures("traced"),
    pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru"),
]


class Learner:
    """What somebody who writes a loss has: a model, a config and attributes."""

    max_grad_norm = None

    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
        self.target = copy.deepcopy(self.model).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)
        self.beta = 0.0
        self.setup()

    def setup(self):
        """What a case needs besides."""

    def change(self, step):
        """What happens between two steps, before step `step`."""

    def error(self, batch):
        return self.model(batch["obs"]).squeeze(1) - batch["y"]

    def loss(self, batch):
        loss = self.error(batch).square().mean() + self.extra(batch)
        return loss, {"loss": loss.detach()}

    def extra(self, batch):
        return self.beta

    def left(self):
        """What the loss leaves behind, to compare."""
        return ()


class Attribute(Learner):
    def change(self, step):
        self.beta = 1000.0 if step == CHANGED else self.beta

    def extra(self, batch):
        return self.beta * self.model(batch["obs"]).mean()


class DataDependent(Learner):
    eager_because = "Data-dependent"

    def extra(self, batch):
        value = self.model(batch["obs"]).mean()
        return value if value > 0 else -2 * value


class UniformRandom(Learner):
    eager_because = "draws Python's random numbers"

    def setup(self):
        random.seed(3)

    def extra(self, batch):
        return random.uniform(0, 3) * self.model(batch["obs"]).mean()

    def left(self):
        return (random.random(),)


class OwnGenerator(Learner):
    def setup(self):
        self.generator = torch.Generator().manual_seed(5)

    def extra(self, batch):
        noise = torch.rand(len(batch["y"]), generator=self.generator)
        return (noise * self.model(batch["obs"]).squeeze(1)).mean()

    def left(self):
        return (torch.rand((), generator=self.generator).item(),)


class TargetCopied(Learner):
    """`sync_target` as a new module."""

    def change(self, step):
        if step == CHANGED:
            self.target = copy.deepcopy(self.model)

    def error(self, batch):
        with torch.no_grad():
            target = self.target(batch["obs"]).squeeze(1)
        return super().error(batch) - 0.9 * target


class TrainMode(Learner):
    def setup(self):
        self.model.insert(1, nn.BatchNorm1d(5))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def change(self, step):
        self.model.train(step < CHANGED)

    def left(self):
        return tuple(self.model[1].running_mean.tolist())


class ForwardOfAClass(Learner):
    why = "Net.forward was replaced"

    def setup(self):
        self.net = type("Net", (nn.Module,), {"forward": lambda self, x: 0.5 * x})

    def change(self, step):
        if step == CHANGED:
            self.net.forward = lambda self, x: 5 * x

    def extra(self, batch):
        return self.net()(self.model(batch["obs"]).mean())


QUICK = (Attribute, DataDependent, OwnGenerator)
CASES = [
    case if case in QUICK else pytest.param(case, marks=pytest.mark.slow)
    for case in list(globals().values())
    if isinstance(case, type) and issubclass(case, Learner)
]


def trained(case, mode):
    """What training a case comes to: parameters, logs and what was left behind."""
    learner = case()
    plan = Plan(mode, 10_000, lambda: 0)
    if mode == "eager":
        step = GradientStep(learner.loss, learner.optimizer, learner.max_grad_norm)
    else:
        plan.strict = False  # as in "auto"
        step = CompiledStep(
            learner.loss, learner.optimizer, learner.max_grad_norm, plan
        )
    learner.step = step
    torch.manual_seed(11)
    logs = []
    for number in range(STEPS):
        learner.change(number)
        size = 7 if number == STEPS - 1 else 16
        chance = torch.Generator().manual_seed(number)
        obs = torch.randn(size, 3, generator=chance)
        batch = TensorDict({"obs": obs, "y": obs.sum(1)}, [size])
        logs.append({name: float(value) for name, value in step(batch).items()})
    parameters = [p.detach().clone() for p in learner.model.parameters()]
    return parameters, logs, learner.left(), plan.decisions


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_compiled_step_does_what_an_eager_one_does(case):
    wanted, logs, left, _ = trained(case, "eager")
    found, found_logs, found_left, decisions = trained(case, "compile")
    assert found_left == pytest.approx(left, rel=1e-4)
    for one, other in zip(found_logs, logs, strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-5)
    for one, other in zip(found, wanted, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-5)
    assert decisions
    for said in (getattr(case, "eager_because", ""), getattr(case, "why", "")):
        assert any(said in decision for decision in decisions), decisions
