"""The grid: its dynamics, observations and expert."""

import re
from collections.abc import Sequence
from math import comb
from typing import Any, Literal

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.inputs import check_choice, check_range
from yieldrl.envs.grid_world import objects
from yieldrl.envs.grid_world.objects import KINDS, NAMEABLE, distinct
from yieldrl.envs.grid_world.views import (
    Pixels,
    State,
    Symbols,
    Vocabulary,
    of_goal,
    picture,
)


class GoToVectorEnv(TorchVectorEnv):
    """Go to the object that the instruction names, in N grids on a device.

    Agent and objects stand on different cells, drawn in each episode, and no two
    objects have both the same colour and shape. Only the sentence tells which of them
    is the goal. Actions are 0 north, 1 east, 2 south, 3 west; walls block moves.
    Reaching an object ends the episode: with a reward of 1 if it is the goal, else
    `wrong_reward`. `info["success"]`, bool `[N]`, is True where the goal was reached in
    this step.

    The expected return of a policy that ignores the instruction is at most
    `deaf_return`, and that of an optimal policy is 1.

    Observations of symbols are `image`, float32 `[height, width, 8]` with a channel for
    the agent, four for colours and three for shapes, and `instruction`, int64 `[L]`.
    Those of pixels are `rgb`, uint8 `[height * cell_pixels, width * cell_pixels, 3]`,
    and `language`, the sentence's bytes in UTF-8, uint8 `[S]`.

    Source: the tasks "GoTo" of Chevalier-Boisvert et al. 2019, "BabyAI",
    arXiv:1810.08272. Differs from the paper: the whole grid is seen from above, one
    room without walls, moves in four directions instead of turns, and a wrong object
    ends the episode.

    Raises:
        ValueError: If the objects do not fit or exceed the number of kinds, if a
            template does not name the goal, or an argument is not as above.

    Attributes:
        vocabulary: From sentences to tokens, and back.

    Example:
        >>> envs = GoToVectorEnv(2)
        >>> obs, _ = envs.reset(seed=0)
        >>> envs.vocabulary.decode(obs["instruction"])
        ['find the green triangle', 'find the green circle']
        >>> obs, reward, *_ = envs.step(envs.expert())
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012
    single_action_space = spaces.Discrete(4)
    max_episode_steps = 50

    height: int = 6
    """Rows of cells."""
    width: int = 6
    """Cells of a row."""
    num_objects: int = 3
    """K, number of objects."""
    wrong_reward: float = 0.0
    """Reward for reaching another object than the named one."""
    templates: Sequence[str] = ("go to the {color} {shape}", "find the {color} {shape}")
    """Sentences with `{color}` and `{shape}`, of which one is drawn."""
    view: Literal["symbols", "pixels"] = "symbols"
    """Kind of observations."""
    cell_pixels: int = 6
    """Pixels of a cell's side, for "pixels"."""
    goals: Literal["all", "seen", "unseen"] = "all"
    """Kinds that sentences name: "all"; "seen", all but red circles, green triangles
    and blue squares; or "unseen", those three."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        check_choice("view", self.view, ("symbols", "pixels"))
        check_choice("goals", self.goals, NAMEABLE)
        check_range("num_objects", self.num_objects, 1, len(KINDS))
        height, width = cells = self.height, self.width
        if min(cells) < 1 or height * width <= self.num_objects:
            raise ValueError(
                f"height = {height}, width = {width}: no room for {self.num_objects}"
                " objects and the agent"
            )
        for template in self.templates:
            if sorted(re.findall(r"\{(\w*)\}", template)) != ["color", "shape"]:
                raise ValueError(
                    f"templates: {template!r} must name {{color}} and {{shape}} once,"
                    " or the instruction would be ambiguous"
                )
        self.vocabulary = Vocabulary(objects.sentences(self.templates))
        seen = cells, self.vocabulary, kwargs.get("device", "cpu")
        in_pixels = self.view == "pixels"
        self._view = Pixels(*seen, self.cell_pixels) if in_pixels else Symbols(*seen)
        self.single_observation_space = self._view.space
        self.noise_size = 2 * self.num_objects + 3
        super().__init__(num_envs, **kwargs)
        self._ahead = objects.cells_ahead(height, width, self.device)
        self._nameable = torch.tensor(NAMEABLE[self.goals], device=self.device)

    @property
    def deaf_return(self) -> float:
        """The highest expected return of a policy that ignores the instruction.

        If M of a grid's objects are of the nameable kinds, each is the goal with
        probability 1 / M; the policy may also reach none. The M - 1 others follow a
        hypergeometric distribution: the nameable ones among K - 1 draws from the other
        kinds.
        """
        nameable, beside, total = len(self._nameable), self.num_objects - 1, 0.0
        for more in range(min(nameable - 1, beside) + 1):
            ways = comb(nameable - 1, more) * comb(len(KINDS) - nameable, beside - more)
            chance = 1 / (more + 1)
            best = max(0.0, chance + (1 - chance) * self.wrong_reward)
            total += ways / comb(len(KINDS) - 1, beside) * best
        return total

    def initial_state(self, noise: Tensor) -> State:
        """The positions, the kinds of the objects, and the goal.

        `agent [N]` and `objects [K, N]` are cells, `kinds [K, N]` indices in `KINDS`,
        `goal [N]` the index of an object and `template [N]` that of a template.
        """
        k = self.num_objects
        of_cells, of_kinds, of_goal, of_template = noise.split([k + 1, k, 1, 1])
        cells = distinct(of_cells, self.height * self.width)
        (goal,) = distinct(of_goal, k)
        (template,) = distinct(of_template, len(self.templates))
        if len(self._nameable) == len(KINDS):
            kinds = distinct(of_kinds, len(KINDS))
        else:
            kinds = objects.distinct_with_goal(of_kinds, goal, self._nameable)
        where = {"agent": cells[0], "objects": cells[1:]}
        return {**where, "kinds": kinds, "goal": goal, "template": template}

    def dynamics(self, state: State, action: Tensor) -> tuple[State, Tensor, Tensor]:
        """Move by one cell; reaching an object ends the episode."""
        agent = self._ahead[action, state["agent"]]
        there = state["objects"] == agent  # [K, N]
        reached = there.any(0)
        right = of_goal(state, there)
        reward = right.float()
        if self.wrong_reward:
            reward = reward + self.wrong_reward * (reached & ~right)
        return {**state, "agent": agent}, reward, reached

    def observe(self, state: State) -> State:
        return self._view(state)

    def step_info(self, reward: Tensor, ignored: Tensor | None) -> State:
        return {"success": reward == 1}

    def expert(self) -> Tensor:
        """Actions `[N]` of an expert: a shortest path to the goal, around the other
        objects unless they block all paths.
        """
        agent, cells = self.state["agent"], self.state["objects"]
        goal = of_goal(self.state, cells)
        return objects.first_moves(agent, goal, cells, self._ahead)

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        return picture(state, self.height, self.width)
