"""Whatever a loss reads may change between two steps: a compiled step sees it.

Each case trains a small network twice, eager and compiled, and changes something on the
way. Parameters, logs and what the loss left behind must be the same, to rounding.
"""

import contextlib
import copy
import dataclasses
import functools
import os
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tensordict import TensorDict
from torch import nn

from yieldrl.runtime import CompiledStep, GradientStep
from yieldrl.speed import Plan

STEPS = 8
CHANGED = 4
"""The step before which something changes."""

coefficient = 0.5
"""A global of the module, which a case changes."""

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


class Schedule(Learner):
    """A coefficient that falls with every step."""

    def setup(self):
        self.counters = SimpleNamespace(learn_step=0)

    def change(self, step):
        self.counters.learn_step = step

    def extra(self, batch):
        weight = max(0.0, 1.0 - self.counters.learn_step / 6)
        return weight * self.model(batch["obs"]).square().mean()


class Counter(Learner):
    """The loss itself counts."""

    def setup(self):
        self.count = 0

    def extra(self, batch):
        self.count += 1
        return self.count * self.model(batch["obs"]).mean()

    def left(self):
        return (self.count,)


class Phase(Learner):
    phase = "first"

    def change(self, step):
        self.phase = "second" if step >= CHANGED else "first"

    def extra(self, batch):
        value = self.model(batch["obs"])
        return value.mean() if self.phase == "first" else value.square().mean()


class Flag(Learner):
    uses_target = False

    def change(self, step):
        self.uses_target = step >= CHANGED

    def error(self, batch):
        model = self.target if self.uses_target else self.model
        return super().error(batch) - model(batch["obs"]).squeeze(1)


@dataclasses.dataclass(frozen=True)
class Options:
    weight: float = 0.1
    clip: float | None = None


class Config(Learner):
    options = Options()

    def change(self, step):
        if step == CHANGED:
            self.options = Options(weight=2.0, clip=0.5)

    def extra(self, batch):
        value = self.model(batch["obs"])
        if self.options.clip is not None:
            value = value.clamp(-self.options.clip, self.options.clip)
        return self.options.weight * value.mean()


class Settings(Learner):
    """A dict of numbers."""

    def setup(self):
        self.settings = {"weight": 0.1}

    def change(self, step):
        if step == CHANGED:
            self.settings["weight"] = 3.0
            self.settings["more"] = 1.0

    def extra(self, batch):
        weight = sum(self.settings.values())
        return weight * self.model(batch["obs"]).mean()


class Listed(Learner):
    def setup(self):
        self.weights = [1.0]

    def change(self, step):
        if step == CHANGED:
            self.weights.append(2.0)

    def extra(self, batch):
        value = self.model(batch["obs"]).mean()
        return sum(weight * value for weight in self.weights)


class Closure(Learner):
    def setup(self):
        weight = 0.5

        def change(step):
            nonlocal weight
            weight = 5.0 if step == CHANGED else weight

        self.change = change
        self.extra = lambda batch: weight * self.model(batch["obs"]).mean()


class Global(Learner):
    def change(self, step):
        global coefficient
        coefficient = 5.0 if step >= CHANGED else 0.5

    def extra(self, batch):
        return coefficient * self.model(batch["obs"]).mean()


class ClassAttribute(Learner):
    weight = 0.5

    def change(self, step):
        type(self).weight = 5.0 if step >= CHANGED else 0.5

    def extra(self, batch):
        return self.weight * self.model(batch["obs"]).mean()


class ReboundTensor(Learner):
    def setup(self):
        self.weight = torch.tensor(0.5)

    def change(self, step):
        if step == CHANGED:
            self.weight = torch.tensor(5.0)

    def extra(self, batch):
        return self.weight * self.model(batch["obs"]).mean()


class FilledTensor(ReboundTensor):
    def change(self, step):
        if step == CHANGED:
            self.weight.fill_(5.0)


class Item(FilledTensor):
    def extra(self, batch):
        return self.weight.item() * self.model(batch["obs"]).mean()


class DataDependent(Learner):
    eager_because = "Data-dependent"

    def extra(self, batch):
        value = self.model(batch["obs"]).mean()
        return value if value > 0 else -2 * value


class PythonRandom(Learner):
    def setup(self):
        random.seed(3)

    def extra(self, batch):
        return random.random() * self.model(batch["obs"]).mean()

    def left(self):
        return (random.random(),)


class UniformRandom(PythonRandom):
    eager_because = "draws Python's random numbers"

    def extra(self, batch):
        return random.uniform(0, 3) * self.model(batch["obs"]).mean()


class OwnRandom(Learner):
    eager_because = "draws Python's random numbers"

    def setup(self):
        self.random = random.Random(3)

    def extra(self, batch):
        return self.random.randint(0, 9) * self.model(batch["obs"]).mean()

    def left(self):
        return (self.random.random(),)


class NumpyRandom(Learner):
    def setup(self):
        np.random.seed(3)

    def extra(self, batch):
        return float(np.random.rand()) * self.model(batch["obs"]).mean()

    def left(self):
        return (np.random.rand(),)


class NumpyGenerator(Learner):
    def setup(self):
        self.rng = np.random.default_rng(3)

    def extra(self, batch):
        return self.rng.random() * self.model(batch["obs"]).mean()

    def left(self):
        return (self.rng.random(),)


class TorchRandom(Learner):
    def extra(self, batch):
        noise = torch.randn_like(batch["obs"])
        return self.model(batch["obs"] + noise).mean()

    def left(self):
        return (torch.rand(()).item(),)


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


class TargetLoaded(TargetCopied):
    def change(self, step):
        if step == CHANGED:
            self.target.load_state_dict(self.model.state_dict())


class HeadSwapped(Learner):
    def change(self, step):
        if step == CHANGED:
            torch.manual_seed(7)
            self.model[2] = nn.Linear(5, 1)
            parameters = list(self.model[2].parameters())
            self.optimizer.add_param_group({"params": parameters})


class WeightReplaced(Learner):
    def change(self, step):
        if step == CHANGED:
            self.model[2].weight = nn.Parameter(torch.ones(1, 5))


class LayerAdded(Learner):
    def change(self, step):
        if step == CHANGED:
            self.model.append(nn.Softplus())


class ActivationChanged(Learner):
    def change(self, step):
        if step == CHANGED:
            self.model[1] = nn.ReLU()


class Frozen(Learner):
    def change(self, step):
        self.model[0].requires_grad_(step < CHANGED)


class Unfrozen(Learner):
    def setup(self):
        self.model[2].requires_grad_(False)

    def change(self, step):
        self.model[2].requires_grad_(step >= CHANGED)


class Tied(Learner):
    """Two layers share their weights from a step on."""

    def setup(self):
        torch.manual_seed(1)
        self.model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def error(self, batch):
        return self.model(batch["obs"]).sum(1) - batch["y"]

    def change(self, step):
        if step == CHANGED:
            self.model[2].weight = self.model[0].weight


class UsedTwice(Learner):
    def setup(self):
        layer = nn.Linear(3, 3)
        self.model = nn.Sequential(layer, nn.Tanh(), layer)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)

    def error(self, batch):
        return self.model(batch["obs"]).sum(1) - batch["y"]


class TrainMode(Learner):
    def setup(self):
        self.model.insert(1, nn.BatchNorm1d(5))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def change(self, step):
        self.model.train(step < CHANGED)

    def left(self):
        return tuple(self.model[1].running_mean.tolist())


class LearningRate(Learner):
    def change(self, step):
        for group in self.optimizer.param_groups:
            group["lr"] = 0.1 / (1 + step)


class WeightDecay(Learner):
    def change(self, step):
        for group in self.optimizer.param_groups:
            group["weight_decay"] = 0.5 if step >= CHANGED else 0.0
            group["betas"] = (0.5, 0.9) if step >= CHANGED else (0.9, 0.999)


class Amsgrad(Learner):
    def setup(self):
        self.optimizer = torch.optim.Adam(self.model.parameters(), amsgrad=True)


class RMSprop(Learner):
    def setup(self):
        self.optimizer = torch.optim.RMSprop(self.model.parameters(), lr=0.01)


class Scheduler(Learner):
    def setup(self):
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2)

    def change(self, step):
        if step:
            self.scheduler.step()


class GradNorm(Learner):
    max_grad_norm = 0.5

    def change(self, step):
        if step == CHANGED:
            self.step.max_grad_norm = 0.01


class GradNormOff(GradNorm):
    def change(self, step):
        if step == CHANGED:
            self.step.max_grad_norm = None


class ParameterHook(Learner):
    def setup(self):
        self.seen = 0

    def change(self, step):
        if step == CHANGED:
            self.model[0].weight.register_hook(self.halve)

    def halve(self, gradient):
        self.seen += 1
        return gradient / 2

    def left(self):
        return (self.seen,)


class AccumulatedHook(Learner):
    def setup(self):
        self.seen = 0

    def change(self, step):
        if step == CHANGED:
            weight = self.model[0].weight
            weight.register_post_accumulate_grad_hook(self.see)

    def see(self, parameter):
        self.seen += 1

    def left(self):
        return (self.seen,)


class ForwardHook(Learner):
    def setup(self):
        self.seen = 0

    def change(self, step):
        if step == CHANGED:
            self.model[0].register_forward_hook(self.double)

    def double(self, module, args, output):
        self.seen += 1
        return 2 * output

    def left(self):
        return (self.seen,)


class BackwardHook(Learner):
    def setup(self):
        self.seen = 0

    def change(self, step):
        if step == CHANGED:
            self.model[2].register_full_backward_hook(self.see)

    def see(self, module, grad_input, grad_output):
        self.seen += 1

    def left(self):
        return (self.seen,)


class OptimizerHook(Learner):
    def setup(self):
        self.seen = 0

    def change(self, step):
        if step == CHANGED:
            self.optimizer.register_step_post_hook(self.see)

    def see(self, optimizer, args, kwargs):
        self.seen += 1

    def left(self):
        return (self.seen,)


class Leftover(Learner):
    """What the loss leaves on an object can be read afterwards."""

    last = None

    def loss(self, batch):
        loss, logs = super().loss(batch)
        self.last = loss.detach()
        return loss, logs

    def left(self):
        return (float(self.last),)


class Collected(Learner):
    def setup(self):
        self.losses = []

    def loss(self, batch):
        loss, logs = super().loss(batch)
        self.losses.append(loss.detach())
        return loss, logs

    def left(self):
        return tuple(map(float, self.losses))


class BufferChanged(Learner):
    def setup(self):
        self.model.register_buffer("scale", torch.tensor(1.0))

    def change(self, step):
        if step == CHANGED:
            self.model.scale = torch.tensor(4.0)

    def extra(self, batch):
        return self.model.scale * self.model(batch["obs"]).mean()


class MethodReplaced(Learner):
    def change(self, step):
        if step == CHANGED:
            self.extra = lambda batch: 3 * self.model(batch["obs"]).mean()


class Weighted:
    """What a loss calls; its classes are changed on the way, as in a notebook."""

    constant = 0.5

    def weight(self):
        return self.constant

    @property
    def square(self):
        return self.weight() ** 2


class Derived(Weighted):
    def weight(self):
        return 2 * super().weight()


class OfClasses(Learner):
    """Methods of classes, whose changes PyTorch does not see."""

    why = ""

    def setup(self):
        self.weighted_class = type("Copied", (Weighted,), dict(vars(Weighted)))
        self.derived_class = type("Child", (self.weighted_class,), {})
        self.weighted = self.derived_class()

    def extra(self, batch):
        weight = self.weighted.weight() + self.weighted.square
        return weight * self.model(batch["obs"]).mean()


class MethodOfAClass(OfClasses):
    why = ".weight was replaced"

    def change(self, step):
        if step == CHANGED:
            self.weighted_class.weight = lambda self: 5.0


class MethodHidden(OfClasses):
    why = ".weight was replaced"

    def change(self, step):
        if step == CHANGED:
            self.derived_class.weight = lambda self: 5.0


class MethodBack(OfClasses):
    """A method that hid another one is taken away."""

    why = ".weight was replaced"

    def setup(self):
        super().setup()
        self.derived_class.weight = lambda self: 5.0

    def change(self, step):
        if step == CHANGED:
            del self.derived_class.weight


class MethodOfAParent(OfClasses):
    why = ".weight was replaced"

    def setup(self):
        self.weighted = Derived()
        self.before = Weighted.weight

    def change(self, step):
        if step == CHANGED:
            Weighted.weight = lambda self: 5.0

    def left(self):
        Weighted.weight = self.before
        return ()


class CodeOfAMethod(OfClasses):
    """As IPython's autoreload does it."""

    why = "weight.__code__ was replaced"

    def setup(self):
        self.weighted = Weighted()
        self.before = Weighted.weight.__code__

    def change(self, step):
        if step == CHANGED:
            Weighted.weight.__code__ = (lambda self: 5.0).__code__

    def left(self):
        Weighted.weight.__code__ = self.before
        return ()


class PropertyOfAClass(OfClasses):
    def change(self, step):
        if step == CHANGED:
            self.weighted_class.square = property(lambda self: 5.0)


class ConstantHidden(OfClasses):
    why = "Child.constant was replaced"

    def change(self, step):
        if step == CHANGED:
            self.derived_class.constant = 5.0


class ForwardOfAClass(Learner):
    why = "Net.forward was replaced"

    def setup(self):
        self.net = type("Net", (nn.Module,), {"forward": lambda self, x: 0.5 * x})

    def change(self, step):
        if step == CHANGED:
            self.net.forward = lambda self, x: 5 * x

    def extra(self, batch):
        return self.net()(self.model(batch["obs"]).mean())


class HookOfAllModules(Learner):
    def setup(self):
        self.seen, self.hook = 0, None

    def change(self, step):
        if step == CHANGED:
            register = torch.nn.modules.module.register_module_forward_hook
            self.hook = register(self.see)

    def see(self, module, args, output):
        self.seen += 1

    def left(self):
        self.hook.remove()
        return (self.seen,)


class MissingName(Learner):
    """Code that finds out by an error whether there is something."""

    eager_because = "goes by errors that it catches"

    def change(self, step):
        if step == CHANGED:
            self.weight = 5.0

    def extra(self, batch):
        value = self.model(batch["obs"]).mean()
        try:
            return self.weight * value
        except AttributeError:
            return value


class MissingKey(Learner):
    eager_because = "goes by errors that it catches"

    def setup(self):
        self.weights = {}

    def change(self, step):
        if step == CHANGED:
            self.weights["weight"] = 5.0

    def extra(self, batch):
        weight = 1.0
        with contextlib.suppress(KeyError):
            weight = self.weights["weight"]
        return weight * self.model(batch["obs"]).mean()


class Environment(Learner):
    eager_because = "reads variables of the environment"

    def change(self, step):
        os.environ["YIELDRL_WEIGHT"] = "5" if step >= CHANGED else "1"

    def extra(self, batch):
        weight = os.getenv("YIELDRL_WEIGHT", "1")
        return float(weight) * self.model(batch["obs"]).mean()

    def left(self):
        del os.environ["YIELDRL_WEIGHT"]
        return ()


class Cached(Learner):
    eager_because = "keeps its answers in a cache"

    def setup(self):
        self.weight, self.kept = 1.0, functools.cache(lambda: self.weight)

    def change(self, step):
        self.weight = 5.0 if step >= CHANGED else 1.0

    def extra(self, batch):
        return self.kept() * self.model(batch["obs"]).mean()


class LastBatch(Learner):
    """Batches of several sizes."""

    sizes = (16, 16, 16, 7, 16, 3, 16, 7)


class Parameters16(Learner):
    """Weights in another memory format than their gradients."""

    def setup(self):
        weight = self.model[0].weight
        self.model[0].weight = nn.Parameter(weight.detach().t().contiguous().t())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1, fused=True)


CASES = [
    case
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
        size = getattr(learner, "sizes", [16] * STEPS)[number]
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
