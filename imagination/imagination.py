"""Imagination beside a replay buffer: a model that is fitted to it, and branches."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import torch
from tensordict import TensorDict

from yieldrl.buffers import ImaginationBuffer, ReplayBuffer
from yieldrl.core import derive_seed, restore_generator
from yieldrl.core.logs import Logs
from yieldrl.imagination.diagnostics import (
    ExploitationWatch,
    k_step_errors,
    outcome_errors,
)
from yieldrl.imagination.rollout import imagined_return

LEARNED = "obs", "next_obs", "action", "reward", "terminated", "truncated", "discount"
"""Entries that real and imagined transitions have in common."""

LOOKS = 1, 5, 15
"""Numbers of steps after which errors of predictions are logged."""


class ReplayedImagination:
    """Fits a model to a replay buffer regularly, and imagines branches with it.

    Args:
        algorithm: Has the model, `world`, `fit_world(data, generator)`, and
            `imagine(starts, horizon, generator, model_version)`, which returns a
            segment `[H, B]` that begins in real transitions `[B]`.
        real: The replay buffer of real transitions.
        parts: `observation_space`, `action_space`, `num_envs` and `device`.

    Attributes:
        fits: How often the model was fitted, which is its version.
        generator: Random numbers for fits and branches.
        branches: The latest segments.
        watch: Compares imagined with real returns.
        pool: An `ImaginationPool` that imagines in place of the algorithm, or
            None.
    """

    pool: Any = None

    def __init__(self, algorithm: Any, real: ReplayBuffer, **parts: Any) -> None:
        self.algorithm = algorithm
        config = self.config = algorithm.config
        self.real, self.watch = real, ExploitationWatch()
        self.num_envs = parts.pop("num_envs")
        seed = derive_seed(config.seed, "imagination")
        self.generator = torch.Generator(parts["device"]).manual_seed(seed)
        parts |= {"num_envs": config.num_branches, "gamma": config.gamma}
        rows = config.num_branches * config.horizon
        self.branches = ImaginationBuffer(rows, seed=seed, **parts)
        self.fits = self.fitted_at = 0

    def due(self, sample_step: int) -> bool:
        """Whether `model_every` steps were taken since the latest fit."""
        return self.fits == 0 or sample_step >= self.fitted_at + self.config.model_every

    def refresh(self, sample_step: int) -> Logs:
        """Measure the model's errors, fit it, and imagine with it; metrics."""
        logs = self.measure(sample_step) if self.fits > 0 else {}
        logs |= self.algorithm.fit_world(self.real.every_step(), self.generator)
        starts = self.real.sample(self.config.num_branches)
        asked = starts, self.config.horizon, self.generator, self.fits + 1
        if self.pool is None:
            parts = [self.algorithm.imagine(*asked)]
        else:
            parts = self.pool(*asked)
        segment: Any = torch.cat(parts, 1)
        self.branches.add(segment)
        self.fitted_at, self.fits = sample_step, self.fits + 1
        valid = segment["valid"]
        disagreement = segment["disagreement"].where(valid, 0.0)
        logs["disagreement"] = disagreement.sum() / valid.sum()
        return logs

    def measure(self, sample_step: int) -> Logs:
        """Errors of the model on the steps since its fit, which it has not seen.

        `real_return` is that of as many steps as `imagined_return`, from the same
        states, by the policies that took them.
        """
        # Of two rows, one at least does more than reset.
        rows = max(2, (sample_step - self.fitted_at) // self.num_envs)
        real, world = self.latest(rows), self.algorithm.world
        errors = k_step_errors(world, real)
        logs: Logs = {
            f"model_error_{k}": errors[k - 1] for k in LOOKS if k <= len(errors)
        }
        logs |= outcome_errors(world, self.real.every_step(rows))
        branches = real[0], len(real), self.generator, self.fits
        imagined = imagined_return(self.algorithm.imagine(*branches)).mean()
        gained = real["reward"].sum(0).mean()
        logs |= {"imagined_return": imagined, "real_return": gained}
        returns = torch.stack([imagined, gained]).tolist()
        logs["exploits_model"] = float(self.watch.look(*returns))
        return logs

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
        both: Any = torch.cat(parts)
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
