"""Chapter 1's figure: the loop of agent and environment, one step after the other.

The episode is a real one: Gymnasium's frozen lake with a fixed seed, and the policy
that is best there. Each frame is one step of it: what the agent saw, what it did, and
what came back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium

from yieldrl.envs import value_iteration

SEED = 42  # of an episode that is short, slips, and arrives
ACTIONS = ("left", "down", "right", "up")
MOVES = {-1: "left", 4: "down", 1: "right", -4: "up"}  # change of place -> its name
CAPTION = """\
One turn of the loop is a step. The agent gives an action; the environment gives back a
reward and the next observation, which is the number of the place, row after row. On the
lake: dotted, where the agent stood; solid, where the step took it."""
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
    shown = [frame(played, t) for t in range(len(played))]
    start = 3
    return {
        "title": "The agent acts, the environment answers with a reward and a view",
        "caption": CAPTION,
        "size": (480, 320),
        "svg": drawing(shown[start]),
        "controls": {"step": [str(t + 1) for t in range(len(played))]},
        "start": (start,),
        "parts": PARTS,
        "frames": shown,
    }


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


PARTS = [(".saw", "text"), (".did", "text"), (".earned", "text"), (".sees", "text")]
PARTS += [(".flags", "text"), (".was", "d"), (".is", "d"), (".says", "text")]


def frame(played: list[Step], t: int) -> list[Any]:
    """The values of `PARTS` for step `t`."""
    step = played[t]
    wanted = ACTIONS[step.action]
    earned = sum(one.reward for one in played[: t + 1])
    ended = step.terminated or step.truncated
    said = (
        f"Step {t + 1} of {len(played)}: the agent saw {step.obs}, chose {wanted} and"
        f" {went(step)}. Reward {step.reward:g}; return so far {earned:g}. The episode"
        f" {'is over' if ended else 'goes on'}."
    )
    return [
        f"sees {step.obs}, so it goes {wanted}",
        f"{step.action}, {wanted}",
        f"{step.reward:g}",
        f"{step.next_obs}",
        f"terminated: {step.terminated}, truncated: {step.truncated}",
        cell(step.obs, 2),
        cell(step.next_obs, 5),
        said,
    ]


def went(step: Step) -> str:
    """Where a step took the agent, in words."""
    if step.next_obs == step.obs:
        return f"stayed at {step.obs}, at the edge"
    way, wanted = MOVES[step.next_obs - step.obs], ACTIONS[step.action]
    return f"{'went' if way == wanted else 'slipped'} {way}, to {step.next_obs}"


def drawing(first: list[Any]) -> str:
    """Both boxes, the arrows between them and the lake, as the first frame has them."""
    saw, did, earned, sees, flags, was, now, _ = first
    return (
        f"{box(14, 58)}{box(190, 120)}{lake()}"
        f'<path class="was ink line dotted" d="{was}"/>'
        f'<path class="is red line" d="{now}"/>'
        '<path class="red line" d="M370 43H458V250H376"/>'
        '<path class="red line" d="M384 244L376 250L384 256"/>'
        '<path class="blue line dashed" d="M150 228H112V56H144"/>'
        '<path class="blue line" d="M136 50L144 56L136 62"/>'
        '<path class="ink line" d="M150 272H22V32H144"/>'
        '<path class="ink line" d="M136 26L144 32L136 38"/>'
        f"{text(260, 36, 'agent', bold=True)}{text(260, 56, saw, 'saw')}"
        f"{text(206, 212, 'environment', bold=True)}"
        f"{text(206, 230, 'the frozen lake')}"
        f"{text(430, 118, 'action', bold=True)}{text(430, 136, did, 'did')}"
        f"{text(142, 118, 'reward', bold=True)}{text(142, 136, earned, 'earned')}"
        f"{text(64, 118, 'observation', bold=True)}{text(64, 136, sees, 'sees')}"
        f"{text(260, 176, flags, 'flags')}"
    )


def box(y: int, height: int) -> str:
    """A box in the middle."""
    return f'<rect class="axis" x="150" y="{y}" width="220" height="{height}" rx="5"/>'


def lake() -> str:
    """The map: start, frozen ice, holes, goal."""
    return "".join(
        f'<path class="axis" d="{cell(place, 0)}"/>'
        + text(
            LEFT + CELL * (place % 4) + CELL // 2,
            TOP + CELL * (place // 4) + CELL // 2 + 4,
            letter,
        )
        for place, letter in enumerate("SFFFFHFHFFFHHFFG")
    )


def cell(place: int, inset: int) -> str:
    """The border of a place, so many pixels inside of it."""
    x, y = LEFT + CELL * (place % 4) + inset, TOP + CELL * (place // 4) + inset
    side = CELL - 2 * inset
    return f"M{x} {y}h{side}v{side}h-{side}z"


def text(x: int, y: int, words: str, name: str = "", bold: bool = False) -> str:
    """Centred text, of a class if frames are to change it."""
    of_class = f' class="{name}"' if name else ""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text{of_class} x="{x}" y="{y}" text-anchor="middle"{weight}>{words}</text>'
    )
