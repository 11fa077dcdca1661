"""A model of the world over a policy's trunk: states, losses, groups, errors."""

import pytest
import torch
from fake_vla import SPACE, make_model
from gymnasium.spaces import Box
from tensordict import TensorDict

from yieldrl.algorithms import ppo
from yieldrl.envs.grid_world import GoToVectorEnv
from yieldrl.imagination.trunk import TrunkWorld, change_errors
from yieldrl.vla import VLAConfig, VLAPolicy

SMALL = {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}
SMALL |= {"patch_contrast": 1.0}  # so that it sees where things are
B = 64


def grid():
    return GoToVectorEnv(B, height=2, width=2, num_objects=1, view="pixels")


def made(*spaces, **options):
    pytest.importorskip("transformers", reason="its trunk is a model of yieldrl[vla]")
    return VLAPolicy.from_config(*spaces, VLAConfig(model_config=SMALL, **options))


def world_of(envs, seed=0, **options):
    torch.manual_seed(seed)
    spaces = envs.single_observation_space, envs.single_action_space
    return TrunkWorld(made(*spaces).eval(), **options).eval()


def steps(envs, world, rows=1):
    """Real steps between states, `[T, B]`, by actions at random."""
    obs, _ = envs.reset(seed=1)
    generator, found = torch.Generator().manual_seed(0), []
    for _ in range(rows):
        row = {"obs": world.begin(obs)}
        row["action"] = torch.randint(4, (B,), generator=generator)
        obs, reward, ended, cut, info = envs.step(row["action"])
        after = info.get("final_obs", obs)
        row |= {"next_obs": world.begin(after), "reward": reward}
        row |= {"terminated": ended, "truncated": cut}
        found.append(TensorDict(row, [B]))
    stacked = torch.stack(found)
    return stacked


def test_the_loss_by_hand():
    """Steps that end have no next state: the change of the others, over all."""
    world = world_of(grid())
    data = steps(grid(), world)[0]
    world.fit_to(data)
    goes_on = ~data["terminated"]
    assert 0 < int(goes_on.sum()) < B
    before, after = (data[x, "prompt"][goes_on] for x in ("obs", "next_obs"))
    changing = data["obs", "changing"][0]
    variance = (after - before)[:, changing].square().mean()
    torch.testing.assert_close(world.change_std.square(), variance)
    further = data.clone()
    further["next_obs"]["prompt"] *= 3
    world.fit_to(further)  # what was learned is in the first scale
    torch.testing.assert_close(world.change_std.square(), variance)
    found = world.predict(data["obs"], data["action"])
    assert torch.equal(found.next_obs["prompt"], data["obs"]["prompt"])
    assert (found.next_obs["step"] == 1).all()
    assert found.outcome.shape == (B, 3)
    _, logs = world.loss(data)
    # Nothing is predicted to change yet, so of those that go on all is wrong.
    torch.testing.assert_close(logs["model/change_loss"], goes_on.float().mean())
    wrong = world.outcome.loss(found.outcome, data["reward"], data["terminated"]).mean()
    torch.testing.assert_close(logs["model/outcome_loss"], wrong)


def test_what_is_said_stays_as_it_is():
    world = world_of(grid())
    torch.nn.init.normal_(world.change.weight)
    data = steps(grid(), world)[0]
    after = world.predict(data["obs"], data["action"]).next_obs
    moved = (after["prompt"] != data["obs"]["prompt"]).any(-1)
    assert torch.equal(moved, data["obs"]["changing"])


def test_groups_are_the_trunk_and_what_is_put_on_it():
    world = world_of(grid())
    of_trunk, added = world.parameter_groups()
    trunk = {id(p) for p in world.trunk.parameters()}
    assert {id(p) for p in of_trunk} < trunk, "all but the words, which rest"
    assert not trunk & {id(p) for p in added}
    trained = sum(p.requires_grad for p in world.parameters())
    assert len(of_trunk) + len(added) == trained


def test_the_trunk_is_a_copy_until_it_learns():
    world = world_of(grid())
    policy = world.backbone[0]
    own, other = world.trunk.decoder, policy.decoder
    assert not {id(p) for p in own.parameters()} & {id(p) for p in other.parameters()}
    with torch.no_grad():
        other.layers[0].mlp.up_proj.weight.fill_(0.5)
    world.sync()
    assert (own.layers[0].mlp.up_proj.weight == 0.5).all()


def test_numbers_are_read_in_units_of_their_range():
    torch.manual_seed(0)
    policies = [made(Box(-1, 1, (3,)), Box(-x, x, (2,))) for x in (2, 4)]
    narrow, wide = (TrunkWorld(policy, "number") for policy in policies)
    wide.action_token.mlp = narrow.action_token.mlp
    action = torch.tensor([[0.1, 1.9], [0.9, 1.1]])
    told = narrow.action_token(action)
    assert not torch.equal(told[0], told[1])
    torch.testing.assert_close(wide.action_token(2 * action), told)


def test_errors_are_shares_of_what_changes():
    """A model that says that nothing changes has 1 after any number of steps."""
    envs = grid()
    world = world_of(envs)
    real = steps(envs, world, rows=3)
    torch.testing.assert_close(change_errors(world, real), torch.ones(3))


def test_a_policy_without_layers_to_copy_is_refused():
    """One that shows none, and one whose backbone is of another kind."""
    shown, acted = Box(-1, 1, (3,)), Box(-1, 1, (2,))
    with pytest.raises(TypeError, match="Model has no backbone for a model of the"):
        TrunkWorld(ppo.Model(shown, acted, ppo.Config()))
    policy = VLAPolicy(SPACE, acted, make_model(acted))
    with pytest.raises(TypeError, match="a FakeBackbone, whose layers cannot be"):
        TrunkWorld(policy)


def test_it_learns_a_small_grid():
    """Where things will be and when they are reached, of grids of four cells."""
    envs = grid()
    world = world_of(envs)
    data = steps(envs, world, rows=2).flatten()
    world.fit_to(data)
    optimizer = torch.optim.AdamW(world.parameters(), lr=5e-3)
    for _ in range(80):
        optimizer.zero_grad()
        loss, logs = world.loss(data)
        loss.backward()
        optimizer.step()
    assert logs["model/change_loss"] < 0.8 * (~data["terminated"]).float().mean()
    end = world.outcome(world.predict(data["obs"], data["action"]).outcome).end
    assert ((end > 0.5) == data["terminated"]).float().mean() > 0.9
