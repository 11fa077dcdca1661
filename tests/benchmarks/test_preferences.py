"""The best of n: the mean over all subsets by hand, and what is recorded of it."""

import itertools
import math

import gymnasium
import pytest
import torch

from yieldrl.benchmarks.claims.preferences import best_of, learning
from yieldrl.benchmarks.claims.preferences.judges import right
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.foundations import Utf8Text
from yieldrl.language import RewardModel

SCORES = torch.tensor([0.5, -1.0, 2.0, 0.1, 0.7], dtype=torch.float64)
PLACE = torch.tensor([[1, 0, 2, 0, 1], [4, 3, 3, 3, 4]])  # answers to two prompts


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_best_of_n_is_that_of_all_subsets(n):
    subsets = [*itertools.combinations(range(5), n)]
    wanted = torch.zeros_like(SCORES)
    for row in PLACE.tolist():
        for subset in subsets:
            wanted[max((row[i] for i in subset), key=SCORES.__getitem__)] += 1
    found = best_of.chances(SCORES, PLACE, n)
    torch.testing.assert_close(found, wanted / len(subsets))


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(best_of, "DRAWN", 4)
    monkeypatch.setattr(best_of, "NUMBERS", [1, 2, 4])
    monkeypatch.setattr(best_of, "LOOKED", 2)


def written(*answers):
    prompts, texts = Utf8Text(6).encode(["1+2="] * len(answers)), Utf8Text(3)
    return torch.tensor(prompts), torch.tensor(texts.encode(answers))


@pytest.mark.usefixtures("few")
def test_by_who_can_add_it_is_whether_any_of_n_is_right():
    """Of four answers one is right, so that of three of six pairs none is."""
    prompt, text = written("4", "3", "5", "44")
    points = best_of.best_of(prompt, text, right)
    assert [(n, score, true) for n, _, score, true in points] == [
        (1, 0.25, 0.25),
        (2, 0.5, 0.5),
        (4, 1, 1),
    ]
    shares = [1 / 6, 2 / 6, 3 / 6]  # best in so many pairs, and never the worst
    kl = [0, sum(x * math.log(4 * x) for x in shares), math.log(4)]
    assert [point[1] for point in points] == pytest.approx(kl, abs=1e-4)


@pytest.mark.usefixtures("few")
def test_answers_that_are_alike_are_one():
    """Half of them are `3`: certain to be the best of four, and log 2 away."""
    points = best_of.best_of(*written("3", "5", "3", "4"), right)
    assert points[-1] == [4, round(math.log(2), 4), 1, 1]


@pytest.mark.usefixtures("few")
def test_a_clone_is_no_distance_from_itself():
    envs = gymnasium.make_vec("yieldrl/Sums-v1", num_envs=1, max_operand=9)
    spaces = envs.single_observation_space, envs.single_action_space
    policy = learning.WRITER(*spaces)
    prompt, text, _ = best_of.drawn(policy, 2, seed=0)
    assert len(prompt) == len(text) == 2 * 100
    kl, judged, true = best_of.look(policy, policy, RewardModel(policy), 0)
    assert kl == pytest.approx(0, abs=1e-4)
    assert (judged, 0 <= true <= 1) == (0, True)


@pytest.mark.usefixtures("few")
def test_all_sides_begin_with_one_clone(monkeypatch):
    short = {"num_envs": 512, "demonstration_steps": 512, "clone_steps": 60}
    short["total_steps"] = 1024
    monkeypatch.setattr(learning, "DPO", {**learning.DPO, **short})
    monkeypatch.setitem(learning.REWARD_MODEL, "num_epochs", 1)
    monkeypatch.setitem(learning.GRPO, "total_steps", 256 * 5)
    monkeypatch.setattr(best_of, "PAIRS", {best_of.SAME: 4})
    monkeypatch.setattr(best_of, "SIDES", (best_of.TRUE, best_of.SAME, best_of.GRPO))
    runs = best_of.train(1)["runs"]
    curves = {run["side"]: run["curve"] for run in runs}
    assert [*curves] == [best_of.TRUE, "400 pairs", "400 pairs, GRPO"]
    first = [curve[0] for curve in curves.values()]
    assert [point[0] for point in first] == [1, 1, 0]
    assert first[0][3] == first[1][3]
    assert [point[0] for point in curves[best_of.GRPO]] == [0, 4]
    assert curves[best_of.GRPO][0][1] == pytest.approx(0, abs=1e-3)
    assert all(0 <= kl <= math.log(4) for _, kl, *_ in curves[best_of.SAME])


def runs_of(side, *points):
    curve = [[n, kl, 0.0, true] for n, kl, true in points]
    return [{"side": side, "seed": seed, "curve": curve} for seed in (1, 2)]


def test_what_is_demanded_of_the_best_of_n():
    claim = CLAIMS["preferences"]["best_of"]
    curve = (1, 0, 0.3), (2, 0.5, 0.6), (4, 1.5, 0.2)
    runs = [run for side in best_of.PAIRS for run in runs_of(side, *curve)]
    runs += runs_of(best_of.TRUE, *curve)
    judged = claim.judge(runs + runs_of(best_of.GRPO, (0, 0, 0.3), (4, 1, 0.25)))
    assert [verdict.value for verdict in judged] == pytest.approx(
        [0.3, 0.3, 0.4, 0.4, 0.4, 0.15]
    )
    assert all(verdict.holds for verdict in judged)
    runs += runs_of(best_of.GRPO, (0, 0, 0.3), (4, 1, 0.4))
    assert [verdict.holds for verdict in claim.judge(runs)] == [True] * 5 + [False]
    header, rows = claim.table(runs)
    assert dict(zip(header, rows[1], strict=True))["by n (rollouts)"] == "2"
