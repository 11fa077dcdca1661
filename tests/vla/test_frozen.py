"""A frozen vision encoder stays to the bit, with every layer that has statistics."""

import copy

import pytest
import torch
from factories import config_of
from frozen_vla import LAYERS, Arm, Seeing

from yieldrl.algorithms import vla_ppo
from yieldrl.networks import set_train_mode
from yieldrl.vla import VLAConfig, VLAPolicy, load_vla_model, vla_space
from yieldrl.vla.parameter_groups import freeze_vision

# Of batch norm and dropout trainers warn: they are here to be switched.
pytestmark = pytest.mark.filterwarnings("ignore:.*compute something else in train mode")

OBSERVED = vla_space(Arm.observation_space, {})


def load(layer, own=False):
    config = VLAConfig(
        model_class="frozen_vla:Seeing",
        model_config={"layer": layer, "own": own},
        freeze_vision=not own,
    )
    return load_vla_model(config, OBSERVED, Arm.action_space)


def state_of(model):
    return copy.deepcopy(model.vision.state_dict())


def assert_same(model, before):
    after = model.vision.state_dict()
    for name, tensor in before.items():
        assert torch.equal(after[name], tensor), name


def pictures(batch=6):
    rgb = torch.randint(256, (batch, 8, 8, 3)).to(torch.uint8)
    return {"rgb": rgb}


@pytest.mark.parametrize(
    ("layer", "own"), [("BatchNorm2d", False), ("Moving", True), ("Dropout2d", False)]
)
def test_in_vla_ppo_and_the_cloning_before_it(layer, own):
    """`own`: the model has frozen its vision itself, as that of the document does."""
    options = {"env_id": "frozen_vla:Arm", "model_class": "frozen_vla:Seeing"}
    options |= {"model_config": {"layer": layer, "own": own}, "env_kwargs": {}}
    options |= {"demonstrations": "frozen_vla:expert", "demonstration_steps": 16}
    options |= {"clone_steps": 2, "clone_batch_size": 8, "freeze_vision": not own}
    options |= {"num_envs": 4, "num_steps": 4, "num_epochs": 1, "total_steps": 64}
    config = config_of(vla_ppo, **options, collection="sync", eval_every=0)
    with vla_ppo.Trainer(config) as trainer:
        model = trainer.model.model
        before, stem = state_of(model), model.body[1].running_mean.clone()
        mean = model.mean.weight.detach().clone()
        modes = []
        model.vision.register_forward_hook(lambda part, *_: modes.append(part.training))
        phases = {log["logs"]["phase"] for log in trainer()}
        assert phases == {0.0, 1.0}
    assert_same(model, before)
    assert modes
    assert not any(modes)
    assert not torch.equal(model.body[1].running_mean, stem)  # which is trained
    assert not torch.equal(model.mean.weight, mean)


@pytest.mark.parametrize("field", ["freeze_vision", "gradient_checkpointing"])
def test_a_model_that_lacks_the_method_it_takes_is_refused(field):
    fields = {"model_class": "frozen_vla:Blind", field: True}
    with pytest.raises(ValueError, match=rf"{field}.*Blind .*give it"):
        load_vla_model(VLAConfig(**fields), OBSERVED, Arm.action_space)


@pytest.mark.parametrize("layer", LAYERS)
def test_train_mode_changes_nothing(layer):
    model = load(layer)
    policy = VLAPolicy(Arm.observation_space, Arm.action_space, model)
    before = state_of(model)
    set_train_mode(policy)
    policy.evaluate_actions(pictures(), torch.zeros(6, 2))
    assert_same(model, before)
    assert not any(part.training for part in model.vision.modules())
    assert model.body.training
    again = copy.deepcopy(policy)
    set_train_mode(again)
    again.get_value(pictures())
    assert_same(again.model, before)


def test_what_is_thawed_learns_again_and_eval_mode_stays():
    frozen = freeze_vision(Seeing("BatchNorm2d").eval())
    assert not any(part.training for part in frozen.modules())
    model = load("BatchNorm2d")
    model.vision.requires_grad_(True)
    before = state_of(model)
    model.train().get_value(pictures())
    assert model.vision[1].training
    assert not torch.equal(model.vision[1].running_mean, before["1.running_mean"])
