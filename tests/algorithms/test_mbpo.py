"""MBPO: its schedule, its batches, its checkpoints, and that it learns."""

import copy

import gymnasium as gym
import pytest
import torch
from factories import config_of, train_logs
from tensordict import TensorDict

from yieldrl.algorithms import mbpo, sac


def trainer_of(**options):
    return mbpo.Trainer(config_of(mbpo, eval_every=0, **options))


def trained(trainer, count=None):
    return [log["logs"] for log in train_logs(trainer, count)]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"members": 2}, ValueError, "elites"),
        ({"collection": "ray", "replay_actor": True}, ValueError, "replay_actor"),
        ({"collection": "ray", "learners": 1}, ValueError, "learners"),
        ({"env_id": "yieldrl/GoToPixels-v1"}, TypeError, "must be a Box|vectors"),
        ({"outcome": "three_classes"}, ValueError, "rewards of 0 and 1"),
    ],
)
def test_what_does_not_fit_is_refused(options, error, said):
    with pytest.raises(error, match=said):
        trained(trainer_of(**options, total_steps=30))


class TestSchedule:
    def test_the_model_is_fitted_every_so_many_steps(self):
        trainer = trainer_of(model_every=10, total_steps=40, num_envs=1)
        logs = trained(trainer)
        # Learning starts at 8.
        fits = [i for i, log in enumerate(logs) if "model_error" in log]
        assert fits == [0, 10, 20, 30]
        assert trainer.imagination.fits == 4
        assert "model_error_1" not in logs[0]
        assert {"model_error_1", "model_error_5", "imagined_return"} <= {*logs[10]}
        batch = trainer.imagination.branches.sample(50)
        assert (batch["model_version"] == 4).all(), "on every imagined step"
        assert (batch["policy_version"] == 30).all()  # as many steps were taken then

    def test_all_environments_may_have_reset_in_the_latest_step(self):
        """As they do in every second step of Gymnasium's NEXT_STEP batches here."""
        made = gym.make_vec("Pendulum-v1", 2, max_episode_steps=1)
        config = config_of(mbpo, eval_every=0, model_every=2, total_steps=40)
        assert len(trained(mbpo.Trainer(config, envs=made))) > 20

    @pytest.mark.parametrize(("share", "real"), [(0.0, 0), (0.25, 2)])
    def test_a_batch_is_real_in_part(self, share, real):
        trainer = trainer_of(real_share=share, total_steps=20)
        trained(trainer)
        trainer.imagination.branches._storage["reward"].fill_(77.0)
        batch = trainer.imagination.sample(8)
        assert batch.batch_size == (8,)
        assert (batch["reward"] != 77).sum() == real
        assert set(batch.keys()) >= {"obs", "next_obs", "action", "discount"}

    def test_with_real_steps_alone_it_is_sac(self):
        options = {"total_steps": 40, "eval_every": 0}
        one = mbpo.Trainer(config_of(mbpo, real_share=1.0, **options))
        other = sac.Trainer(config_of(sac, **options))
        # The model draws from the buffer's generator to know where to begin.
        one.imagination.refresh = lambda _: {}
        one.algorithm.load_state_dict(
            {**one.algorithm.state_dict(), **other.algorithm.state_dict()}
        )
        losses = []
        for trainer in (one, other):
            torch.manual_seed(0)
            losses.append([log["loss"] for log in trained(trainer)])
        assert losses[0] == losses[1] != []


def test_imagined_actions_are_drawn_from_the_policy():
    algorithm = trainer_of().algorithm
    starts = TensorDict({"obs": torch.randn(6, 3)}, [6])
    found = algorithm.imagine(starts, 1, torch.Generator().manual_seed(1), 0)
    policy = algorithm.model.policy(starts["obs"])
    drawn = policy.sample(torch.Generator().manual_seed(1))
    assert torch.equal(found["action"][0], drawn)


def test_a_copy_trains_by_itself():
    trainer = trainer_of(total_steps=40)
    trained(trainer, 5)
    twin = copy.deepcopy(trainer)
    before = trainer.imagination.fits
    trained(twin)
    assert trainer.imagination.fits == before < twin.imagination.fits
    assert twin.imagination.algorithm is twin.algorithm
    assert twin.imagination.real is twin.buffer


@pytest.mark.slow
@pytest.mark.usefixtures("traced")
def test_compiled_it_is_what_it_is_eager():
    """The model's loss and SAC's; noise is drawn as ever."""
    ends = []
    for compiled in (False, True):
        trainer = trainer_of(compile=compiled, total_steps=14, num_envs=1)
        logs = trained(trainer)
        assert "model_loss" in logs[0]
        ends.append([float(log["loss"]) for log in logs])
    assert len(ends[0]) == 7
    assert ends[1] == pytest.approx(ends[0], rel=1e-3)
