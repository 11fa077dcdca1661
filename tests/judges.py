"""Judges for tests: from observations and actions `[N, ...]` to scores `[N]`."""

import torch


def longest(obs, action):
    """Who likes long answers."""
    return (action != 0).sum(1).float()


def upright(obs, action):
    """Who likes a pole that stands, whatever is done."""
    return -obs[:, 2].abs()


def time_and_action(obs, action):
    """Who says what was shown: the time, and the action in hundredths."""
    return obs[:, 1] + torch.as_tensor(action) / 100
