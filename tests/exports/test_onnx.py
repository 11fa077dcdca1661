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


def test_what_cannot_be_written_says_so(tmp_path, monkeypatch):
    """A memory, what PyTorch cannot follow, and without the packages anything."""

    class Counting(ppo.Model):
        def actor_output(self, features, obs):
            if features.sum() > 0:  # depends on the values
                return super().actor_output(features, obs)
            return super().actor_output(-features, obs)

    path, no_export = tmp_path / "policy.onnx", NotExportableError
    with (
        ppo_lstm.Trainer(ppo_lstm.Config(device="cpu")) as made,
        pytest.raises(no_export, match="remembers its episode"),
    ):
        write_onnx(made.agent, path)
    with ppo.Trainer(ppo.Config(device="cpu"), model=Counting) as made:
        with pytest.raises(no_export, match="cannot follow Counting"):
            write_onnx(made.agent, path)
        monkeypatch.setitem(sys.modules, "onnxscript", None)
        with pytest.raises(ImportError, match=r"yieldrl\[onnx\]"):
            write_onnx(made.agent, path)
    assert not list(tmp_path.iterdir())
