"""The policy of vla_ppo: a vision-language-action model behind PPO's interface."""

from typing import Any

from gymnasium import Space

from yieldrl.vla import VLAPolicy

from .config import Config


class Model(VLAPolicy):
    """The vision-language-action policy that a config describes."""

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        spaces = observation_space, action_space
        model = VLAPolicy.from_config(*spaces, config).model
        super().__init__(*spaces, model, **config.policy_options())
