"""Training goes on where it stopped, at whatever instruction an exception came."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from worlds import Counter

from yieldrl.algorithms import (
    behavior_cloning,
    dqn,
    dreamer,
    ppo,
    ppo_lstm,
    q_learning,
    reinforce,
    sac,
)
from yieldrl.envs import SerialVectorEnv

ROOT = str(Path(__file__).parents[1])
POINTS = 3  # lines of every run; sixty of each were tried
OFF_POLICY = {"learning_starts": 8, "batch_size": 4, "hidden_sizes": (4,)}
ON_POLICY = {"num_steps": 4, "hidden_sizes": (4,)}
IMAGINED = {"sequence_length": 2, "horizon": 2, "memory_size": 4}
CASES = {
    ppo: {**ON_POLICY, "num_minibatches": 1, "num_epochs": 2},
    ppo_lstm: {**ON_POLICY, "num_minibatches": 2, "num_epochs": 1, "lstm_size": 4},
    reinforce: {"num_episodes": 2, "hidden_sizes": (4,)},
    dqn: {**OFF_POLICY, "target_every": 3, "train_every": 4},
    sac: {**OFF_POLICY, "train_every": 4},
    dreamer: {**OFF_POLICY, **IMAGINED, "train_every": 4},
    q_learning: {},
    behavior_cloning: {"batch_size": 4, "num_epochs": 1, "hidden_sizes": (4,)},
}


def trainer_of(module):
    options = {**CASES[module], "total_steps": 32, "eval_every": 0, "device": "cpu"}
    if module is behavior_cloning:
        options["demonstration_steps"] = options.pop("total_steps")
    config = module.Config(**options)
    if module in (behavior_cloning, q_learning, sac):
        return module.Trainer(config)  # whose spaces are not a Counter's
    return module.Trainer(config, envs=SerialVectorEnv([lambda: Counter(5)] * 2))


class Interruption:
    """Raises at the given line that this project runs; counts them without one."""

    def __init__(self, at=None):
        self.at, self.lines = at, 0

    def __call__(self, frame, event, argument):
        file = frame.f_code.co_filename
        if not file.startswith(ROOT) or "/tests/" in file or "/site-packages/" in file:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                raise KeyboardInterrupt
        return self

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)


def train(trainer, at=None):
    with Interruption(at) as interruption:
        list(trainer())
    return interruption.lines


def check_transitions(trainer, seen):
    """Whatever is written down was seen: a Counter's step leads from n to n + 1."""
    add = trainer.buffer.add

    def checked(transition):
        led = transition["next_obs"] - transition["obs"]
        assert np.array_equal(led, np.broadcast_to([0.0, 1.0], led.shape))
        seen.append(transition)
        return add(transition)

    trainer.buffer.add = checked


@pytest.mark.parametrize("module", CASES, ids=lambda module: module.__package__)
def test_an_exception_at_any_line_ends_nothing(module):
    whole = trainer_of(module)
    lines = train(whole)
    # A step may be remembered and not yet counted: then there is one rollout more.
    options = CASES[module]
    steps = options.get("num_epochs", 1) * options.get("num_minibatches", 1)
    rng = random.Random(lines)
    for at in sorted(rng.sample(range(1, lines), POINTS)):
        trainer, seen = trainer_of(module), []
        if trainer.envs.single_observation_space.shape == (2,):
            check_transitions(trainer, seen)
        with pytest.raises(KeyboardInterrupt):
            train(trainer, at)
        for count, _ in enumerate(trainer()):
            assert count < 500, f"interrupted at line {at}, it never ends"
        assert trainer.training_done
        size = trainer.envs.num_envs
        assert 32 <= trainer.agent.sample_step < 32 + size * 4
        extra = trainer.agent.learn_step - whole.agent.learn_step
        if module is reinforce:  # how many episodes there are depends on where they end
            assert trainer.agent.learn_step > 0
        else:
            assert -steps <= extra <= steps, f"interrupted at line {at}"
        assert not any(p.isnan().any() for p in trainer.model.parameters())


@pytest.mark.parametrize("module", [ppo, dqn, reinforce, q_learning])
def test_a_step_that_learn_refused_is_taken_anew(module):
    """Bitwise: nothing had moved yet, and nothing is drawn anew."""
    whole, trainer = trainer_of(module), trainer_of(module)
    losses = [log["logs"] for log in whole() if log["log_type"] == "train"]
    learn, calls = trainer.algorithm.learn, []

    def flaky(data):
        calls.append(1)
        if len(calls) in (1, 3):
            raise ConnectionError
        return learn(data)

    trainer.algorithm.learn, found = flaky, []
    for _ in range(3):
        try:
            found += [log["logs"] for log in trainer() if log["log_type"] == "train"]
        except ConnectionError:
            continue
    assert len(calls) == len(losses) + 2
    assert trainer.agent.learn_step == whole.agent.learn_step
    if module is dqn:
        return  # the batch was drawn: the next try draws another
    for one, two in zip(
        whole.model.parameters(), trainer.model.parameters(), strict=True
    ):
        assert one.equal(two)
