"""Pictures of boards, for people."""

from __future__ import annotations

import numpy as np

CELL = 16  # pixels of a picture


def picture(board: np.ndarray) -> np.ndarray:
    """A board bool `[10, 10, C]` as uint8 `[160, 160, 3]`.

    A cell is black, or has the colour of its last channel.
    """
    channels = board.shape[-1]
    number = (board * np.arange(1, channels + 1)).max(-1)
    return palette(channels)[number].repeat(CELL, 0).repeat(CELL, 1)


def palette(count: int) -> np.ndarray:
    """Black and `count` colours of the cubehelix, uint8 `[1 + count, 3]`.

    Source: Green (2011), "A colour scheme for the display of astronomical intensity
    images", arXiv:1108.5083, with its default parameters.
    """
    light = np.linspace(0, 1, count + 2)[:-1, None]
    angle = 2 * np.pi * (0.5 / 3 - 1.5 * light)
    wave = np.cos(angle) * [-0.14861, -0.29227, 1.97294]
    wave = wave + np.sin(angle) * [1.78277, -0.90649, 0]
    colours = light + light * (1 - light) / 2 * wave
    return np.round(255 * colours.clip(0, 1)).astype(np.uint8)
