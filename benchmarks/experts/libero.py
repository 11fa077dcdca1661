"""A scripted expert that puts a thing at its goal, by the simulator's poses."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from yieldrl.envs.libero.simulator import Simulator

REACH = 0.05  # m, the hand's largest move in a step
GAIN = 2.0  # commanded move in a step, relative to the way to a point
GRASP = 0.07  # m, the largest width that fits between the fingers
DEEP = 0.03  # m, how far fingers reach down over a thing gripped at its middle
RIM, LOW = 0.008, 0.015  # m, from a wide thing's edge; and from top or ground
NEAR, OVER = 0.012, 0.02  # m, tolerances above the thing, and above its goal
ABOVE, CLEAR = 0.08, 0.04  # m, heights of the hand over a thing, a thing over its goal
HAND = 0.1  # m, from the middle of the hand to its ends

TURN = 0.5  # rad, the hand's largest turn in a step
DOWN = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])  # hand down, fingers along y

OPEN, CLOSE = -1.0, 1.0


class Box(NamedTuple):
    """An axis-aligned bounding box of a thing: corners `[3]` in m."""

    low: np.ndarray
    high: np.ndarray

    @property
    def middle(self) -> np.ndarray:
        return (self.low + self.high) / 2

    def distance(self, point: np.ndarray) -> float:
        """Horizontal distance from a point, in m."""
        outside = np.maximum(self.low - point, point - self.high)[:2]
        return float(np.linalg.norm(outside.clip(min=0.0)))


class LiberoExpert(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds the expert to a `yieldrl/LIBERO-v1`."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def expert(self) -> np.ndarray:
        """The action of `expert_action`, float32 `[7]`."""
        return expert_action(self.get_wrapper_attr("simulator"))


def expert_action(simulator: Simulator | None) -> np.ndarray:
    """The expert's action, float32 `[7]`.

    It has no memory: the action follows from the scene alone, so that it can take over
    from any position of the arm. The hand points down.

    Raises:
        RuntimeError: Before the first reset.
        ValueError: If the task is something else than to put one thing on or into
            another one.
    """
    if simulator is None:
        raise RuntimeError("expert() before reset(): begin an episode first")
    domain = simulator.domain
    verb, name, place = _goal(domain)
    robot = domain.robots[0]
    hand = np.array(domain.sim.data.site_xpos[robot.eef_site_id])
    turn = _turn(domain.sim.data.site_xmat[robot.eef_site_id].reshape(3, 3))
    thing, goal = _box(domain, name), _box(domain, place)
    geoms = robot.gripper.important_geoms
    fingers = [geoms["left_finger"], geoms["right_finger"]]
    held = domain._check_grasp(fingers, domain.get_object(name))
    if held:
        way, gripper = _carry(thing, goal, into=verb == "in")
    else:
        names = [*domain.objects_dict, *domain.fixtures_dict]
        others = [_box(domain, one) for one in names if one != name]
        grip = _grip(thing, others)
        free = _height(hand, grip, [thing, *others]) + ABOVE
        way, gripper = _take(grip - hand, hand[2] - free, thing, goal)
    move = np.clip(GAIN * way / REACH, -1.0, 1.0)
    return np.array([*move, *turn, gripper], np.float32)


def _turn(hand: np.ndarray) -> np.ndarray:
    """The turn, `[3]` in units of `TURN`, that points a hand `[3, 3]` down again."""
    rest = DOWN @ hand.T
    rest = (rest - rest.T) / 2
    axis = np.array([rest[2, 1], rest[0, 2], rest[1, 0]])  # sine of angle times axis
    return np.clip(GAIN * axis / TURN, -1.0, 1.0)


def _take(
    way: np.ndarray, height: float, thing: Box, goal: Box
) -> tuple[np.ndarray, float]:
    """The move, `[3]` in m, to grip a thing, if `way` leads to the grip and the hand is
    `height` above obstacles; and the command of the gripper."""
    apart = np.linalg.norm((goal.middle - thing.middle)[:2])
    if apart < OVER and thing.low[2] < goal.high[2]:
        return np.array([0.0, 0.0, ABOVE]), OPEN  # the thing is at its goal
    if np.linalg.norm(way[:2]) > NEAR:
        way[2] = -height
        if height < -ABOVE / 2:
            way[:2] = 0.0  # up first, so that nothing is knocked over
        return way, OPEN
    return way, CLOSE if abs(way[2]) < NEAR / 1.5 else OPEN


def _carry(thing: Box, goal: Box, *, into: bool) -> tuple[np.ndarray, float]:
    """The move to bring a held thing to its goal and release it; and the gripper."""
    way = goal.middle - thing.middle
    if np.linalg.norm(way[:2]) > OVER:
        way[2] = goal.high[2] + CLEAR - thing.low[2]
        if way[2] > OVER:
            way[:2] = 0.0
        return way, CLOSE
    release = goal.high[2] - OVER if into else goal.low[2] + OVER
    if thing.low[2] <= release:
        return np.zeros(3), OPEN
    way[2] = -REACH
    return way, CLOSE


def _grip(thing: Box, others: Sequence[Box]) -> np.ndarray:
    """The point to grip a thing at, `[3]`: its middle, or, if it is too wide for that,
    the one of two edges that is farther from all else."""
    point, width = thing.middle, (thing.high - thing.low)[1]
    if width <= GRASP:
        point[2] = max(thing.high[2] - DEEP, thing.low[2] + LOW)
        return point
    point[2] = thing.high[2] - LOW
    edges = thing.low[1] + RIM, thing.high[1] - RIM
    sides = [np.array([point[0], edge, point[2]]) for edge in edges]
    return max(sides, key=lambda at: min(other.distance(at) for other in others))


def _height(start: np.ndarray, end: np.ndarray, boxes: Sequence[Box]) -> float:
    """The top, in m, of the boxes that a hand moving straight could touch."""
    low, high = np.minimum(start, end) - HAND, np.maximum(start, end) + HAND
    met = [box for box in boxes if ((box.low < high) & (low < box.high))[:2].all()]
    return max(box.high[2] for box in met)


def _goal(domain: Any) -> tuple[str, str, str]:
    """`"on"` or `"in"`, the thing, and its goal."""
    goals = domain.parsed_problem["goal_state"]
    if len(goals) == 1 and len(goals[0]) == 3:
        verb, name, place = goals[0]
        place = place.removesuffix("_contain_region")
        if verb in ("on", "in") and {name, place} <= domain.objects_dict.keys():
            return verb, name, place
    raise ValueError(
        f"the expert puts one thing on or into another one, and the goal is {goals}:"
        " take a task of libero_spatial or libero_object, or other demonstrations"
    )


def _box(domain: Any, name: str) -> Box:
    """The bounding box of a thing's contact geometries."""
    model, data = domain.sim.model, domain.sim.data
    geoms = [model.geom_name2id(geom) for geom in domain.get_object(name).contact_geoms]
    turned = np.abs(data.geom_xmat[geoms].reshape(-1, 3, 3))
    half = (turned @ model.geom_size[geoms][..., None])[..., 0]
    middle = data.geom_xpos[geoms]
    return Box((middle - half).min(0), (middle + half).max(0))
