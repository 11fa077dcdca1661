"""Observations of grids: symbols and tokens, or pixels and bytes."""

import math
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.grid_world import painting
from yieldrl.envs.grid_world.objects import COLORS, KINDS, SHAPES
from yieldrl.envs.vocabulary import Vocabulary
from yieldrl.foundations.text import Utf8Text

SMALLEST = 4  # fewest pixels of a cell with which all kinds look different

State = dict[str, Tensor]


class Symbols:
    """Observes one-hot cells and a token for every word; `space` is the space of one
    grid.

    `cells` are height and width; `sentences` `[templates * kinds]` begin with those of
    the first template.
    """

    def __init__(
        self,
        cells: tuple[int, int],
        sentences: list[str],
        vocabulary: Vocabulary,
        device: Any,
    ) -> None:
        length, words = vocabulary.length, len(vocabulary)
        self.channels = 1 + len(COLORS) + len(SHAPES)
        self.shape = *cells, self.channels
        self.space = spaces.Dict(
            image=spaces.Box(0, 1, self.shape),
            instruction=spaces.MultiDiscrete([words] * length),
        )
        tokens = torch.stack([vocabulary.encode(text) for text in sentences])
        self.tokens = tokens.reshape(-1, len(KINDS), length).to(device)

    def __call__(self, state: State) -> dict[str, Tensor]:
        """The image float32 `[N, height, width, 8]` and tokens int64 `[N, L]`."""
        agent, kinds = state["agent"], state["kinds"]
        color, shape = kinds // len(SHAPES), kinds % len(SHAPES)
        cells = state["objects"] * self.channels
        ones = (  # [1 + 2 K, N] together
            agent.unsqueeze(0) * self.channels,
            cells + 1 + color,
            cells + 1 + len(COLORS) + shape,
        )
        like = {"dtype": torch.float32, "device": agent.device}
        image = torch.zeros(len(agent), math.prod(self.shape), **like)
        image = image.scatter(1, torch.cat(ones).T, 1.0)
        return {
            "image": image.reshape(-1, *self.shape),
            "instruction": self.tokens[state["template"], of_goal(state, kinds)],
        }


class Pixels:
    """Observes an image with cells of `size` pixels, which does not show the goal, and
    the sentence; arguments as in `Symbols`."""

    def __init__(
        self, cells: tuple[int, int], sentences: list[str], size: int, device: Any
    ) -> None:
        if size < SMALLEST:
            raise ValueError(
                f"cell_pixels = {size}: must be at least {SMALLEST}, or one could not"
                " tell what lies there"
            )
        text = Utf8Text(max(len(sentence.encode()) for sentence in sentences))
        self.cells, self.size = cells, size
        self.shape = cells[0] * size, cells[1] * size, 3
        self.space = spaces.Dict(
            rgb=spaces.Box(0, 255, self.shape, np.uint8), language=text
        )
        encoded = torch.from_numpy(text.encode(sentences))
        self.bytes = encoded.reshape(-1, len(KINDS), text.max_bytes).to(device)
        sprites = torch.from_numpy(painting.sprites(size)).to(device)
        # Images are built from rows of pixels, so sprites are stored by rows.
        self.strips = sprites.reshape(-1, size * 3)
        self.rows = torch.arange(size, device=device).view(size, 1)

    def __call__(self, state: State) -> dict[str, Tensor]:
        """Pixels uint8 `[N, height * size, width * size, 3]`, bytes uint8 `[N, S]`."""
        agent = state["agent"].unsqueeze(1)
        height, width = self.cells
        # The index of each cell's sprite: 0 is the floor, then the kinds.
        like = {"dtype": torch.int64, "device": agent.device}
        cells = torch.zeros(len(agent), height * width, **like)
        cells = cells.scatter(1, state["objects"].T, state["kinds"].T + 1)
        with_agent = cells.gather(1, agent) + 1 + len(KINDS)
        cells = cells.scatter(1, agent, with_agent)
        strips = cells.view(-1, height, 1, width) * self.size + self.rows
        pixels = self.strips.index_select(0, strips.reshape(-1))
        return {
            "rgb": pixels.view(-1, *self.shape),
            "language": self.bytes[state["template"], of_goal(state, state["kinds"])],
        }


def of_goal(state: State, numbers: Tensor) -> Tensor:
    """Select the goal's values `[N]` from values of all objects, `[K, N]`."""
    return numbers.gather(0, state["goal"].unsqueeze(0)).squeeze(0)
