"""Policies for the site are trained, looked at and written down."""

import json

import pytest

from yieldrl.benchmarks import demos
from yieldrl.exports import JsonPolicy


@pytest.fixture
def few_steps(monkeypatch):
    """The lake's policy after 2 000 steps, judged by 20 episodes."""
    lake = demos.DEMOS["frozen_lake"]
    short = lake._replace(fields={**lake.fields, "total_steps": 2_000})
    monkeypatch.setitem(demos.DEMOS, "frozen_lake", short)
    monkeypatch.setattr(demos, "EPISODES", 20)


def test_three_stages_are_written_with_what_made_them(few_steps, tmp_path):
    paths = list(demos.train("frozen_lake", seed=5, folder=tmp_path))
    stages = [path.stem.removeprefix("frozen_lake-") for path in paths]
    assert stages == list(demos.STAGES)
    files = [json.loads(path.read_text("utf-8")) for path in paths]
    steps = [file["sample_step"] for file in files]
    assert steps[0] == 0
    assert 0 < steps[1] < steps[2]
    assert steps[2] >= 2_000
    for stage, file in zip(stages, files, strict=True):
        notes = file["notes"]
        assert notes["stage"] == stage
        assert notes["command"] == "python -m benchmarks demos frozen_lake --seed 5"
        assert (notes["seed"], notes["episodes"]) == (5, 20)
        assert 0 <= notes["episode_return"] <= 1
        assert JsonPolicy(file).predict([0]).shape == (1,)


@pytest.mark.parametrize("name", demos.DEMOS)
def test_every_demo_has_a_trainer(name):
    with demos.make_trainer(name, 2) as trainer:
        assert trainer.config.seed == 2
        assert trainer.config.env_id.startswith("yieldrl/")
        assert trainer.eval_envs.num_envs >= 1
