"""The policy of GRPO, which has no critic."""

from typing import Any

import gymnasium

from yieldrl.foundations import Utf8Text
from yieldrl.on_policy import MLPActor

from .config import Config


class Model(MLPActor):
    """An MLP, or a CNN and one; a TypeError for texts, which neither of them writes."""

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: Config,
    ) -> None:
        if isinstance(action_space, Utf8Text):
            writer = "pass a policy that writes as model="
            raise TypeError(f"no MLP writes the texts of {action_space}: {writer}")
        super().__init__(observation_space, action_space, config)
