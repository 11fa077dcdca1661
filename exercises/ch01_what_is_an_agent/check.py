"""What holds of playing one episode."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from yieldrl.envs import value_iteration
from yieldrl.exercises.checking import Wrong, expect, expect_close

LENGTH = 4  # steps of every scripted episode
SEEN = (31, 14, 15, 92, 65, 35, 89)
"""What is observed before the first step, after it, ..., and beyond the end."""
SEED = 7


class Script(gymnasium.Env[Any, Any]):
    """A world that plays what is written, and writes down what is done to it.

    Step `t` earns `2^t`, whatever one does. The episode ends with step 4. Who goes on
    finds a world that goes on, and two steps later ends in the other way.
    """

    observation_space = Discrete(100)
    action_space = Discrete(1000)

    def __init__(self, ends: str = "terminated") -> None:
        self.terminates = LENGTH if ends == "terminated" else LENGTH + 2
        self.truncates = 2 * LENGTH + 2 - self.terminates
        self.resets: list[int | None] = []
        self.actions: list[Any] = []
        self.now = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        self.resets.append(seed)
        self.now = 0
        return SEEN[0], {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.actions.append(action)
        if len(self.actions) > 10 * LENGTH:
            raise Wrong(
                f"an episode of {LENGTH} steps is still going on after {10 * LENGTH}",
                "the loop never ends: one flag is enough, `terminated` or `truncated`",
            )
        reward = 2.0**self.now
        self.now += 1
        terminated, truncated = self.now == self.terminates, self.now == self.truncates
        return SEEN[min(self.now, len(SEEN) - 1)], reward, terminated, truncated, {}


def rewards(answer: Any) -> None:
    """The return is the sum of all rewards, the last one with them."""
    got, _ = _play(answer, Script())
    all_of_them = 2.0**LENGTH - 1
    mistakes = {
        "the last reward is missing: add it before the loop ends": all_of_them - 8,
        "the first reward is missing": all_of_them - 1,
        "this is the last reward alone: add to what there is": 8.0,
        "this is the mean of the rewards, not their sum": all_of_them / LENGTH,
        "return and length are exchanged": float(LENGTH),
        "`terminated` does not end the episode": 2.0 ** (LENGTH + 2) - 1,
    }
    expect_close(got, all_of_them, named="the return", mistakes=mistakes)


def steps(answer: Any) -> None:
    """The length is the number of steps."""
    _, got = _play(answer, Script())
    mistakes = {
        "it starts at 1, or counts observations: before a step it is 0": LENGTH + 1,
        "the last step is not counted": LENGTH - 1,
    }
    expect_close(got, LENGTH, named="the length", mistakes=mistakes)


def observations(answer: Any) -> None:
    """The policy is asked once a step, about what was observed last."""
    asked: list[Any] = []

    def policy(obs: Any) -> int:
        asked.append(obs)
        return 0

    _play(answer, Script(), policy)
    expect(
        bool(asked),
        "the policy is never asked",
        "let the policy choose the actions: nobody else may",
    )
    expect(
        len(asked) == LENGTH,
        f"the policy is asked {len(asked)} times in {LENGTH} steps",
        "ask it once a step: a policy may answer differently each time",
    )
    first = np.array(SEEN[:LENGTH])
    mistakes = {
        "it is always the first observation: `step` returns the next": 0 * first + 31,
        "it is the observation before the last": np.array([31, *SEEN[: LENGTH - 1]]),
    }
    for hint, wrong in mistakes.items():
        expect(list(wrong) != asked, f"the policy is asked about {asked}", hint)
    expect_close(np.array(asked), first, named="observation")


def actions(answer: Any) -> None:
    """The environment is stepped with what the policy says."""
    env = Script()
    _play(answer, env, lambda obs: 10 * obs)
    want = [10 * obs for obs in SEEN[:LENGTH]]
    expect(
        env.actions == want,
        f"the actions are {env.actions}, expected {want}",
        "step with the action of the policy, as it is",
    )


def truncation(answer: Any) -> None:
    """An episode that is truncated is over as well."""
    got, length = _play(answer, Script(ends="truncated"))
    all_of_them, hint = 2.0**LENGTH - 1, "`truncated` does not end the episode"
    mistakes = {
        hint: 2.0 ** (LENGTH + 2) - 1,
        "the last reward is missing where an episode is truncated": all_of_them - 8,
    }
    expect_close(got, all_of_them, named="the return", mistakes=mistakes)
    expect_close(length, LENGTH, named="the length", mistakes={hint: LENGTH + 2})


def resets(answer: Any) -> None:
    """The environment is reset once, with the seed, and then left where it ended."""
    env = Script()
    _play(answer, env)
    expect(
        len(env.resets) == 1,
        f"the environment is reset {len(env.resets)} times",
        "reset it once, before the first step",
    )
    expect(
        env.resets == [SEED],
        f"the seed of the reset is {env.resets[0]}, expected {SEED}",
        "hand the seed on: without it no episode can be played again",
    )


def lake(answer: Any) -> None:
    """On the frozen lake fifty episodes come out as they should."""
    env = gymnasium.make("FrozenLake-v1")
    table: Any = env.unwrapped
    best = value_iteration(table.P, gamma=0.99)[1].argmax(1)

    def policy(obs: Any) -> int:
        return int(best[obs])

    seeds = range(50)
    got, want, endless = (
        np.array([one(seed) for seed in seeds], float)
        for one in (
            lambda seed: _play(answer, env, policy, seed),
            lambda seed: _right(env, policy, seed),
            lambda seed: _right(env.unwrapped, policy, seed),  # without a time limit
        )
    )
    mistakes = {"`truncated` does not end the episode": endless}
    hint = "a row is an episode: its return, and its length"
    expect_close(got, want, named="episode", hint=hint, mistakes=mistakes)


def _play(
    answer: Any, env: Any, policy: Any = lambda obs: 0, seed: int = SEED
) -> tuple[Any, Any]:
    """The return and the length that the answer gives."""
    got = answer.play(env, policy, seed)
    expect(got is not None, "play returns None", "does the function return its result?")
    expect(
        isinstance(got, tuple) and len(got) == 2,
        f"play returns {got!r}, expected two numbers",
        "end with `return total, length`, in this order",
    )
    return got


def _right(env: Any, policy: Any, seed: int) -> tuple[float, int]:
    obs, _ = env.reset(seed=seed)
    earned: list[float] = []
    while True:
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        earned.append(float(reward))
        if terminated or truncated:
            return sum(earned), len(earned)
