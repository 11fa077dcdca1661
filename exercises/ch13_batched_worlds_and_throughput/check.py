"""What holds of a step of N environments that begin again within it."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from yieldrl.algorithms import ppo
from yieldrl.envs.classic_control import CartPoleVectorEnv
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import Wrong, expect, expect_close
from yieldrl.exercises.training import logged

NAMES = "state", "elapsed", "obs", "reward", "terminated", "truncated", "final_obs"
LOOKS = "`if`, .item() and bool indices read values: torch.where need not"


class Line:
    """A tiny world: positions on a line, pushed one way or the other."""

    limit = 10  # steps after which an episode is cut

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """State `[2, N]`, position and velocity; beyond the line it terminates."""
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


def _case(position: list[float], elapsed: list[int]) -> list[Any]:
    """Arguments of `step`: environments at these positions, which move outwards."""
    where = torch.tensor(position)
    state = torch.stack((where, 0.05 * where.sign()))
    generator = torch.Generator().manual_seed(13)
    noise = torch.rand(2, len(position), generator=generator)
    return [Line(), state, torch.tensor(elapsed), (where > 0).long(), noise]


# Two environments go on, and the others end, are cut, end and are cut, end.
MIXED = _case([0.2, 0.95, -0.3, -0.95, 0.0, 0.97], elapsed=[8, 3, 9, 9, 2, 0])


def apart(answer: Any) -> None:
    """The arguments stay as they were, and what comes out is no part of them."""
    CHAPTER.leaves(answer, "step", MIXED)
    _, _, obs, *_, final_obs = answer.step(*MIXED)
    apart = obs.data_ptr() != final_obs.data_ptr()
    hint = "observe twice: each has memory of its own"
    expect(apart, "obs and final_obs are one tensor", hint)


def unseen(answer: Any) -> None:
    """It reads no values: it works with tensors that have none."""
    nothing = [part.to("meta") for part in MIXED[1:]]
    try:
        answer.step(Line(), *nothing)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        if "meta" not in str(error).lower():
            raise
        words = " ".join(str(error).split())[:60]
        raise Wrong(f"it needs values: {words} ...", LOOKS) from None


def at_once(answer: Any) -> None:
    """It takes as many operations for 300 environments as for 3."""
    taken = []
    for times in (1, 100):
        case = _case(times * [0.2, 0.95, -0.3], times * [8, 3, 9])
        with Operations() as operations:
            answer.step(*case)
        taken.append(operations.count)
    few, many = taken
    text = f"{few} operations for 3 environments, {many} for 300"
    hint = "one operation should do all environments, however many there are"
    expect(few == many, text, hint)


def training(answer: Any) -> None:
    """PPO in carts that are stepped by it sees what it sees in the library's."""

    class Carts(answer.Carts):
        def pure_step(self, *given: Any) -> Any:
            want = CartPoleVectorEnv.pure_step(self, *given)
            got = super().pure_step(*given)
            names = "state", "elapsed", "ended", *NAMES[2:]
            for name, mine, real in zip(names, got, want, strict=True):
                expect_close(mine, real, named=name)
            return got

    config = ppo.Config(num_envs=8, num_steps=32, total_steps=512, eval_every=0)
    logged(ppo.Trainer(config, envs=Carts(8, max_episode_steps=15)))


class Operations(TorchDispatchMode):
    """Counts the operations on tensors."""

    count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


CHAPTER = Chapter(__name__)
CHAPTER.same(
    "step",
    "Where no episode ends, each goes on from what the action led to",
    {"state", "obs", "reward", "elapsed"},
    _case([0.1, -0.4, 0.0, 0.3], elapsed=[0, 3, 7, 5]),
    "An end is terminated and a cut is truncated, and neither is the other",
    {"terminated", "truncated"},
    MIXED,
    "Where one ends or is cut, it goes on from the first state of its own noise",
    {"state", "obs"},
    MIXED,
    "final_obs is what the action led to, before any reset",
    {"final_obs"},
    MIXED,
    "A new episode begins with a count of 0",
    {"elapsed"},
    MIXED,
    named=NAMES,
)
CHAPTER.holds(apart, unseen, at_once, training)
