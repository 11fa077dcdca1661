"""Models that compute otherwise while learning are in train mode only then."""

import math

import pytest
import torch
from torch import nn

from yieldrl.algorithms import dqn, ppo
from yieldrl.networks import LearningMode


class ReadsTheMode(nn.Module):
    def forward(self, x):
        return x if self.training else -x


@pytest.mark.parametrize(
    "part",
    [
        nn.Dropout(),
        nn.Dropout1d(),
        nn.Dropout2d(),
        nn.Dropout3d(),
        nn.AlphaDropout(),
        nn.FeatureAlphaDropout(),
        nn.BatchNorm1d(3),
        nn.InstanceNorm1d(3),
        nn.SyncBatchNorm(3),
        nn.MultiheadAttention(4, 2, dropout=0.1),
        nn.TransformerEncoderLayer(4, 2, 8),
        nn.LSTM(3, 4, num_layers=2, dropout=0.1),
        nn.RReLU(),
        nn.utils.spectral_norm(nn.Linear(3, 3)),
        nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)),
        ReadsTheMode(),
    ],
    ids=lambda part: type(part).__name__,
)
def test_whatever_may_look_at_the_mode_is_switched(part):
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(part)).eval()
    with LearningMode(model):
        assert all(module.training for module in model.modules())
    assert not any(module.training for module in model.modules())


def test_it_is_eval_mode_again_after_an_error():
    model = nn.Sequential(nn.Dropout()).eval()
    with pytest.raises(ZeroDivisionError), LearningMode(model):
        raise ZeroDivisionError
    assert not model[0].training


@pytest.mark.parametrize("module", [ppo, dqn])
def test_the_models_of_this_package_ignore_the_mode(module):
    """So the time to switch it is saved."""
    trainer = module.Trainer(module.Config())
    assert not LearningMode(trainer.model).matters


def test_no_module_of_this_package_reads_the_mode():
    """What `LearningMode` takes for granted."""
    from pathlib import Path

    root = Path(__file__).parents[2]
    files = [*root.glob("networks/*.py"), *root.glob("algorithms/*/*.py")]
    assert len(files) > 50
    assert [file for file in files if "self.training\n" in file.read_text()] == []
    assert [file for file in files if "self.training " in file.read_text()] == []


def test_a_loss_that_is_not_finite_is_refused_with_the_parameters():
    model = nn.Linear(1, 1)
    mode = LearningMode(model)
    mode.check_finite(torch.tensor(1.0), "learn_step 3")
    mode.check_finite(None, "learn_step 3")
    with pytest.raises(FloatingPointError, match=r"inf at learn_step 4.*none yet"):
        mode.check_finite(torch.tensor(math.inf), "learn_step 4")
    with torch.no_grad():
        model.bias.fill_(math.nan)
    with pytest.raises(FloatingPointError, match=r"not finite: \['bias'\]"):
        mode.check_finite(torch.tensor(math.nan), "learn_step 4")
