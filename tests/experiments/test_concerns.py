"""What trainers warn of when they are made, and `check_algorithm` again."""

import pytest
from factories import trainer_of
from torch import nn

import yieldrl
from yieldrl.algorithms import a2c, ppo, ppo_lstm, sac
from yieldrl.networks import train_mode_concern

MODE = "compute something else in train mode"


def with_layer(module, layer):
    class Model(module.Model):
        def __init__(self, *args):
            super().__init__(*args)
            self.layer = layer

    return Model


@pytest.mark.parametrize(
    ("module", "layer", "kind"),
    [
        (ppo, nn.Dropout(0.1), "Dropout"),
        (ppo, nn.LSTM(2, 2, num_layers=2, dropout=0.1), "LSTM"),
        (ppo, nn.TransformerEncoderLayer(4, 1, 4), "Dropout and MultiheadAttention"),
        (ppo_lstm, nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), "BatchNorm1d"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_ratio_that_cannot_be_one_is_said(module, layer, kind):
    said = f"Model.* has {kind} .*{MODE}.*approx_kl not 0"
    with pytest.warns(UserWarning, match=said):
        trainer = trainer_of(module, model=with_layer(module, layer))
    assert not any(part.training for part in trainer.model.modules())


def test_what_changes_nothing_or_is_frozen_is_not():
    norm = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)).requires_grad_(False)
    others = nn.LayerNorm(3), nn.LSTM(2, 2, dropout=0.0), nn.InstanceNorm2d(3)
    for layer in (nn.Dropout(0.0), norm, *others):
        assert train_mode_concern(nn.Sequential(nn.Linear(1, 1), layer)) is None
    trainer_of(ppo, model=with_layer(ppo, norm))


@pytest.mark.parametrize("module", [a2c, sac])
def test_where_there_is_no_ratio_dropout_is_ones_own_business(module):
    trainer_of(module, model=with_layer(module, nn.Dropout(0.3)))


def test_check_algorithm_says_it_too():
    class Model(ppo.Model):
        def __init__(self, *args):
            super().__init__(*args)
            self.dropout = nn.Dropout(0.3)
            for parameter in self.parameters():
                parameter.data.mul_(50)  # sure of its actions from the beginning

        def evaluate_actions(self, obs, action):
            return super().evaluate_actions(self.dropout(obs), action)

    with pytest.warns(UserWarning, match=MODE):
        trainer = trainer_of(ppo, model=Model, total_steps=256)
    with pytest.warns(UserWarning, match=rf"Dropout \(dropout\), which {MODE}"):
        yieldrl.check_algorithm(trainer)
    logs = (log["logs"] for log in trainer() if log["log_type"] == "train")
    assert next(logs)["approx_kl"] > 1e-3  # nothing has moved, and it is not 0
