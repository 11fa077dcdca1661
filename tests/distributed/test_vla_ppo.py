"""Cloning in this process and PPO on Ray are what they are in turns."""

import pytest
from factories import plain, trainer_of
from rollouts import Keeping, learners_values
from token_policy import Tokens

from yieldrl.algorithms import ppo, vla_ppo

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("on_ray")]

CLONING = {"demonstration_steps": 40, "clone_epochs": 2, "clone_batch_size": 10}
SMALL = {**CLONING, "env_id": "yieldrl/CartPole-v1", "total_steps": 80}
SMALL |= {"chunk_length": 2, "max_policy_lag": 0}
STOPS = 5, 33


def trainer(collection, **options):
    made = trainer_of(vla_ppo, model=Tokens, collection=collection, **options)
    made.agent.records_log_prob = True
    return made


def test_it_is_cloned_here_and_improved_on_ray():
    """It is interrupted while it is cloned, and while it is improved."""
    expected, found = [plain(log) for log in trainer("sync", **SMALL)()], []
    assert [expected[stop]["logs"]["phase"] for stop in STOPS] == [0, 1]
    with trainer("ray", inference_actors=1, **SMALL) as run:
        for stop in STOPS:
            for log in run():
                found.append(plain(log))
                if len(found) == stop:
                    break
            run.load_state_dict(run.state_dict())
        found += [plain(log) for log in run()]
        assert "envs_here" not in vars(run)  # the expert's: simulators take memory
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(("module", "model"), [(ppo, ppo.Model), (vla_ppo, Keeping)])
def test_beside_a_lag_values_are_of_the_weights_that_learn(module, model):
    learners_values(module, model, collection="ray")
