"""N copies of a world: state, random numbers, and checkpoints of both."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import gymnasium
import numpy as np
import torch
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.envs.batched import checks
from yieldrl.envs.batched.noise import NoiseSource
from yieldrl.envs.batched.parameters import Parameters
from yieldrl.envs.batched.tree import clone, layout, tree_map
from yieldrl.envs.batched.world import World
from yieldrl.foundations.compiled import Compiled
from yieldrl.foundations.device import usable_device


class Batch(World, Parameters):
    """The data of a `TorchVectorEnv` between steps; see there for the arguments."""

    gymnasium_id: ClassVar[str | None] = None
    """Id of a Gymnasium environment with the same states, used for rendering."""

    closed: bool
    single_action_space: Any
    single_observation_space: Any
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as in gymnasium)
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # of the constructor

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Store the arguments, for `clone`."""
        envs = super().__new__(cls)
        envs._arguments = args[1:], {k: kwargs[k] for k in kwargs if k != "num_envs"}
        return envs

    def __init__(
        self,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        compile: bool = False,  # noqa: A002 (as in PyTorch)
    ) -> None:
        self.num_envs, self.max_episode_steps = num_envs, max_episode_steps
        self.device = usable_device(device)  # "cuda" becomes "cuda:0"
        self.dtype, self.render_mode, self.compiles = dtype, render_mode, compile
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        checks.check_arguments(self)
        # Copy: a space has a random generator, which instances must not share.
        self.single_action_space = copy.deepcopy(self.single_action_space)
        self.single_observation_space = copy.deepcopy(self.single_observation_space)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        observation = np.empty(0, self.single_observation_space.dtype)
        self._obs_dtype = torch.from_numpy(observation).dtype
        self._limit = max_episode_steps or torch.iinfo(torch.int64).max
        self._transposes = type(self).observe is World.observe
        self._is_random = type(self).random_dynamics is not World.random_dynamics
        self._action_reader = checks.ActionReader(self)
        self._noise = NoiseSource(self.noise_size, num_envs, dtype, self.device)
        self.state: Any = None
        self.elapsed = torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        self._ended = torch.zeros(num_envs, dtype=torch.bool, device=self.device)
        self._painter: Any = None  # Gymnasium environment for rendering, or None
        step = self.pure_step
        self._step = Compiled("world's step", step) if compile else step
        if compile or self.device.type != "cpu":
            self._can_branch = False

    @property
    def action_dtype(self) -> torch.dtype:
        """Dtype of the actions that `dynamics` gets."""
        return self._action_reader.dtype

    @property
    def generator(self) -> torch.Generator:
        """The generator of all random numbers."""
        return self._noise.generator

    def renew_noise(self, ended_before: Tensor) -> None:
        """Draw new noise for the next step where the latest one used it; `ended_before
        [N]` marks where the step before that ended an episode."""
        same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        used = self._ended if same_step else ended_before
        self._noise.renew(used, all_used=self._is_random)

    @property
    def _takes_noise(self) -> bool:
        """Whether a step takes noise as an argument."""
        return self._is_random or not self._can_branch

    def _first_states(self, noise: Tensor, parameters: Mapping[str, Tensor]) -> Any:
        """`initial_state`, with parameters replaced for this call."""
        usual = {name: getattr(self, name) for name in parameters}
        vars(self).update(parameters)
        try:
            return self.initial_state(noise)
        finally:
            vars(self).update(usual)

    def check_running(self) -> None:
        """Raise if not reset or closed (on a CPU, also if an episode is over)."""
        if self.state is None and self.closed:
            raise ClosedEnvironmentError("a step after close(): make new environments")
        if self.state is None:
            raise ResetNeeded("nothing to step yet: call reset() first")
        by_caller = self.autoreset_mode is AutoresetMode.DISABLED
        if by_caller and self.device.type == "cpu" and self._ended.any():
            raise ResetNeeded(
                f"the episodes of {self._ended.nonzero().flatten().tolist()} are over:"
                ' call reset(options={"reset_mask": terminated | truncated})'
            )

    def detach(self) -> None:
        """Detach the state from the autograd graph of earlier steps."""
        self.state = tree_map(Tensor.detach, self.state)

    def clone(self, num_envs: int, *, render_mode: str | None = None) -> Self:
        """New environments, made with the same arguments except these two."""
        args, kwargs = self._arguments
        return type(self)(num_envs, *args, **{**kwargs, "render_mode": render_mode})

    def __getstate__(self) -> dict[str, Any]:
        """State for copies, which make their own painter."""
        return {**vars(self), "_painter": None}

    def draw(self, state: Any, index: int) -> np.ndarray:
        """The frame uint8 `[H, W, 3]`, rendered by `gymnasium_id` (with pygame)."""
        if self.gymnasium_id is None:
            return super().draw(state, index)
        if self._painter is None:
            env: Any = gymnasium.make(self.gymnasium_id, render_mode="rgb_array")
            self._painter = env.unwrapped
            self._painter.last_u = None  # the pendulum would draw its torque
        self._painter.state = state
        return self._painter.render()

    def render(self, indices: Sequence[int] | None = None) -> tuple[np.ndarray, ...]:
        """Frames uint8 `[H, W, 3]` of all environments, or of those at `indices`."""
        if self.render_mode is None:
            raise ValueError('to render, construct with render_mode="rgb_array"')
        if self.state is None:
            raise ResetNeeded("nothing to render yet: call reset() first")
        state = tree_map(lambda x: x.detach().cpu().numpy(), self.state)
        chosen = range(self.num_envs) if indices is None else indices
        columns = [tree_map(lambda x, i=i: x[..., i], state) for i in chosen]
        return tuple(map(self.draw, columns, chosen))

    def close_extras(self, **kwargs: Any) -> None:
        self.state = self._noise.pending = None

    def state_dict(self) -> dict[str, Any]:
        """All state needed to continue bitwise, except the constants."""
        parts = {"state": self.state, "elapsed": self.elapsed, "ended": self._ended}
        parts = clone({**parts, "noise": self._noise.pending})
        return {**parts, "generator": self.generator.get_state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        own, size = self.state_dict(), (self.noise_size, self.num_envs)
        noise = torch.zeros(size, dtype=self.dtype, device=self.device)
        with torch.no_grad():
            own["state"] = self.fold(self.initial_state(noise))
        if state.get("state") is None:
            own["state"] = None  # saved before the first reset
        # Whether steps take noise depends on the device and on compiling.
        own["noise"] = noise if state.get("noise") is not None else None
        if layout(state) != layout(own):
            raise ValueError(
                f"saved was {layout(state)}, these environments have {layout(own)}:"
                " make them with the saved num_envs, dtype and kind of device"
            )
        self.generator.set_state(state["generator"].cpu())
        copies = tree_map(lambda x: x.to(self.device, copy=True), state)
        self.state, self.elapsed = copies["state"], copies["elapsed"]
        self._ended, self._noise.pending = copies["ended"], None
        if self._takes_noise and self.state is not None:
            saved = copies["noise"]
            self._noise.pending = self.draw_noise() if saved is None else saved
