"""Comparisons of runs for `check`: equal runs, and ends of episodes."""

import itertools
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.check_answers import Moment, ended_in, first_end, play, same

SEED = (
    "the same seed and the same actions gave {name} = {those} after {these} in"
    " step {t} of environment {i}: draw all random numbers from the generator that the"
    " seed sets, and let a reset forget the episodes before it"
)
SHARED = (
    "{name} of environment {i} was {these} in step {t}, and {those} after the others"
    " had got other seeds: let each environment draw from a generator of its own"
    " (self.np_random, which super().reset(seed=seed) seeds), not from one that they"
    " share"
)
SURVIVES = (
    "{name} of environment {i} was {these} in step {t} of an episode, and {those} in"
    " the same one after other episodes had been played: let reset() set back all that"
    " a step changes, with a seed and without"
)
TRIES = 4
"""Number of episodes to play, so that rare events are not taken for a rule."""


def compare(
    these: list[Moment], those: list[Moment], complaint: str, only: int | None = None
) -> None:
    """Raise if two runs differ that should not; with `only`, in one environment."""
    first = only or 0
    rows = slice(first, None if only is None else first + 1)
    for t, (this, that) in enumerate(zip(these, those, strict=True)):
        for name in this if only is None else this.keys() & that.keys():
            was = this[name][rows]
            got = that[name][rows] if name in that else np.zeros_like(was)
            if name not in that or not same(was, got):
                i = int((was != got).reshape(len(was), -1).any(1).argmax())
                values = {"these": was[i], "those": got[i]}
                raise ValueError(
                    complaint.format(name=name, t=t, i=first + i, **values)
                )


def alike(these: Moment, those: Moment) -> bool:
    """Whether two moments have the same entries with equal values."""
    return these.keys() == those.keys() and all(
        same(these[name], those[name]) for name in these
    )


def check_own_seeds(envs: Any, steps: int, seed: int) -> None:
    """Check that the results of an environment depend only on its own seed.

    Environments of one `TorchVectorEnv` share a generator after their first states.
    """
    batched = isinstance(envs.unwrapped, TorchVectorEnv)
    if not (batched or isinstance(envs.unwrapped, SyncVectorEnv | AsyncVectorEnv)):
        return  # others may use one seed for the whole batch
    steps = 0 if batched else min(steps, 100)
    seeds = [seed + i for i in range(envs.num_envs)]
    run = play(envs, steps, seeds, seed)
    # With a shared generator, the first seed or the last one may decide.
    for i in (0, envs.num_envs - 1):
        others = [s if j == i else s + 10_007 for j, s in enumerate(seeds)]
        again = play(envs, steps, others, seed)
        count = _aligned(envs, run, again)
        compare(run[:count], again[:count], SHARED, only=i)


def _aligned(envs: Any, run: list[Moment], other: list[Moment]) -> int:
    """Number of moments that two runs share; in DISABLED mode resets count too."""
    if envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
        for t, (this, that) in enumerate(zip(run, other, strict=False)):
            if ended_in(this).any() != ended_in(that).any():
                return t + 1
    return min(len(run), len(other))


def check_nothing_survives(envs: Any, steps: int, seed: int) -> None:
    """Check that an episode is the same with and without episodes before it.

    Random numbers come from `np_random`, which is set before each; episodes that still
    depend on the seed are not compared.
    """
    if not isinstance(envs.unwrapped, SyncVectorEnv):
        return
    seeds = [seed + 100 * (i + 1) for i in range(TRIES)]
    fresh = [_episode(envs, 0, s) for s in seeds]
    if not all(_all_alike(fresh[0], other) for other in fresh):
        return
    later = [_episode(envs, min(steps, 100), s) for s in seeds]
    if not any(_all_alike(fresh[0], other) for other in later):
        compare(fresh[0], later[0], SURVIVES)


def _all_alike(run: list[Moment], other: list[Moment]) -> bool:
    return len(run) == len(other) and all(map(alike, run, other))


def _episode(envs: Any, before: int, seed: int) -> list[Moment]:
    """An episode with fixed random numbers and actions, after `before` other steps."""
    play(envs, before, seed, seed)
    for i, env in enumerate(envs.unwrapped.envs):
        env.unwrapped.np_random = np.random.default_rng(i)
    run = play(envs, 30, None, 0)
    return run[: first_end(run) + 1]


def check_final(run: list[Moment]) -> None:
    """Check that `final_obs` is the final observation, also after a truncation."""
    names = [name for name in run[0] if any(f"final_{name}" in m for m in run)]
    if not names:  # no episode ended, or another autoreset mode
        return
    ends: list[_End] = []
    seen: Counter[bytes] = Counter()  # count of each observation
    going_on = unmoved = 0  # steps without an end; of these, without a change
    for before, moment in itertools.pairwise(run):
        was, obs, ended = _rows(before, names), _rows(moment, names), ended_in(moment)
        seen.update(obs)
        going_on += int((~ended).sum())
        unmoved += sum(obs[i] == was[i] for i in (~ended).nonzero()[0])
        final = _rows(moment, [f"final_{n}" for n in names]) if ended.any() else obs
        cut = moment["truncated"] & ~moment["terminated"]
        ends += [_End(final[i], obs[i], was[i], cut[i]) for i in ended.nonzero()[0]]
    cuts = [end for end in ends if end.cut]
    for which, chosen in (("", ends), (" by truncation", cuts)):
        begins = sum(seen[end.next] for end in chosen) / max(1, len(chosen))
        alike = [end.final == end.next for end in chosen]
        what = "first observation of the next episode"
        _refuse_rule(alike, begins / seen.total(), which, what)
    alike, stays = [end.final == end.before for end in cuts], unmoved / (going_on or 1)
    what = "observation before the last step"
    _refuse_rule(alike, stays if going_on else 1.0, " by truncation", what)


class _End(NamedTuple):
    """Observations around an episode's end, as bytes."""

    final: bytes
    next: bytes  # after the reset
    before: bytes  # the observation of the last action
    cut: bool  # truncated, not terminated


def _rows(moment: Moment, names: list[str]) -> list[bytes]:
    """The observations of each environment as bytes, to compare and to count."""
    columns = [[row.tobytes() for row in moment[name]] for name in names]
    return [b"".join(parts) for parts in zip(*columns, strict=True)]


def _refuse_rule(alike: list[bool], share: float, which: str, what: str) -> None:
    """Raise if all are `alike`, and chance, `share` of all steps, is no explanation.

    With few states, an episode may well be truncated in the next one's first state.
    """
    if alike and all(alike) and share ** len(alike) < 2e-3:
        raise ValueError(
            f"at all {len(alike)} ends of episodes{which} final_obs is the {what}: put"
            " there what the episode came to, before the reset"
        )
