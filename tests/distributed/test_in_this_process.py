"""What actors do is right wherever they are: here, all of them are in this process."""

import factories
import pytest
import torch
from factories import plain

from yieldrl.algorithms import ppo

pytest.importorskip("ray", reason="these tests need Ray")
pytestmark = pytest.mark.usefixtures("in_this_process")


def trainer_of(collection="ray", **options):
    own = {"env_id": "yieldrl/CartPole-v1", "num_envs": 4, "total_steps": 96}
    own |= {"max_policy_lag": 0, "eval_every": 48, "eval_episodes": 3, **options}
    trainer = factories.trainer_of(ppo, collection=collection, **own)
    trainer.agent.records_log_prob = True
    return trainer


@pytest.mark.parametrize(
    "roles",
    [{"learners": 1}, {"eval_actors": 1}, {"inference_actors": 1}],
)
def test_a_run_has_the_numbers_of_one_without_actors(roles):
    """Also where it goes on, half way, from the state that all of them have."""
    sync = trainer_of("sync")
    expected, found = [plain(log) for log in sync()], []
    with trainer_of(**roles) as trainer:
        for log in trainer():
            found.append(plain(log))
            if len(found) == len(expected) // 2:
                break
        trainer.load_state_dict(trainer.state_dict())
        found += [plain(log) for log in trainer()]
        pairs = zip(sync.model.parameters(), trainer.model.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
    assert repr(found) == repr(expected)
