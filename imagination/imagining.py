"""Imagination beside rollouts: a policy and a model of the world learn from both."""

import math
from abc import abstractmethod
from typing import Any

import torch
from tensordict import TensorDict
from torch import Generator, Tensor, nn
from torch.nn import functional

from yieldrl.abstractions import Algorithm, Logs, Trainer
from yieldrl.buffers import Minibatches, ReplayBuffer, transitions
from yieldrl.buffers.minibatches import joined
from yieldrl.core import derive_seed
from yieldrl.experiments import on_ray
from yieldrl.imagination.diagnostics import ExploitationWatch, outcome_errors
from yieldrl.imagination.rollout import imagine, imagined_return
from yieldrl.imagination.trunk import TrunkWorld, change_errors
from yieldrl.networks.train_mode import in_float32
from yieldrl.vla.observations import PROMPT, is_latent

STEP = ("obs", "next_obs", "action", "reward", "terminated", "truncated", "valid")


class PolicyImagination(Algorithm):
    """Base, before that of a policy, of algorithms that learn from imagination too.

    The model of the world learns from every real rollout. Then, `refreshes` times,
    branches are imagined from real states and learned from, beside a part of the
    rollout. Each sample has the versions of its weights: `acted_version` is the
    policy's, and `model_version` the number of the model's gradient steps, -1 for
    real samples. With one stage every gradient step of the policy is one of the model,
    by one optimizer with groups for both; with two the model has its own.

    Differs from what it follows: a policy learns from latents, of real samples too, so
    the embeddings of images and words are frozen once cloning is over.

    Attributes:
        world: The model.
        experience: Real transitions that it learns from.
        past: Step numbers of current episodes.
        segments: What was imagined latest, `[H, B]` each; none if nothing has arrived.
        watch: Compares imagined with real returns.
        pool: An `ImaginationPool` that imagines in place of this process, or None.
    """

    config: Any
    model: Any
    world_optimizer: torch.optim.Optimizer
    pool: Any = None

    def __init__(self, model: Any, config: Any) -> None:
        world = TrunkWorld(model, config.outcome).eval()
        in_float32(world, next(model.parameters()).device)
        self.world = world
        super().__init__(model, config)
        self.world.to(self.device)
        self.past = Past(config.num_envs).to(self.device)
        self.experience = ReplayBuffer(
            config.buffer_size,
            model.observation_space,
            model.action_space,
            num_envs=config.num_envs,
            gamma=config.gamma,
            seed=derive_seed(config.seed, "world"),
            device=self.device,
        )
        self.segments: list[TensorDict] = []
        self.watch = ExploitationWatch()

    @abstractmethod
    def rows(self, data: TensorDict) -> TensorDict:
        """The rows `[E, T]` of a prepared rollout `[T, N]` to learn from."""

    @abstractmethod
    def worth(self, segment: TensorDict) -> TensorDict:
        """Rows of an imagined segment `[H, B]`, with advantages."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        """The policy's optimizer; with one stage it has the model's parameters too."""
        parent: Any = super()
        optimizer, config = parent.make_optimizer(), self.config
        rates = config.model_learning_rate, config.head_learning_rate
        parts = zip(self.world.parameter_groups(), rates, strict=True)
        groups = [{"params": part, "lr": rate} for part, rate in parts]
        if config.stages == 1:
            for group in groups:
                optimizer.add_param_group(group)
        else:
            options = {"eps": 1e-5, "weight_decay": config.weight_decay, "fused": True}
            self.world_optimizer = torch.optim.AdamW(groups, **options)
        return optimizer

    def sync_target(self) -> None:
        """Update the target; a world model that has not learned yet copies the policy's
        trunk."""
        super().sync_target()
        if self.past.model_steps == 0:
            self.world.sync()

    def forget_episodes(self) -> None:
        parent: Any = super()
        parent.forget_episodes()
        self.past.ages.zero_()

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """Train the world model and imagine; then begin on real and imagined rows."""
        logs: Logs = {}
        if self.past.refreshed == 0:
            logs = self.learn_world(rollout)
        real = torch.full_like(rollout["terminated"], -1, dtype=torch.int64)
        rollout["model_version"] = real
        now = torch.full_like(real, self.counters.policy_version)
        rollout["acted_version"] = rollout.get("policy_version", now)
        if self.config.real_share < 1:
            self.segments = self.branches()
        if self.segments:
            logs |= self.comparison(rollout)
        parent: Any = super()
        minibatches, more = parent.begin(rollout)
        return minibatches, {**logs, **more}

    def is_stale(self, rollout: TensorDict) -> bool:
        """Whether the critic has changed since, as at each refresh but the first."""
        unknown = rollout.get("policy_version", None) is None
        parent: Any = super()
        return (unknown and self.past.refreshed > 0) or parent.is_stale(rollout)

    def goes_on(self) -> bool:
        """Whether to imagine branches once more, after all epochs."""
        times = 1 if self.config.real_share == 1 else self.config.refreshes
        self.past.refreshed = (self.past.refreshed + 1) % times
        return self.past.refreshed > 0

    def drawing(self, what: str) -> Generator:
        """A generator whose seed follows from the config's and the learning step."""
        named = f"{what} {self.counters.learn_step} {self.past.refreshed}"
        seed = derive_seed(self.config.seed, named)
        return Generator(self.device).manual_seed(seed)

    # The model of the world.

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
            data = self.latent(self.experience.sample(config.model_batch_size))
            logs |= self.world_step(data)
        return logs

    def world_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The world model's loss on real transitions `[B]`, and metrics."""
        return self.world.loss(data)

    def world_step(self, data: TensorDict) -> Logs:
        """A gradient step of the model alone, on transitions `[B]`."""
        optimizer = self.optimizer if self.config.stages == 1 else self.world_optimizer
        norm = self.config.max_grad_norm
        logs = self.minimize(self.world_loss, data, optimizer, norm)
        self.past.model_steps += 1
        return {k: v for k, v in logs.items() if k.startswith("model/")}

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

    # Branches.

    def starts(self) -> TensorDict:
        """Real transitions `[b]`, in whose first states branches begin."""
        return self.experience.sample(self.config.num_branches)

    def states(self, starts: TensorDict) -> TensorDict:
        """The states `[B]` in which branches begin, of real transitions `[b]`."""
        return self.world.begin(starts["obs"]).set("step", starts["step"])

    def branches(self) -> list[TensorDict]:
        """New segments `[H, B]`, imagined here or on Ray, or none if none arrived."""
        asked = self.config.horizon, self.drawing("imagined"), self.past.model_steps
        if self.pool is None:
            return [self.imagine(self.starts(), *asked)]
        return self.pool(self.starts(), *asked) or []

    @torch.no_grad()
    def imagine(
        self, starts: TensorDict, horizon: int, generator: Generator, model_version: int
    ) -> TensorDict:
        """A segment `[H, B]` from real transitions `[b]` on, by the current weights."""

        def act(state: TensorDict, generator: Generator) -> dict[str, Tensor]:
            action, extras = self.model.sample(state, generator)
            return {"action": action, **extras}

        executed = self.config.execute_steps or self.config.chunk_length
        segment = imagine(
            self.world,
            act,
            self.states(starts),
            horizon,
            gamma=self.config.gamma**executed,
            generator=generator,
            model_version=model_version,
            policy_version=self.counters.policy_version,
        )
        segment["acted_version"] = version = segment["policy_version"]
        if self.config.chunk_length > 1:
            segment["num_steps"] = torch.full_like(version, executed)
        return segment

    def comparison(self, rollout: TensorDict) -> Logs:
        """Imagined and real returns of the policy, from the beginning of episodes on.

        Warns once if imagined returns rise while real ones fall.
        """
        begins = torch.cat([part["obs", "step"][0] == 0 for part in self.segments])
        total = torch.cat([imagined_return(part) for part in self.segments])
        length = torch.cat([part["valid"].float().sum(0) for part in self.segments])
        counted = begins | ~begins.any()
        imagined = total.where(counted, 0.0).sum() / counted.sum()
        valid = rollout.get("valid", torch.ones_like(rollout["terminated"]))
        ends = ((rollout["terminated"] | rollout["truncated"]) & valid).sum()
        real = (rollout["reward"] * valid).sum() / ends.clamp(min=1)
        logs: Logs = {"imagined/return": imagined, "imagined/real_return": real}
        logs["imagined/length"] = length.mean()
        if self.past.refreshed == 0:
            foreseen, reached, ended = torch.stack([imagined, real, ends]).tolist()
            if ended > 0:
                exploits = self.watch.look(foreseen, reached)
                logs["imagined/exploits"] = float(exploits)
        return logs

    # What the policy learns from.

    @torch.no_grad()
    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """Minibatches of real and imagined rows."""
        imagined = [self.worth(segment.clone()) for segment in self.segments]
        parent: Any = super()
        return parent.minibatches(self.beside(self.rows(data), imagined), seed)

    def beside(self, real: TensorDict, imagined: list[TensorDict]) -> TensorDict:
        """The configured number of real rows, then the imagined ones."""
        share, many = self.config.real_share, sum(map(len, imagined))
        count = len(real)
        if many > 0:
            count = min(count, math.ceil(many * share / (1 - share)))
        options = {"generator": self.drawing("beside"), "device": self.device}
        real = real[torch.randperm(len(real), **options)[:count]]
        parts = [part for part in (real, *imagined) if len(part) > 0] or [real]
        rows = joined(alike_in_entries([self.between_states(x) for x in parts]))
        if self.config.stages == 1 and len(rows) > 0:
            beside = self.latent(self.experience.sample(rows.numel()))
            rows["world"] = beside.view(rows.batch_size)
        return rows

    def between_states(self, rows: TensorDict) -> TensorDict:
        """Rows `[E, T]` with latents in place of observations."""
        if len(rows) == 0:
            return rows
        state = self.world.begin(rows.reshape(-1)["obs"])
        return rows.copy().set("obs", state.view(rows.batch_size))

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

    def learn(self, data: TensorDict) -> Logs:
        logs = super().learn(data)
        if self.config.stages == 1:
            self.past.model_steps += 1
        return logs


def alike_in_entries(parts: list[TensorDict]) -> list[TensorDict]:
    """Rows `[E, T]` between states, with the entries that all have, and prompts padded
    to one length by positions that the mask hides."""
    names = set.intersection(*(set(part.keys()) for part in parts))
    parts = [part.select(*names) for part in parts]
    if not is_latent(parts[0]["obs"]):  # there are no rows
        return parts
    size = max(part["obs", "mask"].shape[-1] for part in parts)
    for part in parts:
        state = part["obs"] = part["obs"].copy()
        lacking = size - state["mask"].shape[-1]
        state[PROMPT] = functional.pad(state[PROMPT], (0, 0, 0, lacking))
        for name in ("mask", "changing"):
            state[name] = functional.pad(state[name], (0, lacking))
    return parts


class Past(nn.Module):
    """Steps of current episodes, `ages [N]`, and what the host counts.

    Attributes:
        refreshed: How often branches were imagined since the rollout.
        model_steps: Gradient steps of the model of the world.
    """

    ages: Tensor

    def __init__(self, num_envs: int) -> None:
        super().__init__()
        self.register_buffer("ages", torch.zeros(num_envs, dtype=torch.int64))
        self.refreshed = self.model_steps = 0

    def get_extra_state(self) -> dict[str, int]:
        """The counts, which a checkpoint holds beside the buffers."""
        return {"refreshed": self.refreshed, "model_steps": self.model_steps}

    def set_extra_state(self, state: dict[str, int]) -> None:
        self.refreshed, self.model_steps = state["refreshed"], state["model_steps"]

    def follow(self, rollout: TensorDict) -> Tensor:
        """The number of each step in its episode, `[T, N]`, of the next rollout."""
        goes_on = ~(rollout["terminated"] | rollout["truncated"])
        goes_on = goes_on & rollout.get("valid", goes_on)
        ages: list[Tensor] = []
        for row in goes_on:
            ages.append(self.ages.clone())
            self.ages.copy_((self.ages + 1) * row)
        return torch.stack(ages)


class ImaginationSchedule(Trainer):
    """The schedule of `PolicyImagination`: rounds of epochs with new branches.

    Actors on Ray imagine the next branches during epochs, unless `max_policy_lag` is 0.
    """

    def _make_parts(self, buffer: Any, collector: Any) -> None:
        super()._make_parts(buffer, collector)
        ahead = min(1, self.config.max_policy_lag)
        self.algorithm.pool = on_ray.make_imagination(self, ahead=ahead)

    def _end_update(self) -> None:
        if self.algorithm.goes_on():
            self.buffer.minibatches = None
        else:
            parent: Any = super()
            parent._end_update()

    def update(self, rollout: TensorDict) -> Logs:
        """Learn from a rollout `[T, N]`, and from all that is imagined after it."""
        logs = super().update(rollout)
        while self.algorithm.goes_on():
            logs |= super().update(rollout)
        return logs
