"""What holds of a sweep of value iteration."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from yieldrl.envs import value_iteration
from yieldrl.envs.planning import Outcome, Table
from yieldrl.exercises.checking import expect, expect_close

HINTS = {
    "no reward": "the reward is left out: only V(s') counts",
    "no discount": "the next value is not discounted: gamma V(s')",
    "all discounted": "the reward is discounted too: gamma belongs to V(s') alone",
    "no future": "the next value is missing, or counts as zero",
    "own value": "value[state] is taken for value[next_state]",
    "luckiest": "the luckiest outcome counts, but nobody can choose it: take the mean",
    "unweighted": "the outcomes are taken for equally likely: weigh by probability",
    "no chance": "the probabilities are missing: outcomes are added as they are",
    "mean action": "the mean of the actions is taken, and an action can be chosen: max",
    "worst": "the worst action is taken: max, not min",
    "never below": "no value falls below 0: the best action may still be a loss",
    "bootstrap": "the bootstrap ignores `terminated`: V(s') counts after the end",
    "lost reward": "the reward of the last step is lost: only its future is 0",
    "in place": "values of this sweep are read in it: keep the old values apart",
}
"""Mistake -> what to say of it."""

GAMMA = 0.9
VALUE = np.array([4.0, 10.0, 2.0, 6.0])
"""What the states of the small worlds below were thought to be worth."""

LIMIT = 100  # steps after which Gymnasium cuts an episode on the lake


def one_outcome(answer: Any) -> None:
    """With one action and one outcome it is r + gamma V(s')."""
    table = _world([(1.0, 1, 3.0, False)])
    mistakes = "no reward", "no discount", "all discounted", "no future", "own value"
    _expect(answer, table, *mistakes)


def outcomes(answer: Any) -> None:
    """Of all that can follow the mean counts, weighed by probability."""
    table = _world([(0.75, 1, 1.0, False), (0.25, 3, 20.0, False)])
    _expect(answer, table, "luckiest", "unweighted", "no chance")


def actions(answer: Any) -> None:
    """Of all actions the best one counts, even if it is a loss."""
    good, bad = [(1.0, 1, 5.0, False)], [(1.0, 2, 5.0, False)]
    _expect(answer, _world(good, bad), "mean action", "worst")
    _expect(answer, _world(bad, good), "mean action", "worst")
    worse = [(1.0, 2, -8.0, False)]
    losses = _world(worse, [(1.0, 2, -3.0, False)])
    _expect(answer, losses, "mean action", "worst", "never below")


def termination(answer: Any) -> None:
    """A terminated outcome has its reward, and no future."""
    table = _world([(0.5, 1, 4.0, True), (0.5, 3, 1.0, False)])
    _expect(answer, table, "bootstrap", "lost reward", "no future")


def old_values(answer: Any) -> None:
    """All states are updated from the old values, which stay as they were."""
    table = {state: {0: [(1.0, (state + 3) % 4, 1.0, False)]} for state in range(4)}
    _expect(answer, table, "in place", "own value")
    value = VALUE.copy()
    answer.sweep(table, value, GAMMA)
    hint = "the argument was changed in place: work on a copy"
    expect_close(value, VALUE, named="the old value", hint=hint)


def fixed_point(answer: Any) -> None:
    """Sweep upon sweep, any values become the best ones there are."""
    rng = np.random.default_rng(3)
    table = _random_world(rng)
    value = rng.normal(size=len(table))
    for _ in range(200):
        value = answer.sweep(table, value, GAMMA)
    want, _ = value_iteration(table, GAMMA)
    expect_close(value, want, named="value", hint="one sweep leaves V* as it is")


def lake(answer: Any) -> None:
    """On FrozenLake the start is worth 0.54, and 74 % of greedy episodes arrive."""
    table = gymnasium.make("FrozenLake-v1").unwrapped.P  # pyright: ignore
    with np.errstate(all="ignore"):  # wrong values may grow without end
        value = answer.plan(table, 0.99)
        policy = answer.greedy(table, value, 0.99)
    want, q_value = value_iteration(table, 0.99)
    expect_close(value, want, named="value", hint="is `plan` as it was?")
    got, best = (_arrives(table, p, LIMIT) for p in (policy, q_value.argmax(1)))
    expect(
        abs(got - best) < 1e-6,
        f"the greedy policy arrives in {got:.2%} of the episodes, expected {best:.2%}",
        "is `greedy` as it was?",
    )


def _world(*choices: list[Outcome]) -> Table:
    """Four states; in the first there is something to choose, the others stay."""
    stay = {state: {0: [(1.0, state, 0.0, False)]} for state in range(1, 4)}
    return {0: dict(enumerate(choices)), **stay}


def _random_world(rng: np.random.Generator) -> Table:
    """Five states, three actions, three outcomes each, some of which end it."""
    return {
        state: {
            action: [
                (
                    float(p),
                    int(rng.integers(5)),
                    float(rng.normal()),
                    rng.random() < 0.1,
                )
                for p in rng.dirichlet(np.ones(3))
            ]
            for action in range(3)
        }
        for state in range(5)
    }


def _expect(answer: Any, table: Table, *mistakes: str) -> None:
    """Compare a sweep with the right one, and with what mistakes would give."""
    expect_close(
        answer.sweep(table, VALUE.copy(), GAMMA),
        _swept(table),
        named="value",
        mistakes={HINTS[mistake]: _swept(table, mistake) for mistake in mistakes},
    )


def _swept(table: Table, mistake: str = "") -> np.ndarray:
    """`VALUE` after one sweep, `[S]`, with or without one mistake."""
    choose = {"mean action": np.mean, "worst": min}.get(mistake, max)
    new = VALUE.copy()
    old = new if mistake == "in place" else VALUE
    for state, choices in table.items():
        worth = [_worth(state, what, old, mistake) for what in choices.values()]
        new[state] = choose(worth)
    return np.maximum(new, 0) if mistake == "never below" else new


def _worth(state: int, outcomes: Any, value: np.ndarray, mistake: str) -> float:
    """What an action is worth by its outcomes, with or without one mistake."""
    gamma = 1.0 if mistake == "no discount" else GAMMA
    chances, worth = [], []
    for probability, next_state, reward, terminated in outcomes:
        future = value[state if mistake == "own value" else next_state]
        if mistake == "no future" or (terminated and mistake != "bootstrap"):
            future = 0.0
        if mistake == "no reward" or (terminated and mistake == "lost reward"):
            reward = 0.0
        if mistake == "all discounted":
            reward = gamma * reward
        chances.append(probability)
        worth.append(reward + gamma * future)
    if mistake == "luckiest":
        return max(worth)
    if mistake == "unweighted":
        return float(np.mean(worth))
    return sum(worth) if mistake == "no chance" else float(np.dot(chances, worth))


def _arrives(table: Table, policy: np.ndarray, limit: int) -> float:
    """The probability to be paid within so many steps from state 0, exactly."""
    here, paid = np.eye(len(table))[0], 0.0
    for _ in range(limit):
        there = np.zeros_like(here)
        for state, chance in enumerate(here):
            for probability, next_state, reward, ended in table[state][policy[state]]:
                paid += chance * probability * reward
                there[next_state] += chance * probability * (not ended)
        here = there
    return paid
