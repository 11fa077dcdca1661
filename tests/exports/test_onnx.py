"""ONNX policies do what `agent.predict` does, by ONNX's own reference evaluator."""

import sys

import numpy as np
import pytest
from exported import GO_TO, NARROW, observations, trainer

from yieldrl.algorithms import ppo, ppo_lstm, ppo_masked, q_learning, rainbow, sac
from yieldrl.exports import write_onnx
from yieldrl.exports.json_file import NotExportableError

pytest.importorskip("onnxscript", reason="onnxscript is not installed: yieldrl[onnx]")
reference = pytest.importorskip("onnx.reference", reason="onnx is not installed")

CASES = {
    "numbers": (ppo, "Pendulum-v1", {**NARROW, "normalize_observation": True}),
    "pictures and words": (ppo, GO_TO, NARROW),
    "masks": (ppo_masked, "Taxi-v4", NARROW),
    "atoms, streams and noise": (rainbow, "CartPole-v1", NARROW),
    "a table": (q_learning, "FrozenLake-v1", {}),
    "a squashed Gaussian": (sac, "Pendulum-v1", NARROW),
}


@pytest.mark.parametrize(
    "name",
    [
        "a squashed Gaussian",
        *(pytest.param(name, marks=pytest.mark.slow) for name in list(CASES)[:-1]),
    ],
)
def test_a_file_acts_as_the_agent_does(name, tmp_path):
    module, env_id, fields = CASES[name]
    with trainer(module, env_id, **fields) as made:
        path = write_onnx(made.agent, tmp_path / "new" / "policy.onnx")
        obs = observations(made.model.observation_space, 300)
        if "action_mask" in (obs if isinstance(obs, dict) else {}):
            obs["action_mask"][:, 0] = 1
        expected = made.agent.predict(obs)
    program = reference.ReferenceEvaluator(str(path))
    inputs = obs if isinstance(obs, dict) else {"obs": obs}
    (found,) = program.run(None, inputs)
    assert found.shape == expected.shape
    assert len(np.unique(found)) > 1
    if found.dtype.kind == "i":
        assert np.mean(found == expected) > 0.99  # two may be as good to rounding
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert [p.name for p in path.parent.iterdir()] == ["policy.onnx"]


def test_a_memory_is_refused(tmp_path):
    with (
        trainer(ppo_lstm, "CartPole-v1") as made,
        pytest.raises(NotExportableError, match="remembers its episode"),
    ):
        write_onnx(made.agent, tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())


def test_without_the_packages_it_says_which_extra_has_them(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with (
        trainer(ppo, "CartPole-v1") as made,
        pytest.raises(ImportError, match=r"yieldrl\[onnx\]"),
    ):
        write_onnx(made.agent, tmp_path / "policy.onnx")


def test_what_pytorch_cannot_follow_says_so(tmp_path):
    class Counting(ppo.Model):
        def actor_output(self, features, obs):
            if features.sum() > 0:  # depends on the values
                return super().actor_output(features, obs)
            return super().actor_output(-features, obs)

    with (
        ppo.Trainer(ppo.Config(device="cpu"), model=Counting) as made,
        pytest.raises(NotExportableError, match="cannot follow Counting"),
    ):
        write_onnx(made.agent, tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())
