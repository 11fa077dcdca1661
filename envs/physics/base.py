"""Rewards, terminations, first states and rendering of MuJoCo worlds."""

from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from yieldrl.envs.arrays import ResetResult, StepResult
from yieldrl.envs.batched.tree import where
from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.model import of_world
from yieldrl.envs.physics.simulation import SimulationVectorEnv


class PhysicsVectorEnv(SimulationVectorEnv):
    """Base class of MuJoCo's worlds.

    A subclass defines observations in `parts`, rewards in `gains` and `costs`, and when
    episodes end in `terminated`. A step depends only on the state and the actions, so
    states can be saved, replaced and continued bitwise.

    The `info` of a step has gymnasium's entries as tensors `[N, ...]`: the terms of the
    reward, `reward_...`, and those of `measure`, for the state of `final_obs`.

    Args:
        max_episode_steps: Time limit in steps, or None.
        kwargs: Arguments of `SimulationVectorEnv`.
    """

    reset_noise_scale: float
    """First positions are uniform within this distance of the model's own, and so are
    first velocities."""
    normal_velocities: bool = False
    """Whether first velocities are normal, with this standard deviation."""
    width: int = 480
    """Width of rendered frames, in pixels."""
    height: int = 480
    """Height of rendered frames, in pixels."""
    camera: ClassVar[dict[str, Any]] = {
        "type": 1,  # the camera follows a body
        "trackbodyid": 1,
        "distance": 4.0,
        "elevation": -20.0,
    }
    """Attributes of the `MjvCamera` for rendering."""

    def __init__(
        self, num_envs: int = 1, *, max_episode_steps: int | None = 1000, **kwargs: Any
    ) -> None:
        self._info: State = {}  # info of the last call of `dynamics`
        super().__init__(num_envs, max_episode_steps=max_episode_steps, **kwargs)

    def locate(self, state: State) -> State:
        """Positions of the robots for `info`, by name, each `[N, ...]`."""
        return {}

    def measure(self, before: State, after: State) -> State:
        """Entries of a step's `info` besides the terms of the reward, by name."""
        return self.locate(after)

    def gains(self, measures: State, after: State) -> State:
        """Positive terms of the reward, by name, each `[N]`."""
        raise NotImplementedError(f"{type(self)} lacks gains(measures, after)")

    def costs(self, action: Tensor, after: State) -> State:
        """Costs, subtracted from the reward, by name, each `[N]`."""
        return {}

    def terminated(self, state: State) -> Tensor:
        """Whether episodes end in this state, bool `[N]`; by default never."""
        return torch.zeros_like(state["qpos"][0], dtype=torch.bool)

    def initial_state(self, noise: Tensor) -> State:
        scale, (nq, nv) = self.reset_noise_scale, (self.model.nq, self.model.nv)
        position, velocity = noise.split([nq, nv])
        if self.normal_velocities:
            tiny = torch.finfo(noise.dtype).eps / 4  # noise may be 0, never 1
            velocity = torch.special.ndtri(velocity.clamp(min=tiny))
        else:
            velocity = 2 * velocity - 1
        state = {
            "qpos": self.init_qpos + scale * (2 * position - 1),
            "qvel": scale * velocity,
            "qacc_warmstart": torch.zeros_like(velocity),
        }
        return {**state, **self._kept(self.backend.fields(state))}

    def dynamics(self, state: State, action: Tensor) -> tuple[State, Tensor, Tensor]:
        """Apply constant controls for `frame_skip` steps of the physics."""
        with torch.no_grad():
            after = self.backend.step(state, action, self.frame_skip)
            measures = self.measure(state, after)
            gains, costs = self.gains(measures, after), self.costs(action, after)
            terms = {f"reward_{name}": gain for name, gain in gains.items()}
            terms |= {f"reward_{name}": -cost for name, cost in costs.items()}
            self._info = {**measures, **terms}
            reward = sum(gains.values()) - sum(costs.values())
            ended = self.terminated(after)
            return self._kept(after), torch.as_tensor(reward), ended

    def _kept(self, fields: State) -> State:
        return {name: x for name, x in fields.items() if name not in self.info_fields}

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        """As in the base class; `info` has the robots' positions."""
        obs, info = super().reset(seed=seed, options=options)
        with torch.no_grad():
            fields = self.backend.fields(self.state) if self.info_fields else {}
            return obs, {**self.locate({**fields, **self.state}), **info}

    def step(self, actions: Tensor | np.ndarray) -> StepResult:
        """As in the base class, with more in `info`.

        In NEXT_STEP mode these entries, like the reward, are zero at resets.
        """
        was_over = self._ended
        obs, reward, terminated, truncated, info = super().step(actions)
        more = self._info
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            more = {
                name: x.masked_fill(was_over.view(-1, *[1] * (x.ndim - 1)), 0)
                for name, x in more.items()
            }
        return obs, reward, terminated, truncated, {**more, **info}

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        if self._painter is None:
            from yieldrl.envs.physics.picture import Painter

            self._painter = Painter(self.model, self.camera, self.width, self.height)
        model = of_world(self.model, self._varied, index)
        return self._painter.draw(model, state["qpos"], state["qvel"])

    def restart(self, ended: Tensor, state: State, noise: Tensor | None) -> State:
        """As in the base class, but for all worlds if their physics differ."""
        if noise is None and self._varied and self.backend.outputs:
            columns = ended.nonzero().flatten()
            if not len(columns):
                return state
            drawn = self.draw_noise(len(columns))  # no more than where nothing varies
            noise = drawn.new_zeros(len(drawn), self.num_envs)
            noise[:, columns] = drawn
            return where(ended, self.initial_state(noise), state)
        return super().restart(ended, state, noise)
