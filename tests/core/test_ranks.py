"""Two processes that train together, as `torchrun` starts them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tensordict import TensorDict
from together import SETTINGS

from yieldrl.algorithms import dqn, ppo
from yieldrl.core import Ranks, derive_seed, ranks, standardized
from yieldrl.loggers import list_checkpoints

TESTS = Path(__file__).parents[1]


def torchrun(*words, cwd=None, check=True):
    """Run a script in two processes; what they printed, together."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    found = subprocess.run(
        [*command, "--nproc-per-node", "2", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
    )
    if check:
        assert found.returncode == 0, found.stderr[-3000:]
    return found


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Where both processes wrote down what happened, and what they printed."""
    folder = tmp_path_factory.mktemp("ranks")
    return folder, torchrun(TESTS / "together.py", folder, cwd=folder).stdout


@pytest.fixture(scope="module")
def written(started):
    """Where both processes wrote down what happened."""
    return started[0]


@pytest.fixture(scope="module")
def both(written):
    """What happened in them."""
    return [torch.load(written / f"{i}.pt", weights_only=False) for i in (0, 1)]


def same(one, other):
    """Whether two sets of weights are the same, bit by bit."""
    return all(torch.equal(one[name], other[name]) for name in one)


def close(one, other):
    """Whether they are the same but for rounding."""
    return all(torch.allclose(one[k], other[k], rtol=1e-4, atol=1e-5) for k in one)


@pytest.mark.slow
class TestTwo:
    def test_they_begin_with_the_same_weights_and_with_other_episodes(self, both):
        one, other = (found["step"] for found in both)
        assert same(one["before"], other["before"])
        assert not torch.equal(one["rollout"]["obs"], other["rollout"]["obs"])
        assert not torch.equal(one["rollout"]["action"], other["rollout"]["action"])

    @pytest.mark.skipif(
        not Path("/proc/self/task").exists(),
        reason="the names of threads stand in Linux's /proc alone",
    )
    def test_no_thread_that_sends_is_left_when_a_process_ends(self, written):
        """Such a thread would free what it sent in an interpreter that is gone, and a
        training that was done would end by SIGABRT, one time in four."""
        assert [(written / f"{i}.left").read_text() for i in (0, 1)] == ["", ""]

    def test_a_step_is_that_of_one_process_with_all_environments(self, both):
        """The gradient, to rounding: centred advantages, clipping and all."""
        one, other = (found["step"] for found in both)
        settings = SETTINGS | {"num_envs": 8}
        with ppo.Trainer(ppo.Config(**settings)) as trainer:
            trainer.model.load_state_dict(one["before"])
            obs = torch.cat([one["rollout"]["obs"], other["rollout"]["obs"]], 1)
            trainer.model.update_normalization(TensorDict({"obs": obs}))
            logs = trainer.algorithm.learn(torch.cat([one["data"], other["data"]]))
            state = trainer.algorithm.optimizer.state_dict()["state"]
            for entry, got in zip(state.values(), one["moments"], strict=True):
                torch.testing.assert_close(got, entry["exp_avg"], rtol=1e-5, atol=1e-8)
            assert close(one["after"], trainer.model.state_dict())
        for name in ("loss", "grad_norm", "entropy", "approx_kl", "value_loss"):
            want = float(logs[name])
            assert one["log"]["logs"][name] == pytest.approx(want, rel=1e-4, abs=1e-6)

    @pytest.mark.parametrize("run", ["run", "compiled"])
    def test_all_yield_the_same_logs_and_end_with_the_same_weights(self, both, run):
        one, other = (found[run] for found in both)
        kinds = {log["log_type"] for log in one["logs"]}
        assert kinds == {"collect", "train", "evaluate"}
        assert one["logs"] == other["logs"]
        assert same(one["after"], other["after"])

    def test_steps_are_those_of_all(self, both):
        logs = both[0]["run"]["logs"]
        assert logs[0]["sample_step"] == 8  # four environments in each
        assert logs[-1]["sample_step"] == 1024
        # 1024 steps are 8 rollouts of 128, with 4 epochs of 2 minibatches each.
        assert logs[-1]["learn_step"] == 64

    def test_compiled_steps_are_the_eager_ones(self, both):
        eager, compiled = (both[0][name]["logs"] for name in ("run", "compiled"))
        for one, other in zip(eager[:60], compiled[:60], strict=True):
            for name, value in one["logs"].items():
                assert other["logs"][name] == pytest.approx(value, rel=1e-3, abs=1e-4)


DIFFER = {
    "learning_rate": r"Config\.learning_rate: it is 0\.001 in process 0 and 0\.002 in",
    "seed": r"Config\.seed: it is 0 in process 0 and 1 in process 1",
    "num_envs": r"Config\.num_envs: it is 2 in process 0 and 3 in process 1",
    "env_kwargs": r"Config\.env_kwargs: it is {'velocities': True} in process 0 and {",
    "trainer": r"class of the trainer: it is '.*ppo.* in process 0 and '.*a2c",
    "space": r"observation space: it is .*\(4,\), .* in process 0 and 'Box.*\(6,\), ",
    "model": r"model\.more\.weight: it is 'not there' in process 0 and '\(3, 2\), ",
    "frozen": r"model\.\S+: it is '.*, learned' in process 0 and '.*, frozen' in",
    "algorithm": r"algorithm\.config\.gamma: it is 0\.9 in process 0 and 0\.8 in",
    "checkpoint": r"^CheckpointError: .*0\.pt: 2 .*sum of the checkpoint's weig",
}


@pytest.mark.slow
def test_they_agree_before_the_first_step(written):
    """Different configs trained on with different weights, and nothing was said."""
    files = [written / "differing" / f"{i}.json" for i in (0, 1)]
    one, other = (json.loads(file.read_text()) for file in files)
    assert {k: v for k, v in one.items() if k != "checkpoint"} == {
        k: v for k, v in other.items() if k != "checkpoint"
    }
    assert one.pop("alike") == "nothing"
    assert one.keys() == DIFFER.keys()
    for name, said in DIFFER.items():
        assert re.search(said, one[name]), (name, one[name])
        assert "2 processes that train together differ in " in one[name]


@pytest.mark.slow
def test_one_writes(started):
    """One folder, one row a window, everything printed once."""
    folder, said = started
    assert said.count("run folder: runs/both") == 2  # at the beginning and at the end
    assert [path.name for path in (folder / "runs").iterdir()] == ["both"]
    run = folder / "runs" / "both"
    rows = (run / "logs.csv").read_text().splitlines()[1:]
    assert len(rows) == len({row.rsplit(",", 1)[0] for row in rows})
    (*_, last) = sorted(path.name for path in list_checkpoints(run))
    assert last == "step_000002048.pt"


@pytest.mark.slow
def test_a_run_goes_on_and_one_that_dies_ends_all_with_its_error(written, tmp_path):
    """`resume` in two processes; after that one of them fails, and the other waits."""
    shutil.copytree(written / "runs", tmp_path / "runs")
    script = tmp_path / "dies.py"
    script.write_text(
        "from yieldrl import cli\n"
        "cli.main(['resume', 'runs/both', '--total-steps', '4096'])\n"
        "from yieldrl.algorithms import ppo\n"
        "from yieldrl.core import ranks\n"
        "for log in ppo.Trainer(ppo.Config(total_steps=100_000))():\n"
        "    if log['learn_step'] == 3 and not ranks().first:\n"
        "        raise ZeroDivisionError('the second one has had enough')\n"
    )
    found = torchrun(script, cwd=tmp_path, check=False)
    assert found.stdout.count("goes on from") == 1
    run = tmp_path / "runs" / "both"
    assert (run / "checkpoints" / "step_000004096.pt").exists()
    assert found.returncode != 0
    assert "the second one has had enough" in found.stderr


class TestAlone:
    def test_nothing_is_exchanged(self):
        x, one = torch.tensor([1.0, 2.0]), Ranks()
        assert one.all_reduce_sum(x) is x
        assert one.broadcast_object({"a": 1}) == {"a": 1}
        assert one.first
        assert one.all_gather(x).shape == (1, 2)
        assert one.derive_seed(3, "envs") == derive_seed(3, "envs")
        assert Ranks(1, 2).derive_seed(3, "envs") != derive_seed(3, "envs")
        assert torch.allclose(standardized(x), (x - 1.5) / x.std())

    def test_replay_and_background_are_refused_where_there_are_two(self, monkeypatch):
        monkeypatch.setattr("yieldrl.experiments.agreement.ranks", lambda: Ranks(0, 2))
        with pytest.raises(ValueError, match="dqn cannot be trained by 2 processes"):
            dqn.Trainer(dqn.Config())
        with pytest.raises(ValueError, match="collection='async' cannot be trained"):
            ppo.Trainer(ppo.Config(collection="async"))

    def test_it_is_one_process_here(self):
        assert ranks() == Ranks(0, 1)
