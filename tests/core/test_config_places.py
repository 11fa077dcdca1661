"""Who takes part in a run is said in the config, and nobody who cannot."""

import pytest

from yieldrl.algorithms import dqn, ppo, q_learning, reinforce, sarsa
from yieldrl.core.config import SyncOnly


def test_processes_on_ray_need_collection_on_ray():
    for name in ("inference_actors", "learners", "eval_actors"):
        with pytest.raises(ValueError, match=rf"{name} = 2.*collection='ray'"):
            ppo.Config(**{name: 2})
        assert getattr(ppo.Config(collection="ray", **{name: 2}), name) == 2
    with pytest.raises(ValueError, match=r"replay_actor = True.*collection='ray'"):
        dqn.Config(replay_actor=True)


def test_who_takes_turns_has_none_of_these_fields():
    own = set(SyncOnly.__annotations__)
    assert own <= set(q_learning.Config().to_dict())
    for module in (reinforce, sarsa):
        assert not own & set(module.Config().to_dict())
        assert module.Config().collection == "sync"
