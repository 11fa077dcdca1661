"""Who takes part in a run is said in the config, and nobody who cannot."""

import pytest

from yieldrl.algorithms import ppo, q_learning, reinforce, sarsa
from yieldrl.foundations.config_places import PlacesConfig


@pytest.mark.parametrize("name", ["inference_actors", "learners", "eval_actors"])
def test_processes_on_ray_need_collection_on_ray(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} = 2.*collection='ray'"):
        ppo.Config(**{name: 2})
    assert getattr(ppo.Config(collection="ray", **{name: 2}), name) == 2


def test_a_group_for_weights_needs_inference_actors() -> None:
    with pytest.raises(ValueError, match=r"weight_transfer = 'group'.*choose 'store'"):
        ppo.Config(collection="ray", weight_transfer="group")
    options = {"inference_actors": 1, "weight_transfer": "group"}
    assert ppo.Config(collection="ray", **options).weight_transfer == "group"


@pytest.mark.parametrize("module", [reinforce, sarsa])
def test_who_takes_turns_has_none_of_these_fields(module) -> None:
    own = set(PlacesConfig.__annotations__)
    fields = set(module.Config().to_dict())
    assert not own & fields
    assert own <= set(q_learning.Config().to_dict())
    assert module.Config().collection == "sync"
