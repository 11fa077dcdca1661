"""Worlds with a table of all transitions: FrozenLake, CliffWalking and Taxi."""

import copy
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import MAPS, FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv
from torch import Tensor

from yieldrl.envs.arrays import ResetResult
from yieldrl.envs.batched import TorchVectorEnv, Transition
from yieldrl.envs.batched.inputs import check_choice


class TableVectorEnv(TorchVectorEnv):
    """N copies of a gymnasium environment with a table of all transitions.

    State and observation are the index of a state, int64 `[N]`.

    Args:
        env: One such environment of gymnasium, unwrapped: for a state and an action,
            `env.P` lists outcomes (probability, next state, reward, terminated);
            `env.initial_state_distrib` is the distribution of first states.
        kwargs: Arguments of `TorchVectorEnv`.

    Attributes:
        next_state, reward, terminal: Of all outcomes `[S * A * K]`, K per state and
            action: int64, float32, bool.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012
    noise_size = 2  # the first state, and the outcome of an action

    def __init__(self, num_envs: int, env: Any, **kwargs: Any) -> None:
        if not hasattr(self, "single_observation_space"):  # a subclass may set it
            self.single_observation_space = env.observation_space
        self.single_action_space = env.action_space
        super().__init__(num_envs, **kwargs)
        self._actions = int(self.single_action_space.n)  # A
        self._env = copy.copy(env)  # own copy for rendering
        self._env.render_mode = self.render_mode
        rows = [env.P[s][a] for s in sorted(env.P) for a in sorted(env.P[s])]
        lengths = np.array([len(row) for row in rows])
        self._most = int(lengths.max())  # K
        rows = [row + [(0, 0, 0, 0)] * (self._most - len(row)) for row in rows]
        chance, next_state, reward, terminal = np.array(rows, float).transpose(2, 0, 1)
        self.next_state = self._table(next_state.ravel(), torch.int64)
        self.reward = self._table(reward.ravel(), torch.float32)
        self.terminal = self._table(terminal.ravel(), torch.bool)
        running = chance.T.cumsum(0)  # [K, S * A]
        running[np.arange(self._most)[:, None] >= lengths - 1] = np.inf  # the last
        self._running = self._table(running, self.dtype)
        (starts,) = env.initial_state_distrib.nonzero()
        begin = env.initial_state_distrib[starts].cumsum()[:-1]
        self._starts = self._table(starts, torch.int64)
        self._begin = self._table(begin, self.dtype)

    def initial_state(self, noise: Tensor) -> Tensor:
        place = torch.searchsorted(self._begin, noise[0].contiguous(), right=True)
        return self._starts[place]

    def random_dynamics(self, state: Any, action: Tensor, noise: Tensor) -> Transition:
        row = state * self._actions + action
        outcome = row * self._most
        if self._most > 1:
            outcome = outcome + (noise[1] >= self._running[:, row]).sum(0)
        reward, terminal = self.reward[outcome], self.terminal[outcome]
        return self.next_state[outcome], reward, terminal

    def draw(self, state: np.ndarray, index: int) -> np.ndarray:
        """Frame uint8 `[H, W, 3]`, rendered by gymnasium (with pygame)."""
        self._env.s, self._env.lastaction = int(state), None
        return self._env.render()

    def _table(self, values: np.ndarray, dtype: torch.dtype) -> Tensor:
        return torch.as_tensor(values.copy()).to(self.device, dtype)


class FrozenLakeVectorEnv(TableVectorEnv):
    """Gymnasium's FrozenLake-v1, N copies: cross the ice, avoid the holes.

    Actions 0 to 3 go left, down, right and up. The reward is 1 at the goal, else 0.
    Episodes end at the goal and in a hole, and are cut after 100 steps (the 8 x 8 map's
    registration says 200).
    """

    max_episode_steps = 100

    map_name: str = "4x4"
    """"4x4" or "8x8"."""
    desc: list[str] | None = None
    """A custom map instead, a string per row of the letters S, F, H, G."""
    is_slippery: bool = True
    """Whether moves may slip to either side."""
    success_rate: float = 1 / 3
    """Probability of the intended move, if slippery."""
    reward_schedule: tuple[float, float, float] = (1, 0, 0)
    """Rewards for arriving at the goal, a hole, and elsewhere."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        check_choice("map_name", self.map_name, MAPS)
        names = "desc", "map_name", "is_slippery", "success_rate", "reward_schedule"
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        super().__init__(num_envs, FrozenLakeEnv(**given), **kwargs)


class CliffWalkingVectorEnv(TableVectorEnv):
    """Gymnasium's CliffWalking-v1, N copies: walk along a cliff, or at a distance.

    Actions 0 to 3 go up, right, down and left. The reward is -1 per step, and -100 for
    a fall, which leads back to the start. Episodes end only at the goal: there is no
    time limit unless you set one.

    Source: Sutton and Barto (2018), example 6.6.

    Args:
        is_slippery: Whether moves slip to either side, with probability 2/3.
        kwargs: Arguments of `TorchVectorEnv`.
    """

    def __init__(
        self, num_envs: int = 1, *, is_slippery: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(num_envs, CliffWalkingEnv(is_slippery=is_slippery), **kwargs)


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

    max_episode_steps = 200

    def __init__(
        self,
        num_envs: int = 1,
        *,
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
        super().__init__(num_envs, env, **kwargs)
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

    def step_info(self, reward: Tensor, ignored: Tensor | None) -> dict[str, Tensor]:
        if self.compiles:  # then the lookup would cost a tenth of the step
            return {}
        return {"action_mask": self.action_mask.index_select(0, self.state)}
