"""Base class of algorithms: gradient steps, learning rates, saving."""

import copy
from collections.abc import Mapping
from typing import Any, Self

import torch
from tensordict import TensorDict
from torch import nn
from torch.optim import Optimizer

from yieldrl.buffers import transitions
from yieldrl.foundations import (
    CheckpointError,
    Config,
    Counters,
    drawing_from,
    ranks,
    resolve_device,
)
from yieldrl.foundations.conversion import check_shapes
from yieldrl.networks.dtypes import in_float32
from yieldrl.runtime.gradient_step import GradientStep, LatestLoss, Loss
from yieldrl.runtime.learning_mode import LearningMode
from yieldrl.runtime.runtime import Runtime


class Learner:
    """Takes gradient steps in train mode, counts them, and saves what has a state.

    Attributes that have a `state_dict` are saved by their names: the model, a target
    copy, optimizers, whatever a subclass adds.

    Args:
        model: What learns; it moves to the config's device. Parameters of float64
            become float32, as data are, if that is PyTorch's default dtype.
        config: Says the device, and how functions are executed.

    Attributes:
        counters: How far training has come, also for the agent to count in.
        runtime: Executes losses and acting, as the config says.
    """

    model: Any
    config: Any
    optimizer: Optimizer

    def __init__(self, model: nn.Module, config: Config) -> None:
        self.config = config
        self.device = resolve_device(config.device)
        self.model = in_float32(model.to(self.device).eval())
        self.counters = Counters()
        self._seed = ranks().derive_seed(config.seed, "learning")
        self.runtime = Runtime(config, self.device)
        self._mode = LearningMode(self.model)
        self._steps: dict[tuple[str, Optimizer], tuple[Any, Any, Any]] = {}

    def minimize(
        self,
        loss: Loss,
        data: Any,
        optimizer: Optimizer | None = None,
        max_grad_norm: float | None = None,
    ) -> dict[str, Any]:
        """One gradient step of a loss on a batch `[B]`; metrics to log.

        Args:
            loss: From the batch to the loss, 0-dim, and metrics, detached and 0-dim.
            data: The batch. Results per sample, such as priorities, the loss writes
                into it.
            optimizer: Says what is trained; by default `self.optimizer`.
            max_grad_norm: Gradients are scaled down to this norm; `inf` measures the
                norm only, None does neither.
        """
        optimizer = optimizer or self.optimizer
        of = getattr(loss, "__name__", "loss"), optimizer
        latest, norm, step = self._steps.get(of) or (LatestLoss(of[0]), None, None)
        latest.function = loss  # a new closure in each step may have the same code
        overridden = type(self).gradient_step is not Learner.gradient_step
        if step is None or (overridden and norm != max_grad_norm):
            step = self.gradient_step(latest, optimizer, max_grad_norm)
        if not overridden:
            step.max_grad_norm = max_grad_norm
        self._steps[of] = latest, max_grad_norm, step
        return step(data)

    def gradient_step(
        self, loss: Loss, optimizer: Optimizer, max_grad_norm: float | None = None
    ) -> GradientStep:
        """The `GradientStep` that `minimize` uses for a loss.

        Override it to accumulate gradients, to scale them, and the like.
        """
        parts = getattr(self.config, "micro_batches", None)
        options = loss, optimizer, max_grad_norm, self.model, parts
        return self.runtime.gradient_step(*options)

    def learn(self, data: TensorDict) -> dict[str, Any]:
        """One gradient step on a batch `[B]`: the subclass's business."""
        raise NotImplementedError

    def update(self, rollout: TensorDict) -> dict[str, Any]:
        """Learn from a rollout `[T, N]`; metrics to log.

        This default takes one gradient step on all of its transitions, and then syncs
        the target, if that is due. (With a replay buffer use the trainer's `update`.)
        RuntimeError if the learning rate has been annealed to zero, ValueError if
        entries of the rollout have names of other libraries.
        """
        check_shapes(rollout)
        self.anneal_before(rollout)
        batch = transitions(rollout.to(self.device))
        if batch.get("discount", None) is None:
            gamma = getattr(self.config, "gamma", 1.0)
            batch["discount"] = torch.full_like(batch["reward"], gamma)
        logs = self.train_step(batch)
        if (every := getattr(self.config, "target_every", None)) is not None:
            self.sync_if_due(every)
        return logs

    def complete(self, rollout: TensorDict) -> TensorDict:
        """An annotated rollout `[T, N]` with what learning computes of all of it."""
        return rollout

    def sync_target(self) -> None:
        """Update a target copy towards the model, if there is one."""

    def train_step(self, data: TensorDict) -> dict[str, Any]:
        """`learn` in train mode, counted; FloatingPointError if the loss is not finite.

        That is checked on every CPU step, and every 100 on a GPU, where checking costs
        a synchronisation. Whatever draws globally draws by a seed of the step's own.
        """
        now = self.counters
        now.policy_version += 1  # first: a step that fails may change weights
        own = torch.Generator(self.device).manual_seed(self._seed + now.learn_step)
        with self._mode, drawing_from(own):
            logs = self.learn(data)
        now.learn_step += 1
        if self.device.type == "cpu" or now.learn_step % 100 == 0:
            counters = f"learn_step {now.learn_step} (sample_step {now.sample_step})"
            self._mode.check_finite(logs.get("loss"), counters)
        return logs

    def acting_copy(self) -> Self:
        """A copy that only acts: own model and counters; frozen weights are shared."""
        frozen = {id(p): p for p in self.model.parameters() if not p.requires_grad}
        acting = copy.copy(self)
        acting.model = copy.deepcopy(self.model, frozen).requires_grad_(False).eval()
        acting.counters = copy.copy(self.counters)
        return acting

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next gradient step; set it whenever you like.

        A rate that you set holds from the next step on, also where the config anneals
        it: until you set another. It is that of the first parameter group; groups with
        rates of their own keep their ratio to it.
        """
        return self.optimizer.param_groups[0]["lr"]

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        before = self.learning_rate
        for group in self._param_groups():
            same = group["lr"] == before or before == 0.0
            group["lr"] = value if same else value * group["lr"] / before
            group["scheduled_lr"] = None

    def anneal(self, fraction_done: float) -> None:
        """Let the learning rate fall linearly over training, unless it was set by hand.

        That is where it is no longer what was scheduled last, `scheduled_lr` of an
        optimizer's parameter group, which fell from `initial_lr`.
        """
        for group in self._param_groups():
            start = group.setdefault("initial_lr", group["lr"])
            if group["lr"] == group.get("scheduled_lr", start):
                group["scheduled_lr"] = start * max(0.0, 1.0 - fraction_done)
                group["lr"] = group["scheduled_lr"]

    def anneal_before(self, rollout: TensorDict) -> None:
        """Set the learning rate for a rollout `[T, N]`, if the config anneals it.

        RuntimeError if it would be zero: `total_steps` were taken before the rollout.
        """
        config = self.config
        if not getattr(config, "anneal_learning_rate", False):
            return
        before = self.counters.sample_step - rollout.numel() * ranks().count
        if before >= config.total_steps:
            raise RuntimeError(
                f"the learning rate falls to zero at total_steps = {config.total_steps}"
                f" and {before} steps were taken before this rollout, which would teach"
                " nothing: give the config as many total_steps as your loop takes, or"
                " anneal_learning_rate=False (save() and load(path, config=...) keep"
                " what was learned)"
            )
        self.anneal(max(0, before) / config.total_steps)

    def sync_if_due(self, every: int) -> None:
        """Sync the target, if `every` gradient steps were taken since it was last."""
        now = self.counters
        if now.learn_step // every > now.sync_step // every:
            with self.runtime.gathered():
                self.sync_target()
            now.sync_step = now.learn_step

    def state_dict(self) -> dict[str, Any]:
        """Model, target, optimizer: everything that learning needs to go on."""
        return {name: part.state_dict() for name, part in self._stateful()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a `state_dict`; CheckpointError if it has other parts."""
        parts = dict(self._stateful())
        if parts.keys() != state.keys():
            raise CheckpointError(
                f"{type(self).__qualname__} has the parts {sorted(parts)}, the"
                f" checkpoint {sorted(state)}: load it with the class that saved it"
            )
        for name, part in parts.items():
            part.load_state_dict(state[name])

    def _param_groups(self) -> list[dict[str, Any]]:
        parts = vars(self).values()
        optimizers = [part for part in parts if isinstance(part, Optimizer)]
        return [group for one in optimizers for group in one.param_groups]

    def _stateful(self) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in vars(self).items() if hasattr(v, "state_dict")]
