"""The model of one algorithm, for the trainer of another."""

import pytest

from yieldrl.algorithms import ddpg, dqn, ppo, sac
from yieldrl.cli import models


@pytest.mark.parametrize(
    ("name", "trainer"),
    [("dqn", dqn.Trainer), ("dueling_dqn", dqn.Trainer), ("td3", ddpg.Trainer)],
)
def test_a_model_that_extends_the_usual_one_fits(name: str, trainer: type) -> None:
    assert models.of_algorithm(name, trainer).__module__.endswith(f"{name}.model")


@pytest.mark.parametrize(
    ("name", "trainer"),
    [("dqn", ppo.Trainer), ("ppo", dqn.Trainer), ("td3", sac.Trainer)],
)
def test_a_model_of_another_kind_is_refused(name: str, trainer: type) -> None:
    with pytest.raises(ValueError, match=f"the model of {name} does not fit"):
        models.of_algorithm(name, trainer)


def test_a_field_that_is_missing_is_named_when_the_model_is_made() -> None:
    made = models.of_algorithm("ppo_lstm", ppo.Trainer)
    with pytest.raises(ValueError, match="whose config has no 'lstm_size'"):
        ppo.Trainer(ppo.Config(), model=made)


def test_an_own_trainer_with_an_own_model_decides_for_itself() -> None:
    class Model:
        pass

    class Trainer(ppo.Trainer):
        model_class = Model

    assert models.of_algorithm("ppo", Trainer).__module__.endswith("ppo.model")
