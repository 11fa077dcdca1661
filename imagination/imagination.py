"""Imagined segments: made here or on Ray, and learned from beside real steps."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import torch
from tensordict import TensorDict
from torch import Generator, Tensor

from yieldrl.buffers import ImaginationBuffer, ReplayBuffer
from yieldrl.core import derive_seed, restore_generator
from yieldrl.core.logs import Logs
from yieldrl.imagination.diagnostics import (
    ExploitationWatch,
    k_step_errors,
    outcome_errors,
)
from yieldrl.imagination.rollout import imagined_return

Segments = list[TensorDict]


class Imagination:
    """Imagines segments `[H, B]` with an algorithm, and keeps the latest one.

    Schedules decide when the world model learns, and how segments are learned from:
    `ReplayedImagination` beside a replay buffer, `PolicyImagination` beside rollouts.

    Args:
        algorithm: Has `imagine(starts, horizon, generator, model_version)`, which
            returns a segment that begins in real transitions `[B]`.
        alike: Gives segments that were imagined separately the same entries and sizes.

    Attributes:
        segment: The latest segment; None until something is imagined.
        elsewhere: Imagines in place of the algorithm, such as an `ImaginationPool`
            on Ray: it returns segments `[H, b]`, or None if none has arrived yet.
        watch: Compares imagined with real returns.
    """

    segment: TensorDict | None = None
    elsewhere: Any = None

    def __init__(
        self, algorithm: Any, alike: Callable[[Segments], Segments] = list
    ) -> None:
        self.algorithm, self.alike = algorithm, alike
        self.watch = ExploitationWatch()

    def imagine(
        self, starts: TensorDict, horizon: int, generator: Generator, version: int
    ) -> TensorDict | None:
        """A segment `[H, B]` by the model of this version, which is kept too.

        Args:
            starts: Real transitions `[B]`.
            horizon: `H`.
            generator: What actions and predictions are drawn from.
            version: How often the model has learned.
        """
        asked = starts, horizon, generator, version
        if self.elsewhere is None:
            return self.keep(self.algorithm.imagine(*asked))
        if (parts := self.elsewhere(*asked)) is None:
            return None
        alike: Any = self.alike(parts) if len(parts) > 1 else parts
        whole: Any = torch.cat(alike, 1)
        return self.keep(whole)

    def keep(self, segment: TensorDict) -> TensorDict:
        """Keep a segment until the next one, and return it."""
        self.segment = segment
        return segment

    def exploits(self, imagined: Tensor, real: Tensor) -> float:
        """1 if the returns of a policy show that it exploits the model, else 0."""
        return float(self.watch.look(float(imagined), float(real)))


LEARNED = "obs", "next_obs", "action", "reward", "terminated", "truncated", "discount"
"""Entries that real and imagined transitions have in common."""

LOOKS = 1, 5, 15
"""Numbers of steps after which errors of predictions are logged."""


class ReplayedImagination(Imagination):
    """Fits a model to a replay buffer regularly, and imagines branches with it.

    Args:
        algorithm: Has also `fit_world(data, generator)`, and the model, `world`.
        real: The replay buffer of real transitions.
        parts: `observation_space`, `action_space`, `num_envs` and `device`.

    Attributes:
        fits: How often the model was fitted, which is its version.
        generator: Random numbers for fits and branches.
        branches: The latest segments.
    """

    def __init__(self, algorithm: Any, real: ReplayBuffer, **parts: Any) -> None:
        super().__init__(algorithm)
        config = self.config = algorithm.config
        self.real = real
        self.num_envs = parts.pop("num_envs")
        seed = derive_seed(config.seed, "imagination")
        self.generator = torch.Generator(parts["device"]).manual_seed(seed)
        parts |= {"num_envs": config.num_branches, "gamma": config.gamma}
        self.branches = ImaginationBuffer(config.imagined_size, seed=seed, **parts)
        self.fits = self.fitted_at = 0

    def due(self, sample_step: int) -> bool:
        """Whether `model_every` steps were taken since the latest fit."""
        return self.fits == 0 or sample_step >= self.fitted_at + self.config.model_every

    def refresh(self, sample_step: int) -> Logs:
        """Measure the model's errors, fit it, and imagine with it; metrics."""
        logs = self.measure(sample_step) if self.fits > 0 else {}
        logs |= self.algorithm.fit_world(self.real.every_step(), self.generator)
        starts = self.real.sample(self.config.num_branches)
        horizon = self.config.horizon(sample_step)
        segment = self.imagine(starts, horizon, self.generator, self.fits + 1)
        assert segment is not None
        self.fitted_at, self.fits = sample_step, self.fits + 1
        taken = segment["disagreement"][segment["valid"]]
        return {**logs, "disagreement": taken.mean(), "horizon": float(horizon)}

    def keep(self, segment: TensorDict) -> TensorDict:
        self.branches.add(segment)
        return segment

    def measure(self, sample_step: int) -> Logs:
        """Errors of the model on the steps since its fit, which it has not seen.

        `real_return` is that of as many steps as `imagined_return`, from the same
        states, by the policies that took them.
        """
        # Of two rows, one at least does more than reset.
        rows = max(2, (sample_step - self.fitted_at) // self.num_envs)
        real, world = self.latest(rows), self.algorithm.world
        errors = k_step_errors(world, real)
        logs = {f"model_error_{k}": errors[k - 1] for k in LOOKS if k <= len(errors)}
        logs |= outcome_errors(world, self.real.every_step(rows))
        branches = real[0], len(real), self.generator, self.fits
        imagined = imagined_return(self.algorithm.imagine(*branches)).mean()
        gained = real["reward"].sum(0).mean()
        logs |= {"imagined_return": imagined, "real_return": gained}
        return {**logs, "exploits_model": self.exploits(imagined, gained)}

    def latest(self, rows: int) -> TensorDict:
        """Consecutive steps `[T, B]` of the latest rows, as long as episodes allow."""
        for length in range(min(max(LOOKS), rows), 1, -1):
            with suppress(RuntimeError):  # no episode is that long
                return self.real.sequences(256, length, rows)
        return self.real.sequences(256, 1, rows)

    def sample(self, batch_size: int) -> TensorDict:
        """A batch `[B]`, of which the config's `real_share` is real."""
        real = round(self.config.real_share * batch_size)
        parts: Any = [
            buffer.sample(count).select(*LEARNED)
            for buffer, count in ((self.real, real), (self.branches, batch_size - real))
            if count > 0
        ]
        both: Any = torch.cat(parts) if len(parts) > 1 else parts[0]
        return both

    def state_dict(self) -> dict[str, Any]:
        """All state but that of the model, which the algorithm saves."""
        return {
            "branches": self.branches.state_dict(),
            "fits": self.fits,
            "fitted_at": self.fitted_at,
            "generator": self.generator.get_state(),
            "watch": self.watch.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.branches.load_state_dict(state["branches"])
        self.fits, self.fitted_at = state["fits"], state["fitted_at"]
        restore_generator(self.generator, state["generator"])
        self.watch.load_state_dict(state["watch"])
