"""Chapter 1's figure: the loop of agent and environment, one step after the other.

The episode is a real one: Gymnasium's frozen lake with a fixed seed, and the policy
that is best there. Each frame is one step of it: what the agent saw, what it did, and
what came back.
"""

from typing import Any

import gymnasium

from yieldrl.envs import value_iteration

from . import drawing as svg
from .drawing import Frame, Grid

SEED = 42  # of an episode that is short, slips, and arrives
ACTIONS = ("left", "down", "right", "up")
MOVES = {-1: "left", 4: "down", 1: "right", -4: "up"}  # change of place -> its name
GRID = Grid(4, 22, 268, 206)  # the lake, as drawn


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


def episode() -> list[tuple[int, int, float, int, bool, bool]]:
    """All steps of one episode under the best policy.

    Each is the observation, the action, the reward, the next observation, terminated
    and truncated.
    """
    env = gymnasium.make("FrozenLake-v1")
    table: Any = env.unwrapped
    best = value_iteration(table.P, gamma=0.99)[1].argmax(1)
    (obs, _), ended, played = env.reset(seed=SEED), False, []
    while not ended:
        action, before = int(best[obs]), obs
        obs, reward, *flags, _ = env.step(action)
        played.append((before, action, float(reward), obs, *flags))
        ended = any(flags)
    return played


def frame(played: list[tuple[int, int, float, int, bool, bool]], t: int) -> Frame:
    """Step `t`."""
    obs, action, reward, after, terminated, truncated = played[t]
    wanted, way = ACTIONS[action], MOVES.get(after - obs)
    went = f"{'went' if way == wanted else 'slipped'} {way}, to {after}"
    went = went if way else f"stayed at {obs}, at the edge"
    earned = sum(step[2] for step in played[: t + 1])
    said = (
        f"Step {t + 1} of {len(played)}: the agent saw {obs}, chose {wanted} and"
        f" {went}. Reward {reward:g}; return so far {earned:g}. The episode"
        f" {'is over' if terminated or truncated else 'goes on'}."
    )
    return {
        "saw text": f"sees {obs}, so it goes {wanted}",
        "did text": f"{action}, {wanted}",
        "earned text": f"{reward:g}",
        "sees text": f"{after}",
        "flags text": f"terminated: {terminated}, truncated: {truncated}",
        "was d": GRID.square(obs, 2),
        "is d": GRID.square(after, 5),
        "says text": said,
    }
