"""What is computed in fixed shapes, to wait for nothing, is what a CPU computes."""

import pytest
import torch
from factories import algorithm_of, buffer_of, transition
from simulated.device import DEVICE, SimTensor
from tensordict import TensorDict


def plain(tree):
    return tree.apply(lambda x: x.raw if isinstance(x, SimTensor) else x, device="cpu")


def pair(name, **options):
    """An algorithm on the CPU, and one with the same weights there."""
    here = algorithm_of(name, **options)
    there = algorithm_of(name, device=str(DEVICE), **options)
    there.model.load_state_dict(here.model.state_dict())
    return here, there


def rollout(length=6, num_envs=4, **others):
    draw = torch.Generator().manual_seed(3)
    size = length, num_envs
    flags = torch.rand((2, *size), generator=draw) < 0.3
    data = {
        "obs": torch.randn(*size, 2, generator=draw),
        "next_obs": torch.randn(*size, 2, generator=draw),
        "action": torch.randint(2, size, generator=draw),
        "reward": torch.randn(size, generator=draw),
        "terminated": flags[0],
        "truncated": flags[1] & ~flags[0],
    }
    return TensorDict({**data, **others}, size)


@pytest.mark.parametrize("old", [False, True])
def test_advantages_bootstrap_where_episodes_were_cut(old):
    here, there = pair("ppo", num_envs=4)
    data = rollout()
    if old:  # values of another policy are computed again
        version = torch.zeros(data.shape, dtype=torch.int64)
        data.update({"value": data["reward"], "log_prob": data["reward"]})
        data["policy_version"] = version
        here.counters.policy_version = there.counters.policy_version = 1
    for one in here, there:
        one.counters.acted_version = one.counters.policy_version
    moved = data.clone().to(DEVICE)
    wanted, got = here.prepare(data), plain(there.prepare(moved))
    assert set(got.keys()) == set(wanted.keys())
    for name, tensor in wanted.items():
        torch.testing.assert_close(got[name], tensor, rtol=1e-5, atol=1e-6)


def test_a_gradient_step_on_padded_episodes_is_that_on_their_steps():
    here, there = pair("grpo", group_size=2, num_envs=2, micro_batches=2)
    valid = torch.tensor([[True, True, False], [True, False, False]])
    data = rollout(2, 3).exclude("next_obs", "terminated", "truncated")
    data.update({"log_prob": -data["reward"].abs(), "valid": valid, "used": valid})
    data["advantage"] = torch.tensor([[1.0], [-1.0]]).expand(2, 3).clone()
    wanted = here.learn(data.clone())
    got = there.learn(data.clone().to(DEVICE))
    for name, metric in wanted.items():
        assert float(got[name]) == pytest.approx(float(metric), abs=1e-5)
    for one, other in zip(
        here.model.parameters(), there.model.parameters(), strict=True
    ):
        torch.testing.assert_close(other.detach().raw, one.detach())


def test_a_replay_buffer_draws_steps_that_are_valid_alike():
    buffer = buffer_of(rows=4, num_envs=3, gamma=0.9, seed=0, device=DEVICE)
    flags = torch.tensor([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]]).bool()
    for row in range(6):  # the ring is written over: rows 4 and 5 are in place of 0, 1
        buffer.add({**transition(row), "valid": flags[row % 4].numpy()})
    drawn = plain(buffer.sample(7_000))["reward"].int()
    wanted = {12, 14, 17, 6, 7, 8, 10}
    counts = drawn.bincount(minlength=18)
    assert set(counts.nonzero().flatten().tolist()) == wanted
    assert all(abs(int(counts[i]) - 1_000) < 150 for i in wanted)  # of sigma 29
