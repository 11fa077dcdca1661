"""What holds of a step of N environments that begin again within it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from yieldrl.algorithms import ppo
from yieldrl.envs.cartpole import CartPoleVectorEnv
from yieldrl.exercises.comparing import Wrong, expect, expect_close

NAMES: tuple[str, ...] = ("state", "elapsed", "obs", "reward")
NAMES += ("terminated", "truncated", "final_obs")
HINTS = {
    "everybody": "everybody begins anew, where no episode ended: torch.where takes its"
    " second argument where the first is set",
    "nobody": "nobody begins anew: the first state belongs where `ended` is set",
    "stays": "the state is that before the step: go on from what `dynamics` gave",
    "no count": "the step is not counted: elapsed + 1, and then ask who is cut",
    "early": "episodes are cut a step too early: at elapsed + 1 >= limit",
    "cut is end": "`terminated` is also set where an episode is cut: the world's own"
    " ends only, or nothing is bootstrapped there",
    "end is cut": "`truncated` is also set where an episode ends: the time limit alone",
    "late": "nobody is cut in time: count the step, and then elapsed >= world.limit",
    "one noise": "one first state for all: everybody has a column of noise of its own",
    "packed": "first states are handed out in a row: everybody has its own column",
    "ends alone": "who is cut does not begin anew: ended = terminated | truncated",
    "cuts alone": "who terminates does not begin anew: ended = terminated | truncated",
    "old obs": "obs is the old episode's last: observe the state that is gone on from",
    "after": "final_obs is from after the reset: observe what `dynamics` gave",
    "before": "final_obs is from before the step: observe what the action led to",
    "gaps": "final_obs is 0 where an episode goes on: it is asked for everywhere",
    "going on": "the count goes on into the new episode: 0 where `ended` is set",
    "from one": "a new episode begins with a count of 0: it has had no step yet",
    "ends counted": "the count goes back to 0 at ends alone: at cuts too",
    "cuts counted": "the count goes back to 0 at cuts alone: at ends too",
}
"""Mistake -> what to say of it."""


class Line(NamedTuple):
    """A tiny world: positions on a line, pushed one way or the other.

    Attributes:
        limit: Steps after which an episode is cut.
    """

    limit: int = 10

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """State `[2, N]`, position and velocity; who is off the line terminates."""
        position, velocity = state.unbind()
        velocity = velocity + 0.2 * action - 0.1
        position = position + velocity
        off = position.abs() > 1
        return torch.stack((position, velocity)), -position.abs(), off

    def initial_state(self, noise: Tensor) -> Tensor:
        """Anywhere in the middle half, from noise `[2, N]`."""
        return noise - 0.5

    def observe(self, state: Tensor) -> Tensor:
        """Observations `[N, 2]`."""
        return state.t().clone()


class Case(NamedTuple):
    """N environments in the middle of their episodes."""

    state: Tensor
    elapsed: Tensor
    action: Tensor
    noise: Tensor

    def ask(self, answer: Any) -> list[Any]:
        """What the answer says; it gets copies, so that it can spoil nothing."""
        given = answer.step(Line(), *(part.clone() for part in self))
        complete = isinstance(given, tuple) and len(given) == len(NAMES)
        expect(complete, f"the answer is {type(given).__name__}", "return an `Answer`")
        return list(given)

    def expect(self, answer: Any, **mistakes: tuple[str, ...]) -> None:
        """Compare parts of the answer with what is right, and with known mistakes."""
        given = dict(zip(NAMES, self.ask(answer), strict=True))
        for name, of in mistakes.items():
            known = {HINTS[mistake]: self.come_to(mistake)[name] for mistake in of}
            expect_close(given[name], self.come_to()[name], named=name, mistakes=known)

    def come_to(self, mistake: str = "") -> dict[str, Tensor]:
        """What everybody comes to, with or without one mistake."""
        world = Line()
        last, reward, off = world.dynamics(self.state, self.action)
        counted = self.elapsed + (mistake != "no count")
        cut = counted >= world.limit + {"early": -1, "late": 1}.get(mistake, 0)
        ended = {"ends alone": off, "cuts alone": cut}.get(mistake, off | cut)
        state = self.stands(mistake, ended, last)
        seen = {"after": state, "before": self.state}.get(mistake, last)
        final = world.observe(seen)
        return {
            "state": state,
            "elapsed": self.counted(mistake, off, cut, counted),
            "obs": world.observe(last if mistake == "old obs" else state),
            "reward": reward,
            "terminated": off | cut if mistake == "cut is end" else off,
            "truncated": off | cut if mistake == "end is cut" else cut,
            "final_obs": final * ended[:, None] if mistake == "gaps" else final,
        }

    def stands(self, mistake: str, ended: Tensor, last: Tensor) -> Tensor:
        """Where everybody goes on from, `[2, N]`."""
        noise = self.noise
        if mistake == "one noise":
            noise = noise[:, :1]
        if mistake == "packed":
            noise = noise[:, (ended.cumsum(0) - 1).clamp(min=0)]
        first = Line().initial_state(noise).expand_as(last)
        if mistake == "stays":
            last = self.state
        if mistake in ("everybody", "nobody"):
            return first if mistake == "everybody" else last
        return torch.where(ended, first, last)

    def counted(
        self, mistake: str, off: Tensor, cut: Tensor, counted: Tensor
    ) -> Tensor:
        """Steps of the episode that everybody is in, `[N]`."""
        begins = {"ends counted": off, "cuts counted": cut}.get(mistake, off | cut)
        if mistake == "going on":
            return counted
        return torch.where(begins, int(mistake == "from one"), counted)


def goes_on(answer: Any) -> None:
    """Where no episode ends, everybody goes on from what the action led to."""
    case = _case(position=[0.1, -0.4, 0.0, 0.3], elapsed=[0, 3, 7, 5])
    case.expect(
        answer,
        state=("everybody", "stays"),
        obs=("everybody", "stays"),
        reward=(),
        elapsed=("no count",),
    )


def flags(answer: Any) -> None:
    """An end is terminated and a cut is truncated, and neither is the other."""
    _mixed().expect(
        answer,
        terminated=("cut is end",),
        truncated=("end is cut", "late", "early"),
    )


def begins(answer: Any) -> None:
    """Where one ends or is cut, the first state of its own noise is gone on from."""
    _mixed().expect(
        answer,
        state=("nobody", "one noise", "packed", "ends alone", "cuts alone"),
        obs=("old obs",),
    )


def last(answer: Any) -> None:
    """final_obs is what the action led to, before anybody began anew."""
    _mixed().expect(answer, final_obs=("after", "before", "gaps"))


def counts(answer: Any) -> None:
    """A new episode begins with a count of 0."""
    mistakes = "going on", "from one", "ends counted", "cuts counted"
    _mixed().expect(answer, elapsed=mistakes)


def apart(answer: Any) -> None:
    """The arguments stay as they were, and what comes out is no part of them."""
    case = _mixed()
    given = [part.clone() for part in case]
    result = answer.step(Line(), *given)
    for name, part, was in zip(Case._fields, given, case, strict=True):
        hint = "the argument was changed in place: make a new tensor"
        expect_close(part, was, named=name, hint=hint)
    _, _, obs, *_, final_obs = result
    expect(
        obs.data_ptr() != final_obs.data_ptr(),
        "obs and final_obs are one tensor",
        "observe twice: each has memory of its own",
    )


def unseen(answer: Any) -> None:
    """Nobody looks at numbers: it works with tensors that have none."""
    nothing = [part.to("meta") for part in _mixed()]
    try:
        with Operations():
            answer.step(Line(), *nothing)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        if "meta" not in str(error).lower():
            raise
        words = " ".join(str(error).split())[:60]
        raise Wrong(f"it needs numbers: {words} ...", LOOKS) from None


LOOKS = "`if`, .item() and bool indices look at numbers: torch.where need not look"


def at_once(answer: Any) -> None:
    """It takes as many operations for 300 environments as for 3."""
    taken = []
    for count in (3, 300):
        generator = torch.Generator().manual_seed(13)
        noise = torch.rand(2, count, generator=generator)
        elapsed = torch.arange(count) % 10
        state = 2 * torch.rand(2, count, generator=generator) - 1
        with Operations() as operations:
            Case(state, elapsed, elapsed % 2, noise).ask(answer)
        taken.append(operations.count)
    expect(
        taken[0] == taken[1],
        f"{taken[0]} operations for 3 environments, {taken[1]} for 300",
        "there is a Python loop over environments: one operation does all of them",
    )


def training(answer: Any) -> None:
    """PPO in carts that are stepped by it lives through what the library's would."""

    class Carts(answer.Carts):
        def pure_step(self, *given: Any) -> Any:
            want = CartPoleVectorEnv.pure_step(self, *given)
            got = super().pure_step(*given)
            names = "state", "elapsed", "ended", *NAMES[2:]
            for name, mine, real in zip(names, got, want, strict=True):
                expect_close(mine, real, named=name)
            return got

    config = ppo.Config(num_envs=8, num_steps=32, total_steps=512, eval_every=0)
    with ppo.Trainer(config, envs=Carts(8, max_episode_steps=15)) as trainer:
        for _ in trainer():
            pass


class Operations(TorchDispatchMode):
    """Counts the operations on tensors, and refuses those that look at numbers.

    Attributes:
        count: How many there were.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Count one, and do it."""
        self.count += 1
        name, meta = str(func).partition(".")[2], _has(args, torch.device("meta"))
        looks = name.startswith(("_local_scalar_dense", "nonzero", "masked_select"))
        if meta and (looks or (name.startswith("index") and _has(args, torch.bool))):
            raise Wrong(f"it calls {name.partition('.')[0]}, which looks", LOOKS)
        return func(*args, **(kwargs or {}))


def _has(args: Any, kind: torch.dtype | torch.device) -> bool:
    """Whether a tensor is of this dtype, or on this device."""
    if isinstance(args, Tensor):
        return kind in (args.dtype, args.device)
    return isinstance(args, list | tuple) and any(_has(part, kind) for part in args)


def _mixed() -> Case:
    """Six environments: two go on, and the others end, are cut, end and are cut."""
    position = [0.2, 0.95, -0.3, -0.95, 0.0, 0.97]
    return _case(position, elapsed=[8, 3, 9, 9, 2, 0])


def _case(position: list[float], elapsed: list[int]) -> Case:
    """Environments that stand there, all of them pushed outwards."""
    where = torch.tensor(position)
    state = torch.stack((where, 0.05 * where.sign()))
    generator = torch.Generator().manual_seed(13)
    noise = torch.rand(2, len(position), generator=generator)
    return Case(state, torch.tensor(elapsed), (where > 0).long(), noise)
