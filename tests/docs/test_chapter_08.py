"""The figure of chapter 8: its clouds and its truth, and what its page says of them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from site_logic import DOCS

from yieldrl.algorithms import reinforce
from yieldrl.benchmarks import results
from yieldrl.docs._site import course
from yieldrl.envs import policy_evaluation


@pytest.fixture(scope="module")
def cloud():
    names = course.load("gradient_cloud")
    lake, theta = names["Lake"](), names["THETA"]
    count = names["DOTS"] * max(names["EPISODES"])
    return names, lake, theta, lake.parts(theta, count, np.random.default_rng(8))


def test_the_gradient_is_that_of_the_theorem(cloud):
    """`sum_s d(s) sum_a pi(a | s) Q(s, a) grad log pi(a | s)`, with visits d."""
    _, lake, theta, _ = cloud
    table = gymnasium.make("FrozenLake-v1").unwrapped.P
    policy = lake.policy(theta)
    value = policy_evaluation(table, policy, gamma=1)
    assert lake.arrives(theta) == pytest.approx(value[0])
    goes_on = np.eye(16)[lake.after] * ~lake.ended[..., None]
    q_value = (lake.reward + goes_on @ value).mean(2)
    chance = np.einsum("sa,sakt->st", policy, goes_on) / 3
    visits = np.linalg.solve(np.eye(16) - chance.T, np.eye(16)[0])
    each = visits[:, None, None] * (policy * q_value)[..., None] * lake.scores(theta)
    assert each.sum((0, 1)) == pytest.approx(lake.gradient(theta), abs=1e-6)


@pytest.mark.parametrize("baseline", [-1.0, 0.0, 0.5, 2.0])
def test_no_baseline_moves_the_mean_of_a_cloud(cloud, baseline):
    _, lake, theta, (weighed, plain) = cloud
    each = weighed - baseline * plain
    error = each.std(0) / len(each) ** 0.5
    assert (abs(each.mean(0) - lake.gradient(theta)) < 4 * error).all()


def test_clouds_are_as_wide_as_the_page_says(cloud):
    names, lake, theta, (weighed, plain) = cloud
    spread = names["spread"]
    worst, best = (spread(weighed - b * plain, 1) for b in (-1.0, 0.5))
    text = " ".join(next((DOCS / "course").glob("08-*.md")).read_text("utf-8").split())
    assert "eleven times as many episodes" in text
    assert (worst / best) ** 2 == pytest.approx(11, abs=0.5)
    assert "downhill about one time in four" in text
    steps = theta + names["clouds"](weighed, 8)
    downhill = (lake.arrives(steps) < lake.arrives(theta)).mean()
    assert downhill == pytest.approx(0.25, abs=0.05)


def test_what_the_page_says_of_the_curves_was_measured():
    text = " ".join(next((DOCS / "course").glob("08-*.md")).read_text("utf-8").split())
    assert "All five seeds have reached 500" in text
    assert "as far down as 343" in text
    runs = results.load(results.FOLDER / "reinforce-cartpole.json")["runs"]
    curves = [[point["episode_return"] for point in run["curve"]] for run in runs]
    lowest = [min(curve[curve.index(500) :]) for curve in curves]
    assert len(lowest) == 5
    assert all(value < 500 for value in lowest)
    assert round(min(lowest)) == 343


class Hasty(reinforce.Algorithm):
    """Twenty steps on every batch."""

    def learn(self, data):
        return [super(Hasty, self).learn(data) for _ in range(20)][-1]


class HastyTrainer(reinforce.Trainer):
    algorithm_class = Hasty


def test_twenty_steps_on_a_batch_leave_hardly_any_entropy():
    config = reinforce.Config(num_envs=8, total_steps=12_000, eval_every=0, seed=0)
    logs = (log["logs"] for log in HastyTrainer(config)() if log["log_type"] == "train")
    entropies = [float(next(logs)["entropy"]) for _ in range(3)]
    assert entropies[-1] < 0.25 * np.log(2)
