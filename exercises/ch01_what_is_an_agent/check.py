"""What holds of playing one episode."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from yieldrl.envs import value_iteration
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import expect

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

    def __init__(self, ends: str) -> None:
        self.ends = (LENGTH, LENGTH + 2)[:: 1 if ends == "terminated" else -1]
        self.resets: list[int | None] = []
        self.actions: list[Any] = []
        self.now = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, Any]:
        self.resets.append(seed)
        self.now = 0
        return SEEN[0], {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.actions.append(action)
        late = f"an episode of {LENGTH} steps is still going on after {10 * LENGTH}"
        hint = "an episode is over with either flag, `terminated` or `truncated`"
        expect(len(self.actions) <= 10 * LENGTH, late, hint)
        reward = 2.0**self.now
        self.now += 1
        terminated, truncated = (self.now == end for end in self.ends)
        return SEEN[min(self.now, len(SEEN) - 1)], reward, terminated, truncated, {}


def play(answer: Any, ends: str = "terminated") -> tuple[Any, ...]:
    """What came out, what the policy was asked, and what was done to the world."""
    asked: list[Any] = []
    env = Script(ends)
    got = answer.play(env, lambda obs: asked.append(obs) or 10 * obs, SEED)
    expect(got is not None, "play returns None", "does the function return its result?")
    two = isinstance(got, tuple) and len(got) == 2
    hint = "end with `return total, length`, in this order"
    expect(two, f"play returns {got!r}, expected two numbers", hint)
    hint = "let the policy, and nothing else, choose the actions"
    expect(bool(asked), "the policy is never asked", hint)
    return (*got, *(np.array(of, float) for of in (asked, env.actions, env.resets)))


def lake(answer: Any) -> np.ndarray:
    """Fifty episodes of the best policy there."""
    env = gymnasium.make("FrozenLake-v1")
    table: Any = env.unwrapped
    best = value_iteration(table.P, gamma=0.99)[1].argmax(1)
    played = [answer.play(env, lambda obs: int(best[obs]), n) for n in range(50)]
    return np.array(played)


CHAPTER = Chapter(__name__)
CHAPTER.same(
    play,
    "The return is the sum of all rewards, the last one with them",
    {"the return"},
    (),
    "The length is the number of steps",
    {"the length"},
    (),
    "The policy is asked once a step, about what was observed last",
    {"observation"},
    (),
    "The environment is stepped with what the policy says",
    {"action"},
    (),
    "An episode that is truncated is over as well",
    {"the return", "the length"},
    ("truncated",),
    "The environment is reset once, with the seed, and then left where it ended",
    {"seed of a reset"},
    (),
    named=("the return", "the length", "observation", "action", "seed of a reset"),
)
says = "On the frozen lake fifty episodes come out as they should"
CHAPTER.same(lake, says, (), named="episode")
