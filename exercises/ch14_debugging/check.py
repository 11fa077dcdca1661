"""What holds of a diagnosis, and of versions that are mended."""

import inspect
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.ch14_debugging import diagnostics
from yieldrl.exercises.ch14_debugging.diagnostics import BUGS, SEEN, settings
from yieldrl.exercises.comparing import Results, expect, expect_close
from yieldrl.exercises.training import trainer_class

# bug -> what to say if it is not named
RULES = {
    "none": "no reading is exact: 1.0009 is 1, and 0.995 of the entropy is all of it",
    "end": "`value` is 5 where no step pays more than 1. It spoils `sides` a little:"
    " ask for `value` before",
    "ratio": "the actor moves, and `approx_kl` is 0 all the same: the ratio does not"
    " see it",
    "gradient": "an actor that stands still has a ratio of 1 and prefers nothing: ask"
    " first whether it moves",
    "statistics": "all is well but `restored`: what is loaded acts otherwise",
    "credit": "`value` is right, but of the two `sides` it believes the same: rewards"
    " are learned, only not where they belong",
    "entropy": "where nothing but `entropy` pays there is none left",
}

CONSTANT = "of the two log-probabilities `log_prob` learns: it must keep its gradient"
STALE = "an optimizer trains the parameters that were there when it was made"


def named(answer: Any) -> None:
    """It names the bug of every version, by the readings of three seeds."""
    for bug in BUGS:
        _expect_named(answer, bug)


def mended_01(answer: Any) -> None:
    """broken_01: what ends is worth what it pays, what is only cut is worth more."""
    config = settings(gamma=0.9, gae_lambda=0.5)
    _compare(answer, 1, "advantage", config, lambda of: of.advantage(*_rollout()))
    mended = _mended(answer, 1)
    for learned in (diagnostics.known_value, diagnostics.known_cut):
        expect_close(learned(mended), 1.0, named="value", tolerance=0.1)


def mended_02(answer: Any) -> None:
    """broken_02: the ratio begins at 1, and a rollout moves it away from there."""
    mended = _mended(answer, 2)
    config = settings(total_steps=128, normalize_observation=False)
    logs = diagnostics.trained(mended(config))
    first, *later = (float(log["approx_kl"]) for log in logs)
    hint = "the ratio begins at 1: before the first gradient step both"
    hint += " log-probabilities are of one policy, and of the same actions"
    expect(first < 1e-6, f"approx_kl is {first:.2g} at first", hint)
    hint = "the ratio is of two policies: data['log_prob'] was stored before the first"
    expect(max(later) > 1e-6, "approx_kl is 0 to the end", f"{hint} gradient step")
    _expect_preference(mended, CONSTANT)


def mended_03(answer: Any) -> None:
    """broken_03: a rollout moves the actor, which is still wider than the critic."""
    mended = _mended(answer, 3)
    model = mended(settings()).model
    widths = [head.layers[0].out_features for head in (model.actor, model.critic)]
    hint = "the actor is to be twice as wide as the critic: keep what was wanted"
    expect(widths == [32, 16], f"the widths are {widths}", hint)
    moved, _ = diagnostics.one_rollout(mended)
    expect(moved > 0, "the actor has not moved", STALE)
    _expect_preference(mended, STALE)


def mended_04(answer: Any) -> None:
    """broken_04: a policy that was loaded acts as the one that was saved."""
    mended = _mended(answer, 4)
    model = mended(settings()).model
    obs = torch.tensor([[1.0, 0, 3, 8], [3.0, 2, 3, 0], [5.0, 1, 0, 1]])
    model.update_normalization(TensorDict({"obs": obs[:, None]}, [3, 1]))
    right = (obs - obs.mean(0)) / obs.std(0, correction=0)
    observed = model.observed(obs)
    hint = "observations pass as they are: mend it, and keep what was wanted"
    hint = hint if torch.equal(observed, obs) else ""
    expect_close(observed, right, named="observed", hint=hint)
    changed = diagnostics.restoring(mended)
    hint = "an attribute is no part of a state: `register_buffer`, and all three"
    expect(changed < 1e-4, f"log_prob changes by {changed:.2g}", hint)


def mended_05(answer: Any) -> None:
    """broken_05: of two sides the one that pays is worth 2 more."""
    config = settings(env_id="yieldrl/ProbeObservation-v1", num_envs=2)
    rollout = ppo.Trainer(config).collector.collect(6)
    _compare(answer, 5, "advantage", config, lambda of: of.advantages(rollout.copy()))
    sides = diagnostics.known_sides(_mended(answer, 5))
    expect_close(sides, 2.0, named="sides", tolerance=0.1)


def mended_06(answer: Any) -> None:
    """broken_06: where only being undecided pays, it stays undecided."""
    entropy, value = torch.tensor([0.6, 0.4]), torch.tensor([1.0, 2.0])
    log_prob, zeros = torch.tensor([-0.5, -1.0]), torch.zeros(2)
    data = TensorDict({"log_prob": zeros - 0.75, "returns": zeros + 3}, [2])
    data["advantage"], data["value"] = torch.tensor([1.0, -1.0]), value
    config, now = settings(entropy_coef=0.5), (log_prob, entropy, value)
    _compare(answer, 6, "loss", config, lambda of: of.loss(data, now)[0])
    left = diagnostics.indecision(_mended(answer, 6))
    expect_close(left, 1.0, named="entropy", tolerance=0.1)


def circle(answer: Any) -> None:
    """Mended, all six are `none` to your own `diagnose`."""
    for number, folder in enumerate(diagnostics.FOLDERS, 1):
        seen = diagnostics.examine(_mended(answer, number))
        found = answer.diagnose(seen)
        expect(found == "none", f"{folder}, mended, is {found!r}: {seen}")


def _expect_named(answer: Any, bug: str) -> None:
    for seen in SEEN[bug]:
        found = answer.diagnose(seen)
        known = found in BUGS
        expect(known, f"diagnose says {found!r}", f"say one of {', '.join(BUGS)}")
        expect(found == bug, f"it says {found!r} of {seen}: {BUGS[bug]}", RULES[bug])


def _mended(answer: Any, number: int) -> type[ppo.Trainer]:
    """The trainer of a version with what the answer has in the place of the bug."""
    part = getattr(answer, f"Mended{number:02}")
    own = any(inspect.isfunction(member) for member in vars(part).values())
    hint = f"Mended{number:02} is what the version has: override what is wrong in it"
    expect(own, "the gap is still open", hint)
    return trainer_class(part)


def _compare(
    answer: Any, number: int, named: str, config: ppo.Config, result: Any
) -> None:
    """What the mended algorithm gives must be what the solution's gives."""

    def solve(module: Any) -> Results:
        return [{named: result(_mended(module, number)(config).algorithm)}]

    CHAPTER.compare(answer, solve)


def _expect_preference(mended: type[ppo.Trainer], hint: str) -> None:
    found = diagnostics.preference(mended)
    expect(found > 0.9, f"the action that pays has a probability of {found:.2f}", hint)


def _rollout() -> tuple[TensorDict, Tensor, Tensor]:
    value = torch.tensor([[1.0, 2], [3, 1], [2, 4], [5, 3]])
    next_value = torch.tensor([[3.0, 1], [7, 6], [5, 3], [2, 8]])
    reward = torch.tensor([[1.0, 0], [2, 1], [0, 1], [1, 2]])
    terminated, truncated = torch.zeros(2, 4, 2, dtype=torch.bool)
    terminated[1, 0] = truncated[1, 1] = True
    ends = {"terminated": terminated, "truncated": truncated}
    return TensorDict({"value": value, **ends}, [4, 2]), reward, next_value


CHAPTER = Chapter(__name__)
CHAPTER.holds(named, mended_01, mended_02, mended_03, mended_04, mended_05)
CHAPTER.holds(mended_06, circle)
