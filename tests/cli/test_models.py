"""The model of one algorithm, for the trainer of another."""

import pytest

from yieldrl.algorithms import ddpg, dqn, ppo, sac
from yieldrl.cli.run_spec import model_of


def test_a_model_that_extends_the_usual_one_fits():
    for name, trainer in (("dueling_dqn", dqn.Trainer), ("td3", ddpg.Trainer)):
        made = model_of(name, trainer)
        assert made.__module__ == f"yieldrl.algorithms.{name}.algorithm"


def test_a_model_of_another_kind_is_refused():
    for name, trainer in (("dqn", ppo.Trainer), ("td3", sac.Trainer)):
        with pytest.raises(ValueError, match=f"the model of {name} does not fit"):
            model_of(name, trainer)
    made = model_of("ppo_lstm", ppo.Trainer)
    with pytest.raises(ValueError, match="whose config has no 'lstm_size'"):
        ppo.Trainer(ppo.Config(), model=made)


def test_an_own_trainer_with_an_own_model_decides_for_itself():
    class Model:
        pass

    class Trainer(ppo.Trainer):
        model_class = Model

    assert model_of("ppo", Trainer).__module__.endswith("ppo.model")
