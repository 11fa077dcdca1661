"""Views of grids: as symbols and tokens, as pixels and bytes, and to people."""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.core.text import Utf8Text
from yieldrl.envs.batched.inputs import check_range
from yieldrl.envs.grid_world.objects import COLORS, KINDS, SHAPES

CELL = 32  # pixels of a cell when rendering
FLOOR, LINE, AGENT = (250, 250, 250), (225, 225, 225), (60, 60, 60)
FINENESS = 16  # samples across a pixel, for smooth edges
SMALLEST = 4  # fewest pixels of a cell with which all kinds look different

State = dict[str, Tensor]


class Vocabulary:
    """Words and their tokens; 0 pads sentences shorter than the longest one.

    The words are those of the sentences, in this order: a word's place in `words` is
    its token. `length` is L, the number of words of the longest sentence.

    Example:
        >>> vocabulary = Vocabulary(["go to the red square", "find it"])
        >>> tokens = vocabulary.encode("find the square")
        >>> tokens, vocabulary.decode(tokens)
        (tensor([6, 3, 5, 0, 0]), 'find the square')
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self.sentences = sentences
        split = [sentence.split() for sentence in sentences]
        self.words = ["<pad>", *dict.fromkeys(itertools.chain.from_iterable(split))]
        self.length = max(map(len, split))
        self._tokens = {word: token for token, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> Tensor:
        """The tokens of a sentence, int64 `[L]`; ValueError if one is unknown."""
        words = text.split()
        unknown = [word for word in words if word not in self._tokens]
        if unknown or len(words) > self.length:
            raise ValueError(
                f"{text!r} must be at most {self.length} of the words"
                f" {self.words[1:]}, got {len(words)}, of them unknown: {unknown}"
            )
        tokens = [self._tokens[word] for word in words]
        return torch.tensor(tokens + [0] * (self.length - len(tokens)))

    def decode(self, tokens: Any) -> Any:
        """The sentence of tokens `[L]`, or the list of sentences of tokens `[N, L]`."""
        if np.ndim(tokens) > 1:
            return [self.decode(row) for row in tokens]
        return " ".join(self.words[int(token)] for token in tokens if token)


class Symbols:
    """Observes one-hot cells, `image`, and a token for every word, `instruction`;
    `space` is the space of one grid, of that many `cells`, height and width."""

    def __init__(
        self, cells: tuple[int, int], vocabulary: Vocabulary, device: torch.device
    ) -> None:
        self.channels = 1 + len(COLORS) + len(SHAPES)
        self.shape = *cells, self.channels
        self.space = spaces.Dict(
            image=spaces.Box(0, 1, self.shape),
            instruction=spaces.MultiDiscrete([len(vocabulary)] * vocabulary.length),
        )
        tokens = [vocabulary.encode(sentence) for sentence in vocabulary.sentences]
        self.texts = _by_goal(torch.stack(tokens), device)

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
        image = image.scatter(1, torch.cat(ones).T, 1.0).reshape(-1, *self.shape)
        instruction = self.texts[state["template"], of_goal(state, kinds)]
        return {"image": image, "instruction": instruction}


class Pixels:
    """Observes an image with cells of `size` pixels, `rgb`, which does not show the
    goal, and the sentence, `language`; otherwise as `Symbols`."""

    def __init__(
        self,
        cells: tuple[int, int],
        vocabulary: Vocabulary,
        device: torch.device,
        size: int,
    ) -> None:
        check_range("cell_pixels", size, SMALLEST)  # or kinds look alike
        sentences = vocabulary.sentences
        text = Utf8Text(max(len(sentence.encode()) for sentence in sentences))
        self.cells, self.size = cells, size
        self.shape = cells[0] * size, cells[1] * size, 3
        self.space = spaces.Dict(
            rgb=spaces.Box(0, 255, self.shape, np.uint8), language=text
        )
        self.texts = _by_goal(torch.from_numpy(text.encode(sentences)), device)
        # Images are built from rows of pixels, so sprites are stored by rows.
        strips = sprites(size).reshape(-1, size * 3)
        self.strips = torch.from_numpy(strips).to(device)
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
        language = self.texts[state["template"], of_goal(state, state["kinds"])]
        return {"rgb": pixels.view(-1, *self.shape), "language": language}


def _by_goal(texts: Tensor, device: torch.device) -> Tensor:
    """Sentences `[templates * kinds, L]` as `[templates, kinds, L]`."""
    return texts.reshape(-1, len(KINDS), texts.shape[1]).to(device)


def of_goal(state: State, numbers: Tensor) -> Tensor:
    """Select the goal's values `[N]` from values of all objects, `[K, N]`."""
    return numbers.gather(0, state["goal"].unsqueeze(0)).squeeze(0)


def picture(state: Mapping[str, np.ndarray], height: int, width: int) -> np.ndarray:
    """Render one grid from above, uint8 `[height * CELL, width * CELL, 3]`: a ring is
    the agent, a frame marks the goal."""
    cells = np.zeros(height * width, np.int64)
    cells[state["objects"]] = state["kinds"] + 1
    cells[state["agent"]] += 1 + len(KINDS)
    parts = sprites(CELL, ring=(0.75, 0.12))[cells]
    frame = masks(CELL, ring=(0, 0))["frame"]
    parts[state["objects"][state["goal"]]][frame] = AGENT
    parts[:, 0] = parts[:, :, 0] = LINE
    rows = parts.reshape(height, width, CELL, CELL, 3).swapaxes(1, 2)
    return rows.reshape(height * CELL, width * CELL, 3)


@functools.cache
def sprites(size: int, ring: tuple[float, float] = (1.05, 0.2)) -> np.ndarray:
    """Images of all possible cells, uint8 `[2 + 2 * 12, size, size, 3]`, smoothed:
    empty floor, each of `KINDS` on it, and the same with the agent over
    them."""
    parts = {
        name: mask.reshape(size, FINENESS, size, FINENESS).mean((1, 3))[..., None]
        for name, mask in masks(size * FINENESS, ring).items()
    }
    floor = np.full((size, size, 3), FLOOR, np.float64)

    def over(below: np.ndarray, shape: str, color: tuple[int, int, int]) -> np.ndarray:
        return below + parts[shape] * (np.array(color) - below)

    cells = [floor, *(over(floor, shape, COLORS[color]) for color, shape in KINDS)]
    cells += [over(cell, "ring", AGENT) for cell in cells]
    return np.stack(cells).round().astype(np.uint8)


def masks(size: int, ring: tuple[float, float]) -> dict[str, np.ndarray]:
    """Masks of the pixels inside each shape, bool `[size, size]`; a cell is [-1, 1].
    `ring` is its radius and half its width: by default it is at the rim, so that all
    cells differ even in six pixels."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size * 2 - 1
    distance, around = np.hypot(x, y), np.maximum(abs(x), abs(y))
    return {
        "square": around < 2 / 3,
        "circle": distance < 0.8,
        "triangle": (y < 2 / 3) & (abs(x) < (y + 0.9) / 1.8),
        "ring": abs(distance - ring[0]) < ring[1],
        "frame": abs(around - 0.85) < 0.06,
    }
