"""A gradient step of GRPO in parts: micro batches, and processes together."""

import os
import subprocess
import sys
from pathlib import Path

import groups_together
import pytest
import torch
from factories import step, update
from lettered import Lettered, algorithm_of
from tensordict import TensorDict

from yieldrl.algorithms import dapo, dr_grpo, grpo, gspo, rloo
from yieldrl.buffers.minibatches import joined

TESTS = Path(__file__).parents[1]
MEANS = [grpo, rloo, dr_grpo, dapo, gspo]


def episodes(algorithm):
    """Five answers of one to three tokens, in one or two steps, of another policy."""
    tokens = torch.tensor([[[1, 2, 0], [2, 0, 0]], [[0, 0, 0], [1, 1, 1]]] * 3)[:5]
    log_prob = algorithm.model.evaluate_actions(None, tokens.flatten(0, 1))[0].detach()
    advantage = torch.tensor([1.0, -2.0, 0.5, -0.3, 0.8])
    valid = torch.tensor([[True, True], [True, False], [True, True]] * 2)[:5]
    data = {
        "obs": torch.zeros(5, 2, 3),
        "action": tokens,
        "log_prob": 0.9 * log_prob.view(5, 2, 3),
        "advantage": advantage.unsqueeze(1).expand(5, 2).clone(),
        "valid": valid,
        "used": valid.clone(),
        "informative": torch.full((5, 2), 0.7),
        "reference": 1.2 * log_prob.view(5, 2, 3),
    }
    return TensorDict(data, [5, 2])


def stepped(module, **options):
    options |= {"kl_coef": 0.1, "entropy_coef": 0.1, "max_grad_norm": 1e9}
    algorithm = algorithm_of(module, Lettered(3), **options)
    kind = torch.optim.SGD(algorithm.model.parameters(), lr=1.0)
    algorithm.optimizer = kind
    logs = step(algorithm, episodes(algorithm))
    return {k: float(x) for k, x in logs.items()}, algorithm.model.logits.detach()


@pytest.mark.parametrize("module", MEANS)
def test_a_step_in_parts_is_that_of_the_whole(module):
    """Also where they have other numbers of tokens: their mean is over all of them."""
    logs, after = stepped(module)
    for parts in (2, 5):
        own, in_parts = stepped(module, micro_batches=parts)
        torch.testing.assert_close(in_parts, after)
        assert own == pytest.approx(logs, rel=1e-4, abs=1e-6)


def test_episodes_of_other_lengths_lie_in_one_batch():
    rows = episodes(algorithm_of(model=Lettered(3)))
    both = joined([rows[:2, :1], rows[2:]])
    assert both.shape == (5, 2)
    assert not both["valid"][:2, 1].any()
    assert torch.equal(both["action"][2:], rows["action"][2:])


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What two processes wrote down that learned together."""
    folder = tmp_path_factory.mktemp("together")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", TESTS / "groups_together.py", folder]
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    found = subprocess.run(command, env=env, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-3000:]
    return [torch.load(folder / f"{i}.pt", weights_only=False) for i in (0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", groups_together.NAMES)
def test_two_processes_take_the_step_of_all_groups(name, two):
    """Though one has fewer groups that differ, or none at all."""
    one, other = (found[name] for found in two)
    assert one["logs"] == other["logs"]
    assert groups_together.close(one["after"], other["after"], 0)
    rollout = torch.cat([one["rollout"], other["rollout"]], 1)
    algorithm = groups_together.trainer_of(name, num_envs=16).algorithm
    algorithm.model.load_state_dict(one["before"])
    logs = update(algorithm, rollout)
    assert groups_together.close(algorithm.model.state_dict(), one["after"], 1e-5)
    for key in ("loss", "grad_norm", "entropy", "approx_kl", "grpo/informative_groups"):
        assert one["logs"][key] == pytest.approx(float(logs[key]), rel=1e-3, abs=1e-6)


@pytest.mark.slow
def test_whole_runs_go_on_together_and_resample_together(two):
    one, other = (found["run"] for found in two)
    assert one["logs"] == other["logs"]
    assert groups_together.close(one["after"], other["after"], 0)
    waited = [log["learn_step"] == 0 for log in one["logs"]]
    assert 0 < sum(waited) < 8, "rollouts before the first gradient step"
    assert len(waited) > 8


@pytest.mark.slow
def test_two_processes_clone_what_both_experts_did(two):
    """Each in environments of its own, a half of the demonstrations; and go on."""
    one, other = (found["clone"] for found in two)
    assert one["count"] == other["count"] == (32, 64)
    assert not torch.equal(one["data"]["action"], other["data"]["action"])
    trainer = groups_together.trainer_of("grpo", **groups_together.CLONING)
    cloning = trainer.cloning
    assert cloning is not None
    trainer.model.load_state_dict(one["before"])
    cloning.algorithm.anneal(1 - cloning.share_of_rate(0))
    cloning.agent.learn(torch.cat([one["data"], other["data"]]))
    assert groups_together.close(trainer.model.state_dict(), one["stepped"], 1e-5)
    assert one["logs"] == other["logs"]
    assert groups_together.close(one["after"], other["after"], 0)
    phases = [log["logs"]["phase"] for log in one["logs"]]
    assert (phases[0], phases[-1]) == (0, 1)
