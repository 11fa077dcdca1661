"""A model of the world that learns beside a policy, from the same rollouts."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Algorithm, Logs
from yieldrl.buffers import ReplayBuffer, transitions
from yieldrl.core import derive_seed
from yieldrl.imagination.diagnostics import outcome_errors
from yieldrl.imagination.trunk import TrunkWorld, change_errors
from yieldrl.networks.dtypes import in_float32

STEP = ("obs", "next_obs", "action", "reward", "terminated", "truncated", "valid")


class WorldLearning(Algorithm):
    """Base, before that of a policy, of algorithms with a model of the world too.

    With one stage every gradient step of the policy is one of the model, by one
    optimizer with groups for both; with two the model has an optimizer of its own.

    Attributes:
        world: The model.
        experience: Real transitions that it learns from.
        past: Step numbers of current episodes.
    """

    config: Any
    model: Any
    world: TrunkWorld
    world_optimizer: torch.optim.Optimizer

    def __init__(self, model: Any, config: Any) -> None:
        options = config.outcome, config.action_token
        device = next(model.parameters()).device
        self.world = TrunkWorld(model, *options).to(device).eval()
        in_float32(self.world)
        super().__init__(model, config)
        self.world.to(self.device)
        self.past = Past(config.num_envs).to(self.device)
        spaces = model.observation_space, model.action_space
        seed, envs = derive_seed(config.seed, "world"), config.num_envs
        size: dict[str, Any] = {"num_envs": envs, "gamma": config.gamma, "seed": seed}
        size["device"] = self.device
        self.experience = ReplayBuffer(config.buffer_size, *spaces, **size)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """The policy's optimizer; with one stage it has the model's parameters too."""
        parent: Any = super()
        optimizer, config = parent.make_optimizer(), self.config
        groups = self.world.parameter_groups()
        rates = {"model": config.model_learning_rate}
        rates["heads"] = config.head_learning_rate
        own = [{"params": groups[name], "lr": rates[name]} for name in rates]
        if config.stages == 1:
            for group in own:
                optimizer.add_param_group(group)
        else:
            options = {"eps": 1e-5, "weight_decay": config.weight_decay, "fused": True}
            self.world_optimizer = torch.optim.AdamW(own, **options)
        return optimizer

    def sync_target(self) -> None:
        """Update the target; a world model that has not learned yet copies the policy's
        trunk."""
        super().sync_target()
        if int(self.world.version) == 0:
            self.world.sync()

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """The policy's loss; with one stage that of the model is added to it."""
        parent: Any = super()
        if "world" not in data.keys():  # noqa: SIM118
            return parent.loss(data, evaluated)
        loss, logs = parent.loss(data.exclude("world"), evaluated)
        model_loss, model_logs = self.world_loss(data["world"].reshape(-1))
        return loss + model_loss, logs | model_logs

    def world_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The world model's loss on real transitions `[B]`, and metrics."""
        return self.world.loss(data)

    def world_step(self, data: TensorDict) -> Logs:
        """A gradient step of the model alone, on transitions `[B]`."""
        optimizer = self.optimizer if self.config.stages == 1 else self.world_optimizer
        options = self.config.max_grad_norm, self.config.model_micro_batches
        logs = self.minimize(self.world_loss, data, optimizer, *options)
        self.world.version += 1
        return {k: v for k, v in logs.items() if k.startswith("model/")}

    def forget_episodes(self) -> None:
        parent: Any = super()
        parent.forget_episodes()
        self.past.forget()

    def learn_world(self, rollout: TensorDict) -> Logs:
        """Measure the model's error on a new rollout `[T, N]`; then learn from it."""
        new, config = len(self.experience) == 0, self.config
        steps = rollout.select(*STEP, strict=False)
        steps["step"] = self.past.follow(rollout)
        logs = {} if new else self.foreseen(steps)
        self.experience.add(steps)
        self.world.fit_to(self.latent(transitions(steps)))
        later = config.model_steps if config.stages == 2 else 0
        for _ in range(config.model_warmup_steps if new else later):
            logs |= self.world_step(self.drawn(config.model_batch_size))
        return logs

    def drawn(self, count: int) -> TensorDict:
        """Random real transitions `[count]` between states."""
        return self.latent(self.experience.sample(count))

    @torch.no_grad()
    def latent(self, steps: TensorDict) -> TensorDict:
        """Transitions `[B]` with latent states in place of observations."""
        steps = steps.copy()
        for later, name in enumerate(("obs", "next_obs")):
            state = self.world.begin(steps[name])
            steps[name] = state.set("step", steps["step"] + later)
        return steps

    @torch.no_grad()
    def foreseen(self, steps: TensorDict) -> Logs:
        """Errors of the model on real steps `[T, N]` that it has not seen."""
        whole = self.latent(steps.flatten(0, 1)).view(steps.batch_size)
        logs = outcome_errors(self.world, transitions(whole))
        errors = change_errors(self.world, whole[: self.config.horizon])
        logs |= {"error_1_step": errors[0], f"error_{len(errors)}_steps": errors[-1]}
        return {f"model/{name}": value for name, value in logs.items()}


class Past(nn.Module):
    """Steps of current episodes, `ages [N]`, and the count of refreshed branches."""

    ages: Tensor
    refreshed: Tensor

    def __init__(self, num_envs: int) -> None:
        super().__init__()
        self.register_buffer("ages", torch.zeros(num_envs, dtype=torch.int64))
        self.register_buffer("refreshed", torch.zeros((), dtype=torch.int64))

    def follow(self, rollout: TensorDict) -> Tensor:
        """The number of each step in its episode, `[T, N]` int64, of the next rollout.

        >>> flags = {"terminated": torch.tensor([[False], [True], [False]])}
        >>> flags["truncated"] = torch.zeros(3, 1, dtype=torch.bool)
        >>> past = Past(1)
        >>> [past.follow(TensorDict(flags, [3, 1])).flatten().tolist() for _ in "ab"]
        [[0, 1, 0], [1, 2, 0]]
        """
        goes_on = ~(rollout["terminated"] | rollout["truncated"])
        goes_on = goes_on & rollout.get("valid", goes_on)
        ages: list[Tensor] = []
        for row in goes_on:
            ages.append(self.ages.clone())
            self.ages.copy_((self.ages + 1) * row)
        return torch.stack(ages)

    def forget(self) -> None:
        """Note that the next rollout begins new episodes."""
        self.ages.zero_()
