"""Imagination beside rollouts: a policy learns from both at once."""

import math
from abc import abstractmethod
from typing import Any

import torch
from tensordict import TensorDict
from torch import Generator, Tensor

from yieldrl.abstractions import Logs
from yieldrl.buffers import Minibatches
from yieldrl.core import derive_seed
from yieldrl.imagination.imagination import Imagination
from yieldrl.imagination.rollout import imagine, imagined_return
from yieldrl.imagination.world_learning import WorldLearning
from yieldrl.on_policy.episode_rows import joined
from yieldrl.vla.latents import padded


class PolicyImagination(WorldLearning):
    """Base, before that of a policy, of algorithms that learn from imagination too.

    The model of the world learns from every real rollout. Then, `refreshes` times,
    branches are imagined from real states and learned from, beside a part of the
    rollout. Each sample has the versions of its weights: `acted_version` is the
    policy's, and `model_version` the number of the model's gradient steps, -1 for
    real samples.

    Differs from what it follows: a policy learns from latents, of real samples too, so
    the embeddings of images and words are frozen once cloning is over.

    Attributes:
        imagination: Its `segment` is the latest one.
        fresh: Whether that is to be learned from.
    """

    def __init__(self, model: Any, config: Any) -> None:
        super().__init__(model, config)
        self.imagination = Imagination(self, alike_in_entries)
        self.watch = self.imagination.watch  # saved with the algorithm
        self.fresh = False

    @abstractmethod
    def rows(self, prepared: TensorDict) -> TensorDict:
        """The rows `[E, T]` of a prepared rollout `[T, N]` to learn from."""

    @abstractmethod
    def worth(self, segment: TensorDict) -> TensorDict:
        """Rows of an imagined segment `[H, B]`, with advantages."""

    def starts(self) -> TensorDict:
        """Real transitions `[b]`, in whose first states branches begin."""
        return self.experience.sample(self.config.num_branches)

    def states(self, starts: TensorDict) -> TensorDict:
        """The states `[B]` in which branches begin, of real transitions `[b]`."""
        return self.world.begin(starts["obs"]).set("step", starts["step"])

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """Train the world model and imagine; then begin on real and imagined rows."""
        logs: Logs = {}
        if int(self.past.refreshed) == 0:
            logs = self.learn_world(rollout)
        now = torch.full_like(rollout["terminated"], -1, dtype=torch.int64)
        rollout["model_version"] = now
        now = torch.full_like(now, self.counters.policy_version)
        rollout["acted_version"] = rollout.get("policy_version", now)
        segment = self.branched()
        self.fresh = segment is not None
        if segment is not None:
            logs |= self.comparison(rollout, segment)
        parent: Any = super()
        minibatches, found = parent.begin(rollout)
        return minibatches, {**logs, **found}

    def is_stale(self, rollout: TensorDict) -> bool:
        """Whether the critic has changed since, as at each refresh but the first."""
        unknown = rollout.get("policy_version", None) is None
        parent: Any = super()
        return (unknown and bool(self.past.refreshed)) or parent.is_stale(rollout)

    def branched(self) -> TensorDict | None:
        """A new segment `[H, B]`; None where all is real, or none has arrived yet."""
        if self.config.real_share == 1:
            return None
        asked = self.config.horizon, self.drawing("imagined"), int(self.world.version)
        return self.imagination.imagine(self.starts(), *asked)

    def learn(self, data: TensorDict) -> Logs:
        logs = super().learn(data)
        if self.config.stages == 1:
            self.world.version += 1
        return logs

    def goes_on(self) -> bool:
        """Whether to imagine branches once more, after all passes."""
        times = 1 if self.config.real_share == 1 else self.config.refreshes
        self.past.refreshed.copy_((self.past.refreshed + 1) % times)
        return bool(self.past.refreshed > 0)

    @torch.no_grad()
    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """Minibatches of real and imagined rows."""
        own: Any = self.imagination.segment
        imagined = [self.worth(own.clone())] if self.fresh else []
        parent: Any = super()
        return parent.minibatches(self.beside(self.rows(data), imagined), seed)

    @property
    def executed(self) -> int:
        """The number of actions that are executed of each chunk."""
        return self.config.execute_steps or self.config.chunk_length

    @torch.no_grad()
    def imagine(
        self, starts: TensorDict, horizon: int, generator: Generator, model_version: int
    ) -> TensorDict:
        """A segment `[H, B]` from real transitions `[b]` on, by the current weights."""
        segment = imagine(
            self.world,
            self.act,
            self.states(starts),
            horizon,
            gamma=self.config.gamma**self.executed,
            generator=generator,
            model_version=model_version,
            policy_version=self.counters.policy_version,
        )
        segment["acted_version"] = version = segment["policy_version"]
        if self.config.chunk_length > 1:
            segment["num_steps"] = torch.full_like(version, self.executed)
        return segment

    def act(self, state: TensorDict, generator: Generator) -> dict[str, Tensor]:
        """A sampled `action [B, ...]` of the policy, and its extras."""
        action, kept = self.model.sample(state, generator)
        return {"action": action, **kept}

    def drawing(self, what: str) -> Generator:
        """A generator whose seed follows from the config's and the learning step."""
        named = f"{what} {self.counters.learn_step} {int(self.past.refreshed)}"
        seed = derive_seed(self.config.seed, named)
        return Generator(self.device).manual_seed(seed)

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
            rows["world"] = self.drawn(rows.numel()).view(rows.batch_size)
        return rows

    def between_states(self, rows: TensorDict) -> TensorDict:
        """Rows `[E, T]` with latents in place of observations."""
        if len(rows) == 0:
            return rows
        state = self.world.begin(rows.reshape(-1)["obs"])
        return rows.copy().set("obs", state.view(rows.batch_size))

    def comparison(self, rollout: TensorDict, segment: TensorDict) -> Logs:
        """Imagined and real returns of the policy, from the beginning of episodes on.

        Warns once if imagined returns rise while real ones fall.
        """
        begins, total = segment["obs", "step"][0] == 0, imagined_return(segment)
        own = (total[begins] if bool(begins.any()) else total).mean()
        valid = rollout.get("valid", torch.ones_like(rollout["terminated"]))
        ends = ((rollout["terminated"] | rollout["truncated"]) & valid).sum()
        real = (rollout["reward"] * valid).sum() / ends.clamp(min=1)
        logs = {"imagined/return": own, "imagined/real_return": real}
        logs["imagined/length"] = segment["valid"].float().sum(0).mean()
        if int(self.past.refreshed) > 0 or int(ends) == 0:
            return logs
        exploits = self.imagination.exploits(own, real)
        logs["imagined/exploits"] = torch.tensor(exploits)
        return logs


def alike_in_entries(parts: list[TensorDict]) -> list[TensorDict]:
    """Rows `[E, T]` between states, with the entries that all have, and prompts padded
    to one length."""
    names = set.intersection(*(set(part.keys()) for part in parts))
    found = [part.select(*names) for part in parts]
    if "prompt" in set(found[0].get("obs").keys()):
        size = max(part["obs", "mask"].shape[-1] for part in found)
        for part in found:
            state = padded(part["obs"].reshape(-1), size)
            part["obs"] = state.view(part.batch_size)
    return found
