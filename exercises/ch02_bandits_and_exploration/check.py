"""What holds of epsilon-greedy choices and of incremental means."""

from __future__ import annotations

from typing import Any

import numpy as np
from tensordict import TensorDict

from yieldrl.abstractions import Logs
from yieldrl.algorithms import q_learning
from yieldrl.exercises.checking import expect, expect_close

DRAWS = 2_000
"""Choices of which shares are taken: hardly ever is one off by 0.04."""

HINTS = {
    "inverted": "epsilon is inverted: it is the probability of a *random* action",
    "worst": "this is the worst action, not the best",
    "nearly": "almost the best is not the best: compare exactly, and add no noise",
    "first": "of several best actions it is always the first: argmax does that",
    "last": "of several best actions it is always the last",
    "any": "at a tie it takes any action, not one of the best",
    "never": "epsilon is not used: nothing is ever random",
    "others": "a random action leaves the best one out: all of them may be drawn",
    "short": "the last action is never random: rng.integers(n) ends before n itself",
    "no zero": "action 0 is never random: actions are numbered from 0",
    "switch": "epsilon is a probability, not a switch: compare rng.random() with it",
    "late": "n is off by one: at the first reward, with itself counted, n is 1",
    "early": "n is 0 at the first reward: count the reward, then divide",
    "sum": "rewards are summed up: move by the difference, reward - value",
    "away": "it moves away from the reward: the difference is reward - value",
    "everywhere": "the values of all actions move, not the chosen one's alone",
    "constant": "the learning rate is constant: for a mean it is 1 / n",
    "last reward": "only the last reward is left: move by 1 / n of the difference",
    "all steps": "n counts the steps of all actions, not those of this one",
}
"""Mistake -> what to say of it."""


def greedy(answer: Any) -> None:
    """With epsilon 0 the best action is taken, always."""
    value = np.array([-3.0, -1.0, -1.0 - 1e-6, -2.0])
    _expect_shares(
        answer,
        value,
        0.0,
        [0, 1, 0, 0],
        inverted=[0.25] * 4,
        worst=[1, 0, 0, 0],
        nearly=[0, 0.5, 0.5, 0],
    )


def ties(answer: Any) -> None:
    """Of several best actions each is as likely as the others."""
    third = 1 / 3
    _expect_shares(
        answer,
        np.array([1.0, 3.0, 3.0, 0.0, 3.0]),
        0.0,
        [0, third, third, 0, third],
        first=[0, 1, 0, 0, 0],
        last=[0, 0, 0, 0, 1],
        any=[0.2] * 5,
    )
    untouched = {"first": [1.0, 0, 0, 0], "last": [0, 0, 0, 1.0]}
    _expect_shares(answer, np.zeros(4), 0.0, [0.25] * 4, **untouched)


def exploring(answer: Any) -> None:
    """With epsilon 1 all actions are equally likely, the best one too."""
    third = 1 / 3
    _expect_shares(
        answer,
        np.array([0.0, 2.0, 1.0, 0.0]),
        1.0,
        [0.25] * 4,
        never=[0, 1, 0, 0],
        others=[third, 0, third, third],
        short=[third, third, third, 0],
        **{"no zero": [0, third, third, third]},
    )


def between(answer: Any) -> None:
    """In between the best one is taken with probability 1 - epsilon + epsilon / A."""
    _expect_shares(
        answer,
        np.array([0.0, 2.0, 1.0, 0.0]),
        0.4,
        [0.1, 0.7, 0.1, 0.1],
        never=[0, 1, 0, 0],
        switch=[0.25] * 4,
        inverted=[0.15, 0.55, 0.15, 0.15],
    )


def chance(answer: Any) -> None:
    """All chance comes from `rng`, and the values stay as they were."""
    value = np.array([1.0, 3.0, 3.0, 0.0])
    runs = [_choices(answer, value, 0.5, 50, seed=7) for _ in range(2)]
    expect(
        runs[0] == runs[1],
        "two generators with one seed led to different choices",
        "draw from rng, not from np.random: else no run can be repeated",
    )
    expect_close(value, np.array([1.0, 3.0, 3.0, 0.0]), named="value")


def first_reward(answer: Any) -> None:
    """An action's first reward is its value, whatever was there, and only its own."""
    value = _after(answer, [5.0, 1.0, -1.0], [(0, 2.0)])[0]
    expect(
        bool(np.isfinite(value).all()), f"value[0] is {value[0]:.5g}", HINTS["early"]
    )
    unchanged = "nothing changed: change the arrays in place, value[action] += ..."
    expect(value.tolist() != [5.0, 1.0, -1.0], "value[0] is 5, expected 2", unchanged)
    mistakes = {
        "late": [3.5, 1.0, -1.0],
        "sum": [7.0, 1.0, -1.0],
        "away": [8.0, 1.0, -1.0],
        "everywhere": [2.0, 2.0, 2.0],
    }
    _expect_values(value, [2.0, 1.0, -1.0], mistakes, hint=HINTS["constant"])


def mean(answer: Any) -> None:
    """After n rewards a value is their mean, and `count` is n."""
    steps = [(1, 4.0), (0, 1.0), (1, 0.0), (1, 2.0), (0, 0.0), (1, -3.0)]
    value, count = _after(answer, [0.0, 0.0, 0.0], steps)
    mistakes = {
        "last reward": [0.0, -3.0, 0.0],
        "all steps": _with_rates(steps, lambda n, t: 1 / t),
        "late": _with_rates(steps, lambda n, t: 1 / (n + 1)),
    }
    _expect_values(value, [0.5, 0.75, 0.0], mistakes, hint=HINTS["constant"])
    expect_close(count, np.array([2.0, 4.0, 0.0]), named="count")


def training(answer: Any) -> None:
    """Q-learning that uses both has the table of the library's own, step by step."""

    class Algorithm(answer.Algorithm):
        def learn(self, data: TensorDict) -> Logs:
            own = q_learning.Algorithm(self.model, self.config)
            table, own.visits = self.model.table.clone(), self.visits.clone()
            logs = super().learn(data)
            got = self.model.table.clone()
            self.model.table.copy_(table)
            own.learn(data)
            expect_close(got, self.model.table.clone(), named="table")
            expect_close(self.visits, own.visits, named="visits")
            return logs

    class Trainer(answer.Trainer):
        algorithm_class = Algorithm

    config = q_learning.Config(
        num_envs=2, total_steps=600, visit_power=1.0, eval_every=0, seed=2
    )
    for _ in Trainer(config)():
        pass


def _choices(
    answer: Any, value: np.ndarray, epsilon: float, count: int, seed: int = 2
) -> list[int]:
    """So many choices; each must be the number of an action."""
    rng, chosen = np.random.default_rng(seed), []
    for _ in range(count):
        action = answer.epsilon_greedy(value, epsilon, rng)
        kind = type(action).__name__
        expect(action is not None, "it returned None", "does it return its action?")
        whole = isinstance(action, int | np.integer)
        expect(whole, f"it returned {action!r}, a {kind}; expected the number, an int")
        exists = 0 <= action < len(value)
        expect(exists, f"it chose {action}, of {len(value)} actions from 0 on")
        chosen.append(int(action))
    return chosen


def _expect_shares(
    answer: Any,
    value: np.ndarray,
    epsilon: float,
    want: list[float],
    **mistakes: list[float],
) -> None:
    """How often each action is chosen, against what is right and what is known."""
    chosen = _choices(answer, value.copy(), epsilon, DRAWS)
    expect_close(
        np.bincount(chosen, minlength=len(value)) / DRAWS,
        np.array(want, float),
        named="share of choices",
        mistakes={HINTS[name]: np.array(of) for name, of in mistakes.items()},
        tolerance=0.05,
    )


def _expect_values(
    got: np.ndarray, want: list[float], mistakes: dict[str, list[float]], hint: str
) -> None:
    known = {HINTS[name]: np.array(of) for name, of in mistakes.items()}
    expect_close(got, np.array(want), named="value", hint=hint, mistakes=known)


def _after(
    answer: Any, value: list[float], steps: list[tuple[int, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """Values and counts after rewards, which begin with the given values."""
    values, count = np.array(value), np.zeros(len(value))
    with np.errstate(all="ignore"):  # 1 / 0 is a mistake that has a hint
        for action, reward in steps:
            answer.update(values, count, action, reward)
    return values, count


def _with_rates(steps: list[tuple[int, float]], rate: Any) -> list[float]:
    """What values become if a learning rate depends on n, of the action, and on t."""
    values, count = [0.0] * 3, [0] * 3
    for t, (action, reward) in enumerate(steps, 1):
        count[action] += 1
        values[action] += rate(count[action], t) * (reward - values[action])
    return values
