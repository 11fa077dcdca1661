"""Taxi: a tabular environment with action masks."""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.envs.toy_text.taxi import TaxiEnv
from torch import Tensor

from yieldrl.envs.arrays import ResetResult, StepResult
from yieldrl.envs.tabular import TableVectorEnv


class TaxiVectorEnv(TableVectorEnv):
    """Gymnasium's Taxi-v4, N copies: fetch a passenger and bring them home.

    Actions 0 to 3 go south, north, east and west, 4 picks up and 5 drops off. The
    reward is -1 per step, 20 for the right drop-off and -10 for a pick-up or drop-off
    out of place. Episodes are cut after 200 steps. Gymnasium's fickle passenger is not
    in the table, so it is missing here.

    `info["action_mask"]`, int8 `[N, 6]`, marks actions with an effect in the returned
    states, as in gymnasium; compiled steps leave it out.

    Source: Dietterich (2000), "Hierarchical reinforcement learning with the MAXQ value
    function decomposition", arXiv:cs/9905014.

    Args:
        is_rainy: Whether the car drifts to the sides.
        rainy_probability: Probability of the intended move, if rainy.
        action_mask: Whether observations are a dict of the state's number,
            `"observation"`, and of the mask, `"action_mask"`, bool `[N, 6]`.
        kwargs: Arguments of `TorchVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = 200,
        is_rainy: bool = False,
        rainy_probability: float = 0.8,
        action_mask: bool = False,
        **kwargs: Any,
    ) -> None:
        env = TaxiEnv(is_rainy=is_rainy, rainy_probability=rainy_probability)
        masks = np.stack([env.action_mask(s) for s in sorted(env.P)])
        if action_mask:
            bits: Any = np.bool_  # missing in the types of Box
            self.single_observation_space = spaces.Dict(
                observation=env.observation_space,
                action_mask=spaces.Box(0, 1, masks.shape[1:], bits),
            )
        super().__init__(num_envs, env, max_episode_steps=max_episode_steps, **kwargs)
        self.action_mask = self._table(masks, torch.int8)
        self._observes_masks = action_mask

    def observe(self, state: Tensor) -> Any:
        if not self._observes_masks:
            return super().observe(state)
        possible = self.action_mask[state] > 0
        return {"observation": state.clone(), "action_mask": possible}

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        obs, info = super().reset(seed=seed, options=options)
        return obs, {**info, "action_mask": self.action_mask[self.state]}

    def step(self, actions: Tensor | np.ndarray) -> StepResult:
        answer = super().step(actions)
        if not self.compiles:  # compiled, the lookup would cost a tenth of the step
            answer[4]["action_mask"] = self.action_mask.index_select(0, self.state)
        return answer
