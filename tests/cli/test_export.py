"""`yieldrl export` writes what `yieldrl evaluate` plays."""

import json
from pathlib import Path

import numpy as np
import pytest

from yieldrl.algorithms import ppo
from yieldrl.cli import main
from yieldrl.exports import JsonPolicy


def test_json_lies_in_the_folder_of_the_run_or_where_it_is_said(train, capsys):
    run = train("--eval-every", "128", "--eval-episodes", "1")
    capsys.readouterr()
    main(["export", str(run)])
    saved = run / "checkpoints" / "step_000000256.pt"
    assert f"policy: {run / 'policy.json'}\n" in capsys.readouterr().out
    obs = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    with ppo.Trainer.load(saved) as trainer:
        expected = trainer.agent.predict(obs)
    policy = JsonPolicy.load(run / "policy.json")
    assert (policy.predict(obs) == expected).all()
    assert policy.policy["sample_step"] == 256
    assert policy.policy["algorithm"] == "ppo"
    main(["export", str(run), "--checkpoint", "last", "--out", "deep/er/last.json"])
    assert json.loads(Path("deep/er/last.json").read_text())["sample_step"] == 256
    main(["export", str(run / "checkpoints" / "best.pt")])
    assert (run / "checkpoints" / "policy.json").is_file()


@pytest.mark.slow
def test_onnx(train):
    pytest.importorskip("onnxscript", reason="ONNX is written by onnxscript")
    run = train()
    main(["export", str(run), "--to", "onnx"])
    assert (run / "policy.onnx").stat().st_size > 1000
