"""Every algorithm learns the same compiled as eager, whatever changes on the way."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from factories import config_of
from torch import nn

from yieldrl.runtime import GradientStep

COMPILED: list[Any] = ["ppo"]
LATER = ["behavior_cloning", "ddpg", "dqn", "ppo_masked", "ppo_roa", "prioritized_dqn"]
LATER += ["rainbow", "sac", "td3"]
COMPILED += [pytest.param(name, marks=pytest.mark.slow) for name in LATER]
OTHERS = {"clip_coef": 0.1, "entropy_coef": 0.2, "error_clip": 0.5, "value_coef": 0.1}


class Changes:
    """What somebody does in the loop, one thing after another."""

    def __init__(self, trainer: Any) -> None:
        self.trainer, self.algorithm = trainer, trainer.algorithm
        self.parts = SimpleNamespace(decay=0.0)
        self.steps: list[GradientStep] = []
        self.make_step = self.algorithm.gradient_step
        self.algorithm.gradient_step = self.gradient_step

    def gradient_step(self, loss: Any, *options: Any) -> GradientStep:
        """The step of a loss that reads more than it did."""
        self.steps.append(self.make_step(self.with_decay(loss), *options))
        return self.steps[-1]

    def with_decay(self, loss: Any) -> Any:
        """A loss that reads an attribute, a schedule and a model besides."""

        @functools.wraps(loss)
        def decayed(data: Any) -> Any:
            plain, logs = loss(data)
            weights = [p for p in self.algorithm.model.parameters() if p.requires_grad]
            square = sum(weight.square().sum() for weight in weights)
            return plain + self.parts.decay * square, logs

        return decayed

    def attribute(self) -> None:
        self.parts.decay = 0.5

    def schedule(self) -> None:
        self.parts.decay = 1 / self.algorithm.counters.learn_step

    def learning_rate(self) -> None:
        self.algorithm.learning_rate = 0.02

    def config(self) -> None:
        known = {field.name for field in dataclasses.fields(self.algorithm.config)}
        others = {name: value for name, value in OTHERS.items() if name in known}
        self.algorithm.config = dataclasses.replace(self.algorithm.config, **others)

    def frozen(self) -> None:
        self.steps[0].trained_parameters()[0].requires_grad_(False)

    def thawed(self) -> None:
        self.algorithm.model.requires_grad_(True)

    def hook(self) -> None:
        layers = [x for x in self.algorithm.model.modules() if isinstance(x, nn.Linear)]
        layers[-1].register_forward_hook(lambda layer, args, output: 0.5 * output)

    def options(self) -> None:
        for step in self.steps:
            step.optimizer.param_groups[0]["weight_decay"] = 0.1
            step.max_grad_norm = 0.05


ORDER = ("attribute", "schedule", "learning_rate", "config", "frozen", "thawed", "hook")


def trained(name: str, speed: str) -> tuple[list[float], dict[str, Any], list[str]]:
    """Losses of a run in which all of these happen, its weights, what was decided."""
    module = importlib.import_module(f"yieldrl.algorithms.{name}")
    options = {"env_id": "yieldrl/GoTo-v1"} if name == "vla_ppo" else {}
    torch.manual_seed(0)
    config = config_of(module, speed=speed, seed=3, eval_every=0, **options)
    losses: list[float] = []
    with module.Trainer(config) as trainer:
        trainer.algorithm.plan.strict = False  # as in "auto"
        changes = Changes(trainer)
        due = iter((*ORDER, "options"))
        for log in trainer():
            if log["log_type"] != "train":
                continue
            losses.append(float(log["logs"]["loss"]))
            if len(losses) % 2 == 0:
                change = next(due, None)
                if change is None:
                    break
                getattr(changes, change)()
        weights = {k: x.clone() for k, x in trainer.model.state_dict().items()}
        return losses, weights, trainer.algorithm.plan.decisions


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_it_learns_the_same_whatever_changes(name: str, traced: Any) -> None:
    losses, weights, _ = trained(name, "eager")
    found, others, decisions = trained(name, "compile")
    assert len(losses) >= 2 * len(ORDER)
    assert found == pytest.approx(losses, rel=1e-2, abs=1e-4)
    for key, weight in weights.items():
        torch.testing.assert_close(others[key], weight, rtol=1e-2, atol=1e-3)
    assert not [line for line in decisions if "eager" in line], decisions
    assert [line for line in decisions if "compiled again" in line]


@pytest.mark.parametrize(
    ("name", "module", "speed"),
    [("dqn", "head", "eager"), ("ppo", "actor", "eager"), ("ppo", "actor", "compile")],
)
@pytest.mark.parametrize("what", ["network", "numbers"])
def test_it_acts_with_the_layers_of_now(
    name: str, module: str, speed: str, what: str, traced: Any
) -> None:
    """Exploring or acting well, whether one observation or many."""
    package = importlib.import_module(f"yieldrl.algorithms.{name}")
    greedy = {} if name == "ppo" else {"epsilon_start": 0.0, "epsilon_end": 0.0}
    with package.Trainer(config_of(package, speed=speed, **greedy)) as trainer:
        agent, model = trainer.agent, trainer.model
        for count, wanted in ((1, 0), (64, 0), (1, 1), (64, 1), (1, 0)):
            obs = torch.randn(count, 4).numpy()
            agent.sample(obs)
            last: Any = nn.Linear(8, 2)
            nn.init.zeros_(last.weight)
            last.bias.data = 1e4 * nn.functional.one_hot(torch.tensor(wanted), 2)
            layers = getattr(getattr(model, module), "layers", None)
            if what == "network":
                setattr(model, module, nn.Sequential(nn.Linear(4, 8), nn.Tanh(), last))
            else:
                layers[-1].load_state_dict(last.state_dict())
            assert (agent.sample(obs)[0] == wanted).all()
            assert (agent.predict(obs) == wanted).all()
