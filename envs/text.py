"""Sentences in observations of single environments, as bytes."""

from typing import Any

import gymnasium as gym
from gymnasium.spaces import Dict, Text
from gymnasium.utils import RecordConstructorArgs

from yieldrl.core import Utf8Text
from yieldrl.core.text import encoded


class EncodeText(gym.ObservationWrapper, RecordConstructorArgs):
    """Gives the sentences of an environment's observations as their bytes in UTF-8, as
    `yieldrl.envs.make` does by itself.
    """

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)  # so that Gymnasium can make it again
        gym.ObservationWrapper.__init__(self, env)
        self.observation_space = in_bytes(env.observation_space)

    def observation(self, observation: Any) -> Any:
        try:
            return encoded(self.observation_space, observation)
        except (AttributeError, TypeError):
            raise TypeError(
                f"{self.env} returned the observation {observation!r}: where its space"
                f" {self.env.observation_space} has a Text, it must be a string"
            ) from None


def in_bytes(space: gym.Space) -> gym.Space:
    """A space with `Utf8Text` in place of `gymnasium.spaces.Text`."""
    if isinstance(space, Dict):
        return Dict({name: in_bytes(child) for name, child in space.items()})
    if not isinstance(space, Text):
        return space
    widest = max(len(letter.encode()) for letter in space.characters)
    return Utf8Text(space.max_length * widest)
