"""A checkpoint of a run in the background loses nothing that was collected."""

import dataclasses
import random
from itertools import islice

import factories
import pytest
from factories import plain, resumed, saved_and_loaded
from interruptions import Watched

from yieldrl.algorithms import dqn, n_step_dqn, ppo, ppo_lstm
from yieldrl.core import CheckpointError

MODULES = [ppo, ppo_lstm, dqn]


def trainer_of(module, **options):
    """Of tensor environments, which say where they stand."""
    own = {"total_steps": 120, "env_id": "yieldrl/CartPole-v1", "num_steps": 4}
    own |= {"collection": "async", **options}
    if module is dqn:
        del own["num_steps"]
    return factories.trainer_of(module, **own)


@pytest.mark.parametrize("module", MODULES)
def test_a_resumed_run_equals_one_that_was_not_interrupted(module, tmp_path):
    """Bitwise: the newest policy acts, and environments and generators are restored."""
    expected = [plain(log) for log in trainer_of(module, max_policy_lag=0)()]
    rng = random.Random(1)
    for point in sorted(rng.sample(range(1, len(expected) - 1), 2)):
        found = resumed(trainer_of(module, max_policy_lag=0), point, tmp_path)
        assert repr(found) == repr(expected), f"saved after log {point}"


def test_what_was_trained_acts_after_a_checkpoint(tmp_path):
    trainer = trainer_of(ppo, max_policy_lag=0, learning_rate=0.1)
    next(log for log in trainer() if log["learn_step"] == 8)
    again = ppo.Trainer.load(trainer.save(tmp_path / "checkpoint.pt"))
    again.collector.step()
    again.collector.stop()
    actor = again.collector.segments.actor.model
    pairs = zip(actor.parameters(), again.model.parameters(), strict=True)
    assert all(acted.equal(learned) for acted, learned in pairs)


@pytest.mark.parametrize(
    ("module", "lag"), [(ppo, 2), (ppo_lstm, 0), (dqn, 0), (n_step_dqn, 2)]
)
def test_checkpoints_at_random_points_lose_and_repeat_nothing(module, lag):
    """Environments that cannot be restored begin new episodes; their steps go on
    being numbered, and whatever was written is handed over, once."""
    rng, seen, watched = random.Random(lag), [], None
    for _ in range(4):
        following = Watched(module, max_policy_lag=lag)
        if watched is not None:
            state = watched.trainer.state_dict()
            taken = watched.envs.taken
            assert seen == taken[: len(taken) - watched.waiting]
            following.trainer.load_state_dict(state)
            following.envs.taken = taken
            for mine, other in zip(following.envs.envs, watched.envs.envs, strict=True):
                one, that = mine.unwrapped, other.unwrapped
                one.number, one.action = that.number, that.action
        watched = following
        watched.seen = seen
        list(islice(watched.trainer(), rng.randint(21, 61)))
        watched.check_handed_over()
    assert len(seen) > 30


def test_the_lag_goes_on_being_counted(tmp_path):
    trainer = trainer_of(ppo, max_policy_lag=2)
    next(log for log in trainer() if log["learn_step"] == 12)
    lag = trainer.collector.segments.lag
    again = ppo.Trainer.load(trainer.save(tmp_path / "checkpoint.pt"))
    assert again.collector.segments.lag.state_dict() == lag.state_dict()
    assert again.collector.segments.lag.newest == lag.newest


def test_the_other_collection_is_named(tmp_path):
    for saved, other in (("sync", "async"), ("async", "sync")):
        trainer = trainer_of(ppo, collection=saved)
        list(islice(trainer(), 8))
        path = trainer.save(tmp_path / f"{saved}.pt")
        config = dataclasses.replace(trainer.config, collection=other)
        said = rf"saved with collection = '{saved}'"
        with pytest.raises(CheckpointError, match=said):
            ppo.Trainer.load(path, config=config)
        with pytest.raises(CheckpointError, match=f"this trainer has '{other}'"):
            trainer_of(ppo, collection=other).load_state_dict(trainer.state_dict())


def test_an_older_checkpoint_takes_a_trainer_back():
    """In place: the thread ends, and what it was allowed to do is forgotten."""
    trainer = trainer_of(ppo, max_policy_lag=0)
    list(islice(trainer(), 6))
    state = saved_and_loaded(trainer.state_dict())
    expected = [plain(log) for log in trainer()]
    trainer.load_state_dict(state)
    assert repr([plain(log) for log in trainer()]) == repr(expected)
