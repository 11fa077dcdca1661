"""A step in one piece does what the collector does piece by piece."""

import pytest
import torch
from worlds import NoSync

from yieldrl.algorithms import ppo, ppo_lstm
from yieldrl.collectors import FusedCollector, SyncCollector

WORLDS = [
    "CartPole",
    pytest.param("Pendulum", marks=pytest.mark.slow),
    pytest.param("Acrobot", marks=pytest.mark.slow),
    pytest.param("MinAtar-Seaquest", marks=pytest.mark.slow),
]


def trainer(env_id, speed="compile", **settings):
    own = {"num_envs": 16, "num_steps": 40, "num_minibatches": 2, "eval_every": 0}
    return ppo.Trainer(
        ppo.Config(
            env_id=f"yieldrl/{env_id}-v1", speed=speed, **own | {"seed": 3} | settings
        )
    )


def rollouts(made, count=3):
    """Rollouts of a trainer that does not learn, the logs of all steps, its state."""
    collected, logs = [], []
    for _ in range(count):
        while not made.buffer.full:
            logs.append(made.collector.step())
        collected.append(made.buffer.rollout().clone())
        made.buffer.clear()
    return collected, logs, made.state_dict()


@pytest.mark.parametrize("env_id", WORLDS)
def test_rollouts_logs_and_random_numbers_are_the_same(env_id, traced):
    with trainer(env_id) as whole, trainer(env_id, speed="eager") as usual:
        assert type(whole.collector) is FusedCollector
        (got, said, state), (want, told, other) = rollouts(whole), rollouts(usual)
        assert len(traced) == 1, "acting alone is not compiled as well"
    exact = {"action", "terminated", "truncated"}
    for one, two in zip(got, want, strict=True):
        assert set(one.keys()) == set(two.keys())
        for name in exact:
            assert torch.equal(one[name], two[name])
        for name in {*one.keys()} - exact:
            torch.testing.assert_close(one[name], two[name], rtol=1e-4, atol=1e-5)
    assert said == [pytest.approx(log, rel=1e-4) for log in told]
    assert torch.equal(state["agent"]["generator"], other["agent"]["generator"])
    envs, others = state["collector"]["envs"], other["collector"]["envs"]
    assert torch.equal(envs["generator"], others["generator"])
    assert got[0]["terminated"].sum() > 10 or env_id != "CartPole"


def test_the_step_goes_over_in_the_middle_of_a_rollout(traced, monkeypatch):
    with trainer("CartPole") as whole, trainer("CartPole", speed="eager") as usual:
        with monkeypatch.context() as patch:
            patch.setattr(whole.collector, "_in_one_piece", lambda: None)
            for _ in range(7):
                whole.collector.step()
        assert not traced
        (got, *_), (want, *_) = rollouts(whole), rollouts(usual)
    assert len(traced) == 1
    assert torch.equal(got[0]["action"], want[0]["action"])
    assert torch.equal(got[2]["action"], want[2]["action"])


def test_a_constant_that_is_replaced_is_seen(traced):
    with trainer("Pendulum") as whole:
        for _ in range(3):
            whole.collector.step()
        whole.envs.set_parameters({"gravity": 0.0, "mass": 50.0})
        whole.collector.step()
        row, envs = whole.buffer.rollout()[-1], whole.envs
    assert len(traced) == 1  # these constants are tensors
    # Gymnasium's equation without gravity, and with fifty times the mass.
    push = row["action"].clamp(-2, 2).squeeze(-1)
    gain = 3 / (50 * envs.length**2) * push * envs.dt
    want = (row["obs"][:, 2] + gain).clamp(-8, 8)
    torch.testing.assert_close(row["next_obs"][:, 2], want)


def test_who_writes_down_more_acts_by_code_of_its_own(traced):
    with trainer("CartPole") as whole:
        whole.agent.records_log_prob = True
        for _ in range(3):
            whole.collector.step()
        assert set(whole.buffer.rollout().keys()) > {"log_prob", "policy_version"}
        assert whole.algorithm.plan.decisions[1].startswith("acting: compiled")
    assert len(traced) == 1


def test_what_fails_leaves_nothing_half_done(traced, monkeypatch):
    with trainer("CartPole") as whole:
        collector = whole.collector
        for _ in range(5):
            collector.step()
        with monkeypatch.context() as patch:
            patch.setattr(whole.buffer, "count_row", lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                collector.step()
        assert len(whole.buffer) == 5
        collector.step()
        rollout = whole.buffer.rollout()
    # Nobody knows where the worlds stand: the row before counts as cut, others begin.
    assert (rollout["truncated"] | rollout["terminated"])[4].all()
    assert rollout["obs"][5].abs().max() < 0.05
    assert whole.agent.sample_step == 6 * 16


@pytest.mark.slow
def test_resumed_from_compiled_steps_it_is_the_run(traced, tmp_path):
    def last(made):
        (*_, log) = made()
        return log["logs"]["loss"], made.model.state_dict()

    settings = {"total_steps": 16 * 40 * 4}
    with trainer("CartPole", **settings) as whole:
        loss, weights = last(whole)
    with trainer("CartPole", **settings) as first:
        for log in first():
            if log["sample_step"] == 16 * 55:
                break
        first.save(tmp_path / "there.pt")
    with ppo.Trainer.load(tmp_path / "there.pt") as resumed:
        again, others = last(resumed)
    assert torch.equal(loss, again)
    assert all(torch.equal(weights[name], others[name]) for name in weights)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: trainer("HiddenCartPole"), "a wrapper changes constants"),
        (lambda: trainer("CartPole", collection="async"), "another thread steps"),
        (lambda: ppo.Trainer(ppo.Config(env_id="CartPole-v1")), "these are arrays"),
        (
            lambda: ppo_lstm.Trainer(ppo_lstm.Config(env_id="yieldrl/CartPole-v1")),
            "acting takes a memory",
        ),
    ],
)
def test_elsewhere_steps_are_taken_piece_by_piece(made, why):
    with made() as trainer:
        assert not isinstance(trainer.collector, FusedCollector), why


@pytest.mark.parametrize("speed", ["eager", "compile"])
def test_no_step_waits_for_the_device(speed, traced):
    """As on a GPU, where nobody looks at who has to begin an episode."""
    settings = {"normalize_observation": True, "total_steps": 100_000}
    with trainer("CartPole", speed, **settings) as made:
        made.envs._can_branch = False
        for _ in range(3):
            made.collector.step()
        with NoSync():
            for _ in range(30):
                made.collector.step()
        assert made.buffer.rollout()["terminated"].any()
    assert len(traced) == (speed == "compile")


@pytest.mark.parametrize(
    "speed", ["eager", pytest.param("compile", marks=pytest.mark.slow)]
)
def test_one_log_for_several_steps(speed, traced):
    """`log_every` changes what the loop yields, and nothing that it does."""
    settings = {"total_steps": 16 * 40 * 2}
    found = []
    for log_every in (1, 16):
        with trainer("CartPole", speed, **settings, log_every=log_every) as whole:
            logs = list(whole())
            found.append((logs, whole.model.state_dict()))
    (every, weights), (some, others) = found
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    steps = [log["sample_step"] // 16 for log in some if log["log_type"] == "collect"]
    assert steps == [16, 32, 40, 56, 72, 80]  # a rollout ends in between
    assert sum(log["log_type"] == "collect" for log in every) == 80


def test_logs_of_several_steps_are_means_over_episodes():
    config = ppo.Config(env_id="CartPole-v1", eval_every=0, total_steps=512)
    sums = []
    for log_every in (1, 32):
        made = ppo.Config.from_dict({**config.to_dict(), "log_every": log_every})
        with ppo.Trainer(made) as trainer:
            assert type(trainer.collector) is SyncCollector
            logs = [log["logs"] for log in trainer() if log["log_type"] == "collect"]
        ended = [log for log in logs if log]
        count = sum(log["episodes"] for log in ended)
        total = sum(log["episodes"] * log["episode_return"] for log in ended)
        sums.append((count, pytest.approx(total)))
    assert sums[0][0] == sums[1][0] > 5
    assert sums[0][1] == sums[1][1].expected
