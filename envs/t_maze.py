"""T-maze: a signpost at the start shows where to turn at the end of a corridor."""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv, Transition
from yieldrl.envs.batched.inputs import check_range

NORTH, EAST, SOUTH, WEST = range(4)

BUMP = -0.1  # reward of a step into a wall
CELL = 32  # pixels
WALL, FLOOR, GOAL = (90, 90, 90), (255, 255, 255), (90, 170, 90)
SIGN, AGENT = (240, 200, 60), (70, 110, 200)


class TMazeVectorEnv(TorchVectorEnv):
    """Walk down a corridor and turn as the signpost showed, in N mazes on a device.

        signpost                        | goal, if the signpost said north
           S . . . . . . . . . . . . .  J
           0 1 2 ...             length | goal, if it said south

    Only the first observation shows the signpost: `[0, 1, 1]` is north and `[1, 1, 0]`
    south. After it all cells of the corridor look the same, `[1, 0, 1]`, and the
    junction is `[0, 1, 0]`. Actions are 0 north, 1 east, 2 south, 3 west. Turning
    north or south at the junction ends the episode, with a reward of 1 at the goal and
    of 0 opposite. So the return is at most 1, and without a memory 1/2 on average.

    Source: Bakker (2001), "Reinforcement Learning with Long Short-Term Memory", NeurIPS
    14. Differs from the paper: the goal pays 1, not 4, and the wrong turn 0, not
    -0.1, so that returns count right turns; the signpost is visible only at the
    first step, not whenever the agent stands at it.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012
    single_observation_space = spaces.Box(0, 1, (3,))
    single_action_space = spaces.Discrete(4)
    noise_size = 1
    max_episode_steps = 100

    length: int = 10
    """Steps from the start to the junction."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        check_range("length", self.length, 1)
        if self.max_episode_steps is not None and self.max_episode_steps <= self.length:
            raise ValueError(
                f"max_episode_steps = {self.max_episode_steps}: the goal takes"
                f" {self.length + 1} steps in a corridor of length = {self.length}"
            )

    def initial_state(self, noise: Tensor) -> Tensor:
        """Position 0, side of the goal (1 north, 0 south), and 0: at the first step."""
        goal = (noise[0] < 0.5).to(noise.dtype)
        return torch.stack((torch.zeros_like(goal), goal, torch.zeros_like(goal)))

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        position, goal, _ = state.unbind()
        at_junction = position == self.length
        turned = at_junction & ((action == NORTH) | (action == SOUTH))
        right = turned & ((action == NORTH) == (goal == 1))
        east = (action == EAST) & ~at_junction
        west = (action == WEST) & (position > 0)
        bumped = ~(turned | east | west)
        reward = right.float() + BUMP * bumped
        position = position + east.to(goal.dtype) - west.to(goal.dtype)
        return torch.stack((position, goal, torch.ones_like(goal))), reward, turned

    def observe(self, state: Tensor) -> Tensor:
        """The three bits of a cell, `[N, 3]`."""
        position, goal, started = state.unbind()
        at_start, at_junction = started == 0, position == self.length
        # The neighbours distinguish junction, corridor, and the signpost's two sides.
        middle = at_start | at_junction
        left = torch.where(at_start, goal == 0, ~at_junction)
        right = torch.where(at_start, goal == 1, ~at_junction)
        return torch.stack((left, middle, right), dim=-1).float()

    def draw(self, state: np.ndarray, index: int) -> np.ndarray:
        """Frame from above: agent blue, goal green, visible signpost yellow."""
        position, goal, started = (int(number) for number in state)
        cells = np.full((3, self.length + 1, 3), WALL, np.uint8)
        cells[1] = cells[[0, 2], -1] = FLOOR
        cells[0 if goal else 2, -1] = GOAL
        if not started:
            cells[0 if goal else 2, 0] = SIGN
        cells[1, position] = AGENT
        return cells.repeat(CELL, 0).repeat(CELL, 1)
