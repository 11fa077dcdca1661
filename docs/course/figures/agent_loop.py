"""Chapter 1's figure: the loop of agent and environment, one step after the other.

The episode is a real one: Gymnasium's frozen lake with a fixed seed, and the policy
that is best there. Each frame is one step of it: what the agent saw, what it did, and
what came back.
"""

from typing import Any, NamedTuple

import gymnasium

from yieldrl.envs import value_iteration

from . import drawing as svg
from .drawing import Frame

SEED = 42  # of an episode that is short, slips, and arrives
ACTIONS = ("left", "down", "right", "up")
MOVES = {-1: "left", 4: "down", 1: "right", -4: "up"}  # change of place -> its name
CELL, LEFT, TOP = 22, 268, 206  # of the lake, in pixels


class Step(NamedTuple):
    """One step of an episode."""

    obs: int
    action: int
    reward: float
    next_obs: int
    terminated: bool
    truncated: bool


def figure() -> dict[str, Any]:
    """All frames: one for every step."""
    played = episode()
    return svg.figure(
        size=(480, 320),
        svg=svg.drawn("agent_loop"),
        controls={"step": {str(t + 1): t for t in range(len(played))}},
        start=("4",),
        frame=lambda t: frame(played, t),
    )


def episode() -> list[Step]:
    """All steps of one episode under the best policy."""
    env = gymnasium.make("FrozenLake-v1")
    table: Any = env.unwrapped
    best = value_iteration(table.P, gamma=0.99)[1].argmax(1)
    obs, _ = env.reset(seed=SEED)
    played: list[Step] = []
    while not played or not (played[-1].terminated or played[-1].truncated):
        action = int(best[obs])
        after, reward, terminated, truncated, _ = env.step(action)
        played.append(Step(obs, action, float(reward), after, terminated, truncated))
        obs = after
    return played


def frame(played: list[Step], t: int) -> Frame:
    """Step `t`."""
    step = played[t]
    wanted = ACTIONS[step.action]
    earned = sum(one.reward for one in played[: t + 1])
    ended = step.terminated or step.truncated
    said = (
        f"Step {t + 1} of {len(played)}: the agent saw {step.obs}, chose {wanted} and"
        f" {went(step)}. Reward {step.reward:g}; return so far {earned:g}. The episode"
        f" {'is over' if ended else 'goes on'}."
    )
    return {
        "saw text": f"sees {step.obs}, so it goes {wanted}",
        "did text": f"{step.action}, {wanted}",
        "earned text": f"{step.reward:g}",
        "sees text": f"{step.next_obs}",
        "flags text": f"terminated: {step.terminated}, truncated: {step.truncated}",
        "was d": cell(step.obs, 2),
        "is d": cell(step.next_obs, 5),
        "says text": said,
    }


def went(step: Step) -> str:
    """Where a step took the agent, in words."""
    if step.next_obs == step.obs:
        return f"stayed at {step.obs}, at the edge"
    way, wanted = MOVES[step.next_obs - step.obs], ACTIONS[step.action]
    return f"{'went' if way == wanted else 'slipped'} {way}, to {step.next_obs}"


def cell(place: int, inset: int) -> str:
    """The border of a place, so many pixels inside of it."""
    x, y = LEFT + CELL * (place % 4) + inset, TOP + CELL * (place // 4) + inset
    side = CELL - 2 * inset
    return f"M{x} {y}h{side}v{side}h-{side}z"
