"""Whether `final_obs` is the observation that an episode ended with."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import NamedTuple

from yieldrl.envs.check_moments import Moment, ended_in


def check_final(run: list[Moment]) -> None:
    """`final_obs` is what an episode came to, also where it was only cut."""
    names = [name for name in run[0] if any(f"final_{name}" in m for m in run)]
    if not names:  # nothing ended, or in the other autoreset modes
        return
    ends: list[_End] = []
    seen: Counter[bytes] = Counter()  # how often each observation was seen
    going_on = unmoved = 0  # steps that ended no episode; those that changed nothing
    for before, moment in itertools.pairwise(run):
        was, obs, ended = _rows(before, names), _rows(moment, names), ended_in(moment)
        seen.update(obs)
        going_on += int((~ended).sum())
        unmoved += sum(obs[i] == was[i] for i in (~ended).nonzero()[0])
        final = _rows(moment, [f"final_{n}" for n in names]) if ended.any() else obs
        cut = moment["truncated"] & ~moment["terminated"]
        ends += [_End(final[i], obs[i], was[i], cut[i]) for i in ended.nonzero()[0]]
    cuts = [end for end in ends if end.cut]
    stays = unmoved / going_on if going_on else 1.0
    for which, chosen in (("", ends), (" by truncation", cuts)):
        begins = sum(seen[end.next] for end in chosen) / max(1, len(chosen))
        if _by_no_chance([e.final == e.next for e in chosen], begins / seen.total()):
            raise _wrong_final(f"{len(chosen)} ends of episodes{which}", _NEXT)
    if _by_no_chance([end.final == end.before for end in cuts], stays):
        raise _wrong_final(f"{len(cuts)} ends of episodes by truncation", _BEFORE)


class _End(NamedTuple):
    """Observations at an episode's end, as bytes."""

    final: bytes
    next: bytes  # after the reset
    before: bytes  # the one that was acted on last
    cut: bool  # by truncation alone


_NEXT = "first observation of the next episode"
_BEFORE = "observation before the last step"


def _rows(moment: Moment, names: list[str]) -> list[bytes]:
    """The observations of each environment as bytes, to compare and to count."""
    columns = [[row.tobytes() for row in moment[name]] for name in names]
    return [b"".join(parts) for parts in zip(*columns, strict=True)]


def _by_no_chance(alike: list[bool], share: float) -> bool:
    """Whether all are alike that would be so by chance in this share of all steps.

    In a world of few states an episode may well be cut where the next one begins.
    """
    return bool(alike) and all(alike) and share ** len(alike) < 2e-3


def _wrong_final(where: str, what: str) -> ValueError:
    return ValueError(
        f"at all {where} final_obs is the {what}: put there what the episode came to,"
        " before the reset"
    )
