"""A grid with coloured shapes, and a sentence that says to which one to go."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.vocabulary import Vocabulary

NORTH, EAST, SOUTH, WEST = range(4)

COLORS = {
    "red": (210, 70, 60),
    "green": (80, 160, 80),
    "blue": (70, 110, 200),
    "yellow": (235, 190, 60),
}
SHAPES = ("square", "circle", "triangle")
KINDS = list(product(COLORS, SHAPES))

CELL = 32  # pixels
FLOOR, LINE, AGENT = (250, 250, 250), (225, 225, 225), (60, 60, 60)


class GoToVectorEnv(TorchVectorEnv):
    """Go to the thing that the instruction names, N grids at once on a device.

    Agent and objects stand on different cells, drawn in each episode, and no two
    objects have both colour and shape in common. Which of them is meant is drawn by
    itself, and said in nothing but the sentence. Actions are 0 north, 1 east, 2 south,
    3 west; walls hold. To step on an object ends the episode: with a reward of 1 if it
    is the right one, else of `wrong_reward`.

    So a policy that does not listen comes to the right one in 1 of `num_objects`
    episodes at best, whatever it does: its expected return is at most
    `deaf_return`, and a good one's is 1.

    Observations are `image`, float32 `[height, width, 8]` with a channel for the agent,
    four for colours and three for shapes, and `instruction`, int64 `[L]`.

    Source: the tasks "GoTo" of Chevalier-Boisvert et al. 2019, "BabyAI",
    arXiv:1810.08272. Differs from the paper: the whole grid is seen from above, one
    room without walls, moves in four directions instead of turns, and a wrong object
    ends the episode.

    Args:
        num_envs: N, the number of grids.
        height: Rows of cells.
        width: Cells of a row.
        num_objects: K, how many objects lie there.
        wrong_reward: Reward of stepping on another object than the named one.
        templates: Sentences with `{color}` and `{shape}`, of which one is drawn.
        max_episode_steps: Time limit in steps, or None.
        kwargs: Arguments of `TorchVectorEnv`.

    Raises:
        ValueError: If there is no room for the objects, not so many kinds of them, or a
            template that does not name what is meant.

    Attributes:
        vocabulary: From sentences to tokens, and back.

    Example:
        >>> envs = GoToVectorEnv(2)
        >>> obs, _ = envs.reset(seed=0)
        >>> envs.vocabulary.decode(obs["instruction"])
        ['find the green triangle', 'find the green circle']
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012
    single_action_space = spaces.Discrete(4)

    def __init__(
        self,
        num_envs: int = 1,
        *,
        height: int = 6,
        width: int = 6,
        num_objects: int = 3,
        wrong_reward: float = 0.0,
        templates: Sequence[str] = (
            "go to the {color} {shape}",
            "find the {color} {shape}",
        ),
        max_episode_steps: int | None = 50,
        **kwargs: Any,
    ) -> None:
        self.height, self.width, self.num_objects = height, width, num_objects
        self.wrong_reward = wrong_reward
        _check(height, width, num_objects, templates)
        sentences = [
            template.format(color=color, shape=shape)
            for template in templates
            for color, shape in KINDS
        ]
        self.vocabulary = Vocabulary(sentences)
        length, words = self.vocabulary.length, len(self.vocabulary)
        self.channels = 1 + len(COLORS) + len(SHAPES)
        self.single_observation_space = spaces.Dict(
            image=spaces.Box(0, 1, (height, width, self.channels)),
            instruction=spaces.MultiDiscrete([words] * length),
        )
        self.noise_size = 2 * num_objects + 3
        super().__init__(num_envs, max_episode_steps=max_episode_steps, **kwargs)
        tokens = torch.stack([self.vocabulary.encode(text) for text in sentences])
        tokens = tokens.reshape(len(templates), len(KINDS), length)
        self._tokens = tokens.to(self.device)

    @property
    def deaf_return(self) -> float:
        """The most that a policy can expect that does not look at the instruction.

        Whichever object it goes to, the named one is that with a chance of 1 / K; and
        it may go to none.
        """
        chance = 1 / self.num_objects
        return max(0.0, chance + (1 - chance) * self.wrong_reward)

    def initial_state(self, noise: Tensor) -> dict[str, Tensor]:
        """Cells of agent and objects, the objects' kinds, and what is meant.

        `agent [N]` and `objects [K, N]` are numbers of cells, `kinds [K, N]` of
        `KINDS`, `goal [N]` of an object and `template [N]` of a sentence.
        """
        k = self.num_objects
        cells = _distinct(noise[: k + 1], self.height * self.width)
        kinds = _distinct(noise[k + 1 : 2 * k + 1], len(KINDS))
        (goal,) = _distinct(noise[2 * k + 1 : 2 * k + 2], k)
        (template,) = _distinct(noise[2 * k + 2 :], len(self._tokens))
        return {
            "agent": cells[0],
            "objects": cells[1:],
            "kinds": kinds,
            "goal": goal,
            "template": template,
        }

    def dynamics(
        self, state: dict[str, Tensor], action: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Move by one cell; whoever comes to an object is done."""
        row, column = state["agent"] // self.width, state["agent"] % self.width
        south = (action == SOUTH).long() - (action == NORTH).long()
        east = (action == EAST).long() - (action == WEST).long()
        row = (row + south).clamp(0, self.height - 1)
        column = (column + east).clamp(0, self.width - 1)
        agent = row * self.width + column
        there = state["objects"] == agent  # [K, N]
        reached = there.any(0)
        right = there.gather(0, state["goal"].unsqueeze(0)).squeeze(0)
        reward = right.float() + self.wrong_reward * (reached & ~right)
        return {**state, "agent": agent}, reward, reached

    def observe(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """The grid from above, one-hot, and the tokens of the sentence."""
        agent, objects, kinds = state["agent"], state["objects"], state["kinds"]
        first_shape = 1 + len(COLORS)
        color, shape = kinds // len(SHAPES), kinds % len(SHAPES)
        ones = torch.cat(  # [1 + 2 K, N]
            (
                agent.unsqueeze(0) * self.channels,
                objects * self.channels + 1 + color,
                objects * self.channels + first_shape + shape,
            )
        )
        size = self.height * self.width * self.channels
        image = torch.zeros(len(agent), size, device=self.device)
        image = image.scatter(1, ones.T, 1.0)
        kind = kinds.gather(0, state["goal"].unsqueeze(0)).squeeze(0)
        return {
            "image": image.reshape(-1, self.height, self.width, self.channels),
            "instruction": self._tokens[state["template"], kind],
        }

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        """The grid from above: a ring is the agent, a frame marks what is meant."""
        picture = np.full((self.height * CELL, self.width * CELL, 3), FLOOR, np.uint8)
        picture[::CELL] = picture[:, ::CELL] = LINE
        y, x = (np.mgrid[:CELL, :CELL] + 0.5) / CELL * 2 - 1  # [-1, 1], down and right
        masks = {
            "square": np.maximum(abs(x), abs(y)) < 0.6,
            "circle": x**2 + y**2 < 0.65**2,
            "triangle": (y < 0.6) & (abs(x) < (y + 0.7) / 1.8),
            "ring": abs(np.hypot(x, y) - 0.75) < 0.12,
            "frame": abs(np.maximum(abs(x), abs(y)) - 0.85) < 0.06,
        }

        def paint(cell: int, mask: str, color: tuple[int, int, int]) -> None:
            row, column = divmod(int(cell), self.width)
            part = picture[row * CELL :, column * CELL :][:CELL, :CELL]
            part[masks[mask]] = color

        for i, (cell, kind) in enumerate(
            zip(state["objects"], state["kinds"], strict=True)
        ):
            color, shape = KINDS[kind]
            paint(cell, shape, COLORS[color])
            if i == state["goal"]:
                paint(cell, "frame", AGENT)
        paint(int(state["agent"]), "ring", AGENT)
        return picture


def _distinct(noise: Tensor, options: int) -> Tensor:
    """Draw `k` of 0 ... `options` - 1 without repetition, from noise `[k, N]`.

    The i-th takes one of the `options - i` that are left, each as likely as any other,
    counted past those that are gone.
    """
    drawn: list[Tensor] = []
    for i, u in enumerate(noise):
        number = (u * (options - i)).long().clamp(max=options - i - 1)
        if drawn:
            for gone in torch.stack(drawn).sort(0).values:
                number = number + (number >= gone)
        drawn.append(number)
    return torch.stack(drawn)


def _check(height: int, width: int, num_objects: int, templates: Sequence[str]) -> None:
    if not 1 <= num_objects <= len(KINDS):
        raise ValueError(
            f"num_objects = {num_objects}: there are 1 to {len(KINDS)} kinds of them"
        )
    if min(height, width) < 1 or height * width <= num_objects:
        raise ValueError(
            f"height = {height}, width = {width}: no room for {num_objects} objects"
            " and the agent"
        )
    for template in templates:
        if sorted(re.findall(r"\{(\w*)\}", template)) != ["color", "shape"]:
            raise ValueError(
                f"templates: {template!r} must name {{color}} and {{shape}} once, or"
                " nobody could know what is meant"
            )
    if not templates:
        raise ValueError("templates = (): give one sentence at least")
