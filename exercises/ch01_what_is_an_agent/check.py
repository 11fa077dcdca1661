"""What holds of playing one episode."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from yieldrl.envs import value_iteration
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import Wrong, expect

LENGTH, SEED = 4, 7
# what is observed before the first step, after it, ..., and beyond the end
SEEN = (31, 14, 15, 92, 65, 35, 89)


class Script(gymnasium.Env[Any, Any]):
    """An environment that plays a script, and records what is done to it.

    Step `t` earns `2^t`, whatever the action. The episode ends with step 4. If it is
    stepped further it ends again two steps later, in the other way.
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
                "an episode is over with either flag, `terminated` or `truncated`",
            )
        reward = 2.0**self.now
        self.now += 1
        terminated, truncated = self.now == self.terminates, self.now == self.truncates
        return SEEN[min(self.now, len(SEEN) - 1)], reward, terminated, truncated, {}


def _play(
    answer: Any, env: Any, policy: Any = lambda obs: 0, seed: int = SEED
) -> tuple[Any, Any]:
    got = answer.play(env, policy, seed)
    expect(got is not None, "play returns None", "does the function return its result?")
    expect(
        isinstance(got, tuple) and len(got) == 2,
        f"play returns {got!r}, expected two numbers",
        "end with `return total, length`, in this order",
    )
    return got


def _asked(answer: Any) -> np.ndarray:
    asked: list[Any] = []
    _play(answer, Script(), lambda obs: asked.append(obs) or 0)
    hint = "let the policy, and nothing else, choose the actions"
    expect(bool(asked), "the policy is never asked", hint)
    expect(
        len(asked) == LENGTH,
        f"the policy is asked {len(asked)} times in {LENGTH} steps",
        "ask it once a step: a policy may answer differently each time",
    )
    return np.array(asked)


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


def resets(answer: Any) -> None:
    """The environment is reset once, with the seed, and then left where it ended."""
    env = Script()
    _play(answer, env)
    times = f"the environment is reset {len(env.resets)} times"
    expect(len(env.resets) == 1, times, "reset it once, before the first step")
    expect(
        env.resets == [SEED],
        f"the seed of the reset is {env.resets[0]}, expected {SEED}",
        "hand the seed on: without it no episode can be played again",
    )


def _lake(answer: Any) -> np.ndarray:
    env = gymnasium.make("FrozenLake-v1")
    table: Any = env.unwrapped
    best = value_iteration(table.P, gamma=0.99)[1].argmax(1)
    played = [_play(answer, env, lambda obs: int(best[obs]), n) for n in range(50)]
    return np.array(played, float)


CHAPTER = Chapter(__name__)
PROPERTIES = [
    *CHAPTER.same(
        lambda answer: _play(answer, Script())[0],
        "The return is the sum of all rewards, the last one with them",
        (),
        named="the return",
    ),
    *CHAPTER.same(
        lambda answer: _play(answer, Script())[1],
        "The length is the number of steps",
        (),
        named="the length",
    ),
    *CHAPTER.same(
        _asked,
        "The policy is asked once a step, about what was observed last",
        (),
        named="observation",
    ),
    actions,
    *CHAPTER.same(
        lambda answer: _play(answer, Script(ends="truncated")),
        "An episode that is truncated is over as well",
        (),
        named=("the return", "the length"),
    ),
    resets,
    *CHAPTER.same(
        _lake,
        "On the frozen lake fifty episodes come out as they should",
        (),
        named="episode",
    ),
]
