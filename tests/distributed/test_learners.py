"""Several learners are one: the same numbers, state and errors as in process."""

import dataclasses
import os
import pickle
import signal
import time
from types import SimpleNamespace

import factories
import numpy as np
import pytest
import torch
from tensordict import TensorDict

from yieldrl.algorithms import dapo, dqn, grpo, ppo, ppo_roa
from yieldrl.buffers import RolloutBuffer
from yieldrl.distributed import DeadLearnerError, LearnerError, Learners
from yieldrl.distributed.learners import join_states, share_of
from yieldrl.distributed.references import TakenRows, Tickets, put_aside, shares

ray = pytest.importorskip("ray", reason="these tests need Ray")

LATER = {"entropy_coef": 0.5, "clip_coef": 0.01}


class Algorithm(ppo.Algorithm):
    beta = 0.0

    def loss(self, data):
        loss, logs = super().loss(data)
        if self.beta < 0:
            raise ArithmeticError("a loss of its own")
        return loss + self.beta, {**logs, "loss": loss.detach() + self.beta}


class Trainer(ppo.Trainer):
    algorithm_class = Algorithm

    @property
    def name(self):
        return "ppo"


class Storing(Trainer):
    """Its buffer has a place for observations, which the program passes on."""

    def make_buffer(self):
        spaces = self.envs.single_observation_space, self.envs.single_action_space
        return RolloutBuffer(self.config.num_steps, *spaces, num_envs=4)


def trainer_of(learners, kind=Trainer, **options):
    ray = {"collection": "ray", "learners": learners} if learners else {}
    own = {"num_envs": 4, "total_steps": 96, "max_policy_lag": 0, "eval_every": 0}
    own |= {"env_id": "yieldrl/CartPole-v1", **ray, **options}
    trainer = kind(factories.config_of(ppo, **own))
    trainer.agent.records_log_prob = True
    return trainer


def plain(log):
    """A log's numbers, but for what tells of the processes."""
    return log["sample_step"], log["learn_step"], factories.plain(log)["logs"]


def trained(log):
    return log["log_type"] == "train"


def same(one, other):
    pairs = zip(one.model.parameters(), other.model.parameters(), strict=True)
    return all(torch.equal(p, q) for p, q in pairs)


def changed(trainer, step):
    """What a program may do in the loop, between two rollouts."""
    first, *_, last = trainer.model.parameters()
    if step == 4:
        trainer.algorithm.beta = 1000.0
        trainer.algorithm.learning_rate = 0.01
        trainer.algorithm.config = dataclasses.replace(trainer.config, **LATER)
        with torch.no_grad():
            last.mul_(2.0)
    if step == 8:
        first.requires_grad_(False)


def numbers(trainer, until=12):
    """What each gradient step logs, while something changes."""
    found = []
    for log in filter(trained, trainer()):
        found.append(plain(log))
        changed(trainer, log["learn_step"])
        if log["learn_step"] == until:
            return found
    return found


@pytest.mark.usefixtures("on_ray")
def test_one_learner_gives_the_numbers_of_none_also_where_something_changes(tmp_path):
    """And half way through a rollout it is saved, and goes on from there.

    An error in the learner's loss ends the run in between, and is said.
    """
    sync = trainer_of(0)
    expected = numbers(sync)
    with trainer_of(1) as trainer:
        found = numbers(trainer, until=6)
        trainer.save(tmp_path / "saved.pt")
        check_error(trainer)
    with Trainer.load(tmp_path / "saved.pt") as trainer:
        trainer.algorithm.beta = 1000.0
        trainer.algorithm.config = dataclasses.replace(trainer.config, **LATER)
        assert found + numbers(trainer) == expected
        assert same(sync, trainer)


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_two_learners_take_the_step_of_the_whole_rollout(tmp_path):
    """To rounding; and what they save is loaded by a trainer without any.

    The death of one of them ends both, and is said.
    """
    options = {"num_minibatches": 1, "num_epochs": 4}
    sync = trainer_of(0, **options)
    expected = numbers(sync, until=8)
    with trainer_of(2, engine="fsdp2", **options) as trainer:
        found = numbers(trainer, until=8)
        trainer.save(tmp_path / "saved.pt")
        for (*steps, one), (*others, other) in zip(expected, found, strict=True):
            assert steps == others
            assert one == pytest.approx(other, rel=1e-3, abs=1e-5)
        own, theirs = (x.algorithm.state_dict() for x in (sync, trainer))
        torch.testing.assert_close(own, theirs, rtol=1e-3, atol=1e-5)
        assert theirs["reward_scaler"]["carry"].shape == (4,)
        check_death(trainer)
    config = dataclasses.replace(trainer.config, learners=0)
    with Trainer.load(tmp_path / "saved.pt", config=config) as trainer:
        last = [*trainer()][-1]
    assert (last["sample_step"], last["learn_step"]) == (96, 12)


def check_death(trainer):
    """What is said of the death of one learner."""
    who = trainer._learners.actors[1].__ray_call__.remote(lambda _: os.getpid())
    os.kill(ray.get(who), signal.SIGKILL)
    with pytest.raises(DeadLearnerError, match="learner 1 has died"):
        list(trainer())


def check_error(trainer):
    """What is said of an error of one learner, at once and later."""
    trainer.algorithm.beta = -1.0
    with pytest.raises(LearnerError, match="learner 0: ArithmeticError: a loss of"):
        list(trainer())
    with pytest.raises(LearnerError, match="go on from the newest checkpoint"):
        list(trainer())


def test_each_learner_gets_the_rows_of_its_own_environments_back():
    """And what they all have alike."""
    one = {"carry": torch.tensor([0.0, 1.0]), "mean": torch.tensor(5.0)}
    other = {"carry": torch.tensor([2.0, 3.0]), "mean": torch.tensor(5.0)}
    whole = join_states(
        {"carry": torch.zeros(4), "mean": torch.tensor(0.0)}, [one, other]
    )
    assert whole["carry"].tolist() == [0, 1, 2, 3]
    for rank, own in enumerate((one, other)):
        share = share_of(whole, own, rank)
        assert all(share[name].equal(own[name]) for name in own)


def test_a_learner_gets_the_columns_whose_observations_it_has_taken(one_ray):
    """Of two rollouts side by side, of three workers, whose pieces have one learner."""
    taken = [TakenRows({("obs",): ((), torch.float32)}) for _ in "ab"]
    learners = SimpleNamespace(count=2, config=SimpleNamespace(num_envs=6))
    learners.ask_each = lambda _, args: [taken[i].take(*args[i]) for i in (0, 1)]
    tickets, rollouts = Tickets(learners), []
    assert [tickets.pieces(width) for width in (1, 2, 3, 6)] == [1, 2, 1, 2]
    for first in (0, 40):
        workers = np.split(np.arange(12.0).reshape(2, 6) + first, 3, axis=1)
        pieces = [x for obs in workers for x in put_aside({"obs": obs}, 2)]
        ticket, lost = tickets.take(pieces, 2, 6)
        rollouts.append(TensorDict({"ticket": ticket}, [2, 6]))
        assert not lost
    of_each, beside = shares(torch.cat(rollouts, 1), 2), []
    pickle.dumps(of_each, protocol=5, buffer_callback=beside.append)
    assert len(beside) == 2, "no copies in the pickle"
    share = torch.from_numpy(of_each[1]["ticket"])
    found = taken[1].learn_from(share)["obs"]
    assert found.dtype == torch.float32
    assert found.tolist() == [[3, 4, 5, 43, 44, 45], [9, 10, 11, 49, 50, 51]]
    taken[1].learn_from(share[:, 3:])
    with pytest.raises(KeyError):
        taken[1].rows(share[:, :3])
    learners.ask_each = lambda *_: [set(), {1}]
    assert tickets.take(pieces, 2, 6)[1] == {4}, "of the third worker"


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_two_learners_learn_the_same_from_observations_that_are_passed_on():
    """To the bit, and as they take the observations of two workers."""
    found = []
    for kind in (Trainer, Storing):
        with trainer_of(2, kind, rollout_workers=2) as trainer:
            found.append((numbers(trainer), trainer))
            stored = "obs" in set(trainer.buffer.rollout().keys())
            assert stored is (kind is Storing)
    assert found[0][0] == found[1][0]
    assert same(found[0][1], found[1][1])


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_a_death_is_said_though_another_learner_has_lost_its_connection_before():
    @ray.remote(num_cpus=0)
    class Learner:
        def lose(self):
            raise RuntimeError("Connection reset by peer")

        def die(self):
            time.sleep(0.5)
            os._exit(1)

    cluster = SimpleNamespace(ray=ray, kill=ray.kill)
    learners = Learners(cluster, None, ppo.Config())
    first, second = Learner.remote(), Learner.remote()
    with pytest.raises(DeadLearnerError, match="learner 1 has died"):
        learners._get([first.lose.remote(), second.die.remote()])
    with pytest.raises(LearnerError, match="learner 0: RuntimeError: Connection"):
        learners._get([first.lose.remote()])
    ray.kill(first)


@pytest.mark.usefixtures("on_ray")
@pytest.mark.parametrize(
    ("module", "options", "said"),
    [
        (ppo, {"num_envs": 3}, "learners = 2.*num_envs = 3 equally"),
        (dqn, {}, "dqn does not learn from whole rollouts"),
        (ppo_roa, {}, "would not call _run_train of yieldrl.algorithms.ppo_roa"),
    ],
)
def test_who_cannot_learn_together_is_refused(module, options, said):
    own = {"collection": "ray", "learners": 2, "num_envs": 4, "eval_every": 0}
    with pytest.raises(ValueError, match=said):
        module.Trainer(module.Config(**{**own, **options}))


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
@pytest.mark.parametrize("module", [grpo, dapo])
def test_two_learners_of_groups_take_the_step_of_all_groups(module):
    """Of one rollout, or of all that wait for it, whose groups they share."""
    options = {"num_envs": 8, "num_minibatches": 1, "total_steps": 128}
    waits = {"batch_episodes": 12} if module is dapo else {}  # for a second rollout
    options |= {"env_id": "yieldrl/Pendulum-v1", "max_policy_lag": 0, **waits}
    sync = factories.trainer_of(module, **options)
    sync.agent.records_log_prob = True
    ray = {"collection": "ray", "learners": 2}
    with factories.trainer_of(module, **options, **ray) as trainer:
        found, expected = (
            [log["logs"] for log in filter(trained, one())] for one in (trainer, sync)
        )
        steps = ["loss" in logs for logs in found]
        assert steps == ([False, True, True] if waits else [True] * 4)
        own, theirs = ([x.get("loss", 0) for x in logs] for logs in (found, expected))
        assert own == pytest.approx([float(x) for x in theirs], rel=1e-3, abs=1e-6)
        pairs = zip(sync.model.parameters(), trainer.model.parameters(), strict=True)
        for one, other in pairs:
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
