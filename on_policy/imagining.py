"""Learning from imagined rollouts beside real ones."""

import math
from abc import abstractmethod
from typing import Any

import torch
from tensordict import TensorDict
from torch import Generator, Tensor

from yieldrl.abstractions import Logs
from yieldrl.buffers import Minibatches
from yieldrl.foundations import derive_seed
from yieldrl.imagination import imagine, imagined_return
from yieldrl.imagination.diagnostics import ExploitationWatch
from yieldrl.on_policy.episode_rows import joined
from yieldrl.on_policy.trainer import OnPolicyTrainer
from yieldrl.on_policy.world_learning import LearnsWorld
from yieldrl.vla.latents import padded

EXPLOITED = (
    "imagined returns rise and real ones fall: the policy exploits the model of the"
    " world; lower horizon or refreshes, or raise model_steps or real_share"
)


class ImaginesToo(LearnsWorld):
    """Base, before that of a policy, of algorithms that learn from imagination too.

    The model of the world learns from every real rollout. Then, `refreshes` times,
    branches are imagined from real states and learned from, beside a part of the
    rollout. Each sample says with which weights it was made: `acted_version` is the
    policy's, and `model_version` how many gradient steps the model had taken, -1 of
    what is real.

    Differs from what it follows: a policy learns from latents, of what is real too, so
    what embeds pictures and words stands still once cloning is over.
    """

    def __init__(self, model: Any, config: Any) -> None:
        super().__init__(model, config)
        self.watch = ExploitationWatch()
        self.segment: TensorDict | None = None  # what was imagined last

    @abstractmethod
    def rows(self, prepared: TensorDict) -> TensorDict:
        """What a prepared rollout `[T, N]` has to learn from, as rows `[E, T]`."""

    @abstractmethod
    def worth(self, segment: TensorDict) -> TensorDict:
        """Rows of an imagined segment `[H, B]`, with advantages."""

    def starts(self) -> TensorDict:
        """Real transitions `[B]`, in whose first states branches begin."""
        return self.drawn(self.config.num_branches)

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """As ever, of real and imagined samples; the model learns before."""
        logs: Logs = {}
        if int(self.past.refreshed) == 0:
            logs = self.learn_world(rollout)
        now = torch.full_like(rollout["terminated"], -1, dtype=torch.int64)
        rollout["model_version"] = now
        now = torch.full_like(now, self.counters.policy_version)
        rollout["acted_version"] = rollout.get("policy_version", now)
        if self.config.real_share < 1:
            self.segment = self.imagined(self.starts())
            logs |= self.comparison(rollout, self.segment)
            if "num_steps" in set(rollout.keys()):  # all that are executed of a chunk
                taken = torch.full_like(self.segment["acted_version"], self.executed)
                self.segment["num_steps"] = taken
        minibatches, found = super().begin(rollout)
        return minibatches, {**logs, **found}

    def learn_from(self, minibatches: Minibatches, learn: Any) -> Logs:
        logs = super().learn_from(minibatches, learn)
        if self.config.stages == 1:
            self.world.version += 1
        return logs

    def update(self, rollout: TensorDict) -> Logs:
        """Learn from a rollout `[T, N]`, and from all that is imagined after it."""
        logs = super().update(rollout)
        while self.goes_on():
            logs |= super().update(rollout)
        return logs

    def goes_on(self) -> bool:
        """Whether branches are to be imagined once more, after all passes."""
        times = 1 if self.config.real_share == 1 else self.config.refreshes
        self.past.refreshed.copy_((self.past.refreshed + 1) % times)
        return bool(self.past.refreshed > 0)

    @torch.no_grad()
    def passes(self, prepared: TensorDict, seed: int) -> Minibatches:
        """Over rows of what is real and of what is imagined."""
        imagined = [] if self.segment is None else [self.worth(self.segment)]
        self.segment = None
        return super().passes(self.beside(self.rows(prepared), imagined), seed)

    @property
    def executed(self) -> int:
        """Actions that are executed of each chunk."""
        return self.config.execute_steps or self.config.chunk_length

    @torch.no_grad()
    def imagined(self, starts: TensorDict) -> TensorDict:
        """A segment `[H, B]` from real states on, by policy and model as they are."""
        segment = imagine(
            self.world,
            self.act,
            starts["obs"],
            self.config.horizon,
            gamma=self.config.gamma**self.executed,
            generator=self.drawing("imagined"),
            model_version=int(self.world.version),
            policy_version=self.counters.policy_version,
        )
        return segment.set("acted_version", segment["policy_version"])

    def act(self, state: TensorDict, generator: Generator) -> dict[str, Tensor]:
        """A random `action [B, ...]` of the policy, and what is kept of it."""
        action, kept = self.model.sample(state, generator)
        return {"action": action, **kept}

    def drawing(self, what: str) -> Generator:
        """A generator that follows from the seed and from how far learning is."""
        named = f"{what} {self.counters.learn_step} {int(self.past.refreshed)}"
        seed = derive_seed(self.config.seed, named)
        return Generator(self.device).manual_seed(seed)

    def beside(self, real: TensorDict, imagined: list[TensorDict]) -> TensorDict:
        """As many rows of what is real as belong there, then those imagined."""
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
        """Rows `[E, T]` with latents for observations."""
        if len(rows) == 0:
            return rows
        state = self.world.begin(rows.reshape(-1)["obs"])
        return rows.copy().set("obs", state.view(rows.batch_size))

    def comparison(self, rollout: TensorDict, segment: TensorDict) -> Logs:
        """Imagined and real returns of the policy, from the beginning of episodes on.

        A warning, once, if the one rises while the other falls.
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
        exploits = self.watch.look(float(own), float(real), EXPLOITED)
        logs["imagined/exploits"] = torch.tensor(float(exploits))
        return logs


def alike_in_entries(parts: list[TensorDict]) -> list[TensorDict]:
    """Rows `[E, T]` between states, with the entries that all have, and as long
    prompts."""
    names = set.intersection(*(set(part.keys()) for part in parts))
    found = [part.select(*names) for part in parts]
    if "prompt" in set(found[0].get("obs").keys()):
        size = max(part["obs", "mask"].shape[-1] for part in found)
        for part in found:
            state = padded(part["obs"].reshape(-1), size)
            part["obs"] = state.view(part.batch_size)
    return found


class RefreshesImagination(OnPolicyTrainer):
    """The schedule of `ImaginesToo`: several times passes, with other branches each."""

    def end_passes(self) -> None:
        algorithm: Any = self.algorithm
        if algorithm.goes_on():
            self.buffer.begin(None)
        else:
            super().end_passes()
