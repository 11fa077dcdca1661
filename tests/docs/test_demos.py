"""JavaScript of the site computes what Python does: worlds, networks, controls."""

import json

import javascript
import numpy as np
import pytest
import torch
from exported import GO_TO, NARROW, observations, trainer

from yieldrl.algorithms import (
    c51,
    dqn,
    dueling_dqn,
    ppo,
    q_learning,
    reinforce,
    sac,
)
from yieldrl.envs.classic_control import CartPoleVectorEnv, PendulumVectorEnv
from yieldrl.envs.grid_world import GoToVectorEnv
from yieldrl.envs.minatar import BreakoutVectorEnv
from yieldrl.envs.tabular import FrozenLakeVectorEnv
from yieldrl.exports import JsonPolicy, describe

pytestmark = pytest.mark.slow

COUNT = 2000  # transitions of every world

STEP_ALL = """
  const world = await load(data.world)
  return data.states.map((state, i) => {
    const chance = given(data.noise[i])
    const after = world.step(state, data.actions[i], chance, data.parameters)
    return { ...after, observation: world.observe(after.state) }
  })
"""
RESET_ALL = """
  const world = await load(data.world)
  return data.noise.map((numbers) => {
    const state = world.reset(given(numbers))
    return { state, observation: world.observe(state) }
  })
"""


def noise(rows, seed=0):
    """Uniform numbers, `[rows, COUNT]`."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(rows, COUNT, generator=generator, dtype=torch.float64)


def stepped(world, states, actions, chance=None, **parameters):
    """What JavaScript's world makes of every state: lists of the parts of a step."""
    chance = [[]] * COUNT if chance is None else chance
    found = javascript.run(
        STEP_ALL,
        world=world,
        states=states,
        actions=actions,
        noise=chance,
        parameters=parameters,
    )
    names = "state", "observation", "reward", "terminated"
    return [[one[name] for one in found] for name in names]


def begun(world, numbers):
    """JavaScript's first states and what is observed of them."""
    found = javascript.run(RESET_ALL, world=world, noise=numbers.T.tolist())
    return [[one[name] for one in found] for name in ("state", "observation")]


def close(found, expected):
    """Equal but for the last bits of sines and cosines."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(np.array(found, float), expected, rtol=1e-12, atol=1e-12)


def seen(found, expected):
    """Observations, which are float32 in Python."""
    np.testing.assert_allclose(np.array(found, float), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("script", "kind", "varied", "spread"),
    [
        ("cartpole.js", CartPoleVectorEnv, {"length": 0.5}, [2.5, 3.0, 0.22, 3.0]),
        ("cartpole.js", CartPoleVectorEnv, {"length": 1.25}, [2.5, 3.0, 0.22, 3.0]),
        ("pendulum.js", PendulumVectorEnv, {"gravity": 10.0}, [20.0, 8.0]),
        ("pendulum.js", PendulumVectorEnv, {"gravity": 3.0}, [20.0, 8.0]),
    ],
)
def test_cartpole_and_pendulum(script, kind, varied, spread):
    world, balanced = kind(COUNT, dtype=torch.float64, **varied), "length" in varied
    first = noise(len(spread))
    state, obs = begun(script, first)
    close(state, world.initial_state(first).T)
    seen(obs, world.observe(world.initial_state(first)))

    states = (2 * noise(len(spread), seed=1) - 1) * torch.tensor([spread]).T.double()
    actions = noise(1, seed=2)
    actions = (actions[0] < 0.5).long() if balanced else (6 * actions - 3).T
    after, reward, terminated = world.dynamics(states, actions)
    assert balanced == (0.05 < terminated.double().mean() < 0.95)
    found = stepped(script, states.T.tolist(), actions.tolist(), **varied)
    close(found[0], after.T)
    seen(found[1], world.observe(after))
    close(found[2], reward)
    assert found[3] == terminated.tolist()


@pytest.mark.parametrize("grip", [1 / 3, 0.8, 1.0])
def test_frozen_lake(grip):
    world = FrozenLakeVectorEnv(COUNT, dtype=torch.float64, success_rate=grip)
    state, obs = begun("frozen_lake.js", noise(0))
    assert state == obs == world.initial_state(noise(2)).tolist()

    open_ice = torch.tensor([i for i, c in enumerate("SFFFFHFHFFFHHFFG") if c in "SF"])
    states = open_ice[(noise(1, seed=1)[0] * len(open_ice)).long()]
    actions = (noise(1, seed=2)[0] * 4).long()
    chance = noise(2, seed=3)
    after, reward, terminated = world.random_dynamics(states, actions, chance)
    given = states.tolist(), actions.tolist(), chance[1:].T.tolist()
    found = stepped("frozen_lake.js", *given, grip=grip)
    assert found[0] == found[1] == after.tolist()
    assert found[2] == reward.tolist()
    assert found[3] == terminated.tolist()
    assert {0, 1} == set(found[2])


NAMES = {"x": "x", "y": "y", "last_x": "lastX", "last_y": "lastY", "dx": "dx"}
NAMES |= {"dy": "dy", "paddle": "paddle", "wall": "wall", "struck": "struck"}
NAMES |= {"action": "action"}


def boards(state):
    """Python's states of Breakout in JavaScript's words.

    There "right" is the last of three actions, here the fourth of MinAtar's six.
    """
    state = {**state, "action": state["action"].clamp(max=2)}
    columns = {ours: state[name].tolist() for name, ours in NAMES.items()}
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def test_breakout():
    """Games are played on, each by a paddle that often meets the ball."""
    games, steps = 50, 400
    world = BreakoutVectorEnv(games)
    generator = torch.Generator().manual_seed(0)
    before, actions, chances, after = [], [], [], []
    first = torch.rand(2, games, generator=generator)
    state = world.initial_state(first)
    found, obs = begun("breakout.js", first[1:])
    assert found == boards(state)
    expected = world.observe(state).flatten(1).int()
    assert obs == expected.tolist()
    number = torch.arange(games, dtype=torch.int32)
    one_brick = torch.ones_like(number) << number % 30
    state["wall"] = torch.where(number % 2 == 0, state["wall"], one_brick)
    earned = lost = rebuilt = 0
    for _ in range(steps):
        ahead = (state["x"] + state["dx"]).clamp(0, 9) - state["paddle"]
        action = torch.where(ahead < 0, 1, torch.where(ahead > 0, 2, 0))
        chance = torch.rand(2, games, generator=generator)
        action = torch.where(chance[1] < 0.1, (chance[1] * 30).long(), action)
        before += boards(state)
        actions += action.tolist()
        chances += chance[:1].T.tolist()
        bricks = state["wall"]
        state, reward, terminated = world.random_dynamics(state, action, chance)
        rebuilt += (state["wall"] > bricks).sum()
        pictures = world.observe(state).flatten(1).int().tolist()
        parts = boards(state), pictures, reward.tolist(), terminated.tolist()
        after += zip(*parts, strict=True)
        earned, lost = earned + reward.sum(), lost + terminated.sum()
        fresh = world.initial_state(torch.rand(2, games, generator=generator))
        state = {
            name: torch.where(terminated, fresh[name], state[name]) for name in state
        }
    assert earned > 1000
    assert lost > 20
    assert rebuilt > 0
    given = stepped("breakout.js", before, actions, chances)
    assert list(zip(*given, strict=True)) == after


def test_go_to():
    world = GoToVectorEnv(COUNT, dtype=torch.float64)
    first = noise(world.noise_size)
    state = world.initial_state(first)
    found, obs = begun("goto.js", first)
    names = "agent", "objects", "kinds", "goal", "template"
    columns = [state[name].movedim(-1, 0).tolist() for name in names]
    states = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    assert found == states

    def same(obs, expected):
        for one, (image, words) in zip(obs, expected, strict=True):
            assert one == {"image": image, "instruction": words}

    def seen_by(state):
        expected = world.observe(state)
        image = expected["image"].flatten(1).int().tolist()
        return zip(image, expected["instruction"].tolist(), strict=True)

    same(obs, seen_by(state))
    actions = (noise(1, seed=2)[0] * 4).long()
    after, reward, terminated = world.dynamics(state, actions)
    given = stepped("goto.js", states, actions.tolist())
    assert [one["agent"] for one in given[0]] == after["agent"].tolist()
    same(given[1], seen_by(after))
    assert given[2] == reward.tolist()
    assert given[3] == terminated.tolist()
    assert set(given[2]) == {0, 1}


POLICIES = {
    "tanh": (ppo, "CartPole-v1", NARROW),
    "normalized": (ppo, "Pendulum-v1", {**NARROW, "normalize_observation": True}),
    "relu": (dqn, "Acrobot-v1", NARROW),
    "picture": (dqn, "yieldrl/MinAtar-Breakout-v1", NARROW),
    "picture and words": (ppo, GO_TO, NARROW),
    "two streams": (dueling_dqn, "Acrobot-v1", NARROW),
    "atoms": (c51, "CartPole-v1", NARROW),
    "stretched": (sac, "Pendulum-v1", NARROW),
    "several choices": (reinforce, "Taxi-v4", NARROW),
    "table": (q_learning, "FrozenLake-v1", {}),
}
ACT_ALL = """
  const network = await load("network.js")
  const policy = network.load(data.policy)
  const asked = data.observations
  return asked.map((o) => [network.act(policy, o), network.raw(policy, o)])
"""


@pytest.mark.parametrize("name", POLICIES)
def test_networks(name):
    module, env_id, fields = POLICIES[name]
    with trainer(module, env_id, **fields) as made:
        policy = describe(made.agent)
        obs = observations(made.model.observation_space, 300)
        expected = made.agent.predict(obs)
    if isinstance(obs, dict):
        columns = {name: part.tolist() for name, part in obs.items()}
        rows = zip(*columns.values(), strict=True)
        asked = [dict(zip(columns, row, strict=True)) for row in rows]
    else:
        asked = obs.tolist()
    found = javascript.run(ACT_ALL, policy=policy, observations=asked)
    actions, raw = (np.array(part) for part in zip(*found, strict=True))
    in_numpy = JsonPolicy(policy).raw(obs)
    np.testing.assert_allclose(raw, in_numpy, rtol=1e-9, atol=1e-9)
    if expected.dtype.kind == "i":
        assert np.mean(actions == expected) > 0.99  # two may be as good to rounding
    else:
        np.testing.assert_allclose(actions, expected, rtol=1e-4, atol=1e-5)


def test_another_version_is_refused():
    body = """
      const network = await load("network.js")
      try { network.load(data.policy) } catch (error) { return error.message }
    """
    said = javascript.run(body, policy={"format": "yieldrl-policy", "version": 2})
    assert "not a yieldrl-policy of version 1" in said


PLAY = """
  const { Game } = await load("game.js")
  const { load: read } = await load("network.js")
  const world = await load(data.world)
  let seed = 1
  const rng = () => (seed = (seed * 48271) % 2147483647) / 2147483647
  const game = new Game(world, rng)
  if (data.policy) game.policy = read(data.policy)
  game.epsilon = data.epsilon ?? 0
  Object.assign(game.parameters, data.parameters)
  const played = []
  for (let i = 0; i < data.episodes; i++) {
    while (!game.over) game.step(data.action ?? game.choose())
    played.push([game.score, game.elapsed, game.scoreText])
    game.step(null) // begins the next one
  }
  return played
"""
FILES = sorted((javascript.DEMOS / "policies").glob("*.json"))


def played(world, episodes, **data):
    """Scores and lengths of episodes that the page's own game plays."""
    found = javascript.run(PLAY, world=f"{world}.js", episodes=episodes, **data)
    scores, lengths, texts = zip(*found, strict=True)
    return np.array(scores), np.array(lengths), texts


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_policy_plays_as_well_as_its_file_says(path):
    policy = json.loads(path.read_text("utf-8"))
    world, _, stage = path.stem.rpartition("-")
    assert policy["notes"]["stage"] == stage
    assert f"demos {world} --seed" in policy["notes"]["command"]
    scores, _, _ = played(world, 100, policy=policy)
    said, spread = policy["notes"]["episode_return"], scores.std() / 10
    assert abs(scores.mean() - said) < 5 * spread + 1e-6  # of other episodes
    assert path.stat().st_size < 1_000_000  # of a picture or a sentence; else a few kB


def test_a_game_ends_at_the_time_limit_and_begins_anew():
    scores, lengths, texts = played("pendulum", 2, action=[0])
    assert lengths.tolist() == [200, 200]
    assert texts[0] == f"Return {scores[0]:.1f} after 200 steps"
    assert scores[0] != scores[1]


def test_sliders_and_random_actions_count():
    (path,) = (path for path in FILES if path.stem == "cartpole-trained")
    policy = json.loads(path.read_text("utf-8"))
    steady, _, _ = played("cartpole", 20, policy=policy)
    shaken, _, _ = played("cartpole", 20, policy=policy, epsilon=0.9)
    short, _, _ = played("cartpole", 20, policy=policy, parameters={"length": 0.1})
    assert shaken.mean() < steady.mean() / 2
    assert short.mean() != steady.mean()


STUB = """
const shown = []
const node = { setAttribute: (_, value) => shown.push(value) }
const slider = {
  matches: () => false, dataset: { labels: '["a", "b", "c"]' }, value: "2",
  setAttribute() {}, nextElementSibling: {},
}
const buttons = [{ checked: false }, { checked: true }]
const radio = { matches: () => true, querySelectorAll: () => buttons }
const form = {
  hidden: true, querySelectorAll: () => [slider, radio],
  addEventListener(name, run) { this[name] = run },
}
const frames = [0, 1, 2, 3, 4, 5].map((at) => [at])
const script = { textContent: JSON.stringify({ parts: [[".x", "cx"]], frames }) }
const figure = {
  querySelector: (name) => ({ script, form })[name], querySelectorAll: () => [node],
}
globalThis.document = {
  querySelectorAll: () => [figure], addEventListener: (_, run) => (document.run = run),
}
"""


MOVED = """
document.run()
slider.value = "1"
form.input()
buttons.reverse()
form.input()
console.log(JSON.stringify([shown, form.hidden, slider.nextElementSibling.textContent]))
"""


def test_controls_choose_the_frame_that_python_meant():
    """The last control is the fastest: index 2 of 3 and 1 of 2 is frame 5."""
    script = (
        javascript.DEMOS.parents[1] / "assets" / "course" / "frames.js"
    ).read_text("utf-8")
    printed = javascript.said(["--eval", STUB + script + MOVED])
    assert json.loads(printed) == [[5, 3, 2], False, "b"]
