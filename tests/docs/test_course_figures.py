"""What the moving figures of the course compute is so, and a frame fits each choice."""

from __future__ import annotations

import re
from itertools import product
from types import SimpleNamespace
from typing import Any
from xml.dom import minidom

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from tensordict import TensorDict

from yieldrl.algorithms import q_learning, td3
from yieldrl.docs._site import course
from yieldrl.docs._site.markdown import DOCS
from yieldrl.envs import policy_evaluation
from yieldrl.exercises.ch20_worlds_inside import solution
from yieldrl.imagination import EnsembleModel, k_step_errors

pytestmark = pytest.mark.slow
PAGES = sorted((DOCS / "course").glob("[0-9][0-9]-*.md"))

FRAMES = re.compile(r'^{% call frames\("(\w+)"', re.MULTILINE)

FIGURES = [name for page in PAGES for name in FRAMES.findall(page.read_text("utf-8"))]


@pytest.fixture(scope="module", params=FIGURES)
def figure(request):
    return course.load(request.param)["figure"]()


def test_a_figure_has_a_frame_for_every_choice(figure):
    sizes = [len(labels) for labels in figure["controls"].values()]
    assert len(figure["frames"]) == np.prod(sizes)
    picture = minidom.parseString(f"<svg>{figure['svg']}</svg>")
    classes = [
        name
        for node in picture.getElementsByTagName("*")
        for name in node.getAttribute("class").split()
    ]
    for frame in figure["frames"]:
        assert len(frame) == len(figure["parts"])
        for (selector, _), value in zip(figure["parts"], frame, strict=True):
            count = classes.count(selector.removeprefix("."))
            assert selector == ".says" or count > 0
            assert not isinstance(value, list) or len(value) == count


@pytest.fixture(scope="module")
def lake():
    names = course.load("gae_lambda")
    return names["Lake"](), names["CRITICS"]


def test_lambda_one_and_an_exact_critic_have_no_bias(lake):
    lake, critics = lake
    for sweeps in critics.values():
        assert lake.moments(lake.critic(sweeps), 1.0)[0] == pytest.approx(lake.truth[0])
    for gae_lambda in (0.0, 0.5, 0.95):
        mean, _ = lake.moments(lake.critic(10_000), gae_lambda)
        assert mean == pytest.approx(lake.truth[0])


@pytest.mark.parametrize("gae_lambda", [0.0, 0.8, 1.0])
def test_the_curves_are_what_the_librarys_gae_gives_on_average(lake, gae_lambda):
    lake, critics = lake
    rng = np.random.default_rng(1)
    episodes = [lake.episode(rng) for _ in range(1500)]
    value = lake.critic(critics["young"])
    said = np.array(lake.estimates(episodes, value, gae_lambda))
    mean, std = lake.moments(value, gae_lambda)
    assert abs(said.mean() - mean) < 4 * std / 1500**0.5
    assert said.std() == pytest.approx(std, rel=0.2)  # its tails are heavy


def test_sweeps_spread_from_the_goal_and_end_in_the_values_of_the_library():
    names = course.load("value_iteration")
    lakes = {ice: names["Lake"](slips) for ice, slips in names["ICE"].items()}
    for lake in lakes.values():
        known = [int((lake.after(count)[0] > 0).sum()) for count in range(8)]
        assert known == [0, 1, 3, 5, 7, 10, 11, 11]
        last, (best, _) = lake.after(names["SWEEPS"][-1])[0], lake.best
        assert last == pytest.approx(best, abs=1e-5)
    assert lakes["slippery"].after(1)[0][14] == pytest.approx(1 / 3)
    assert lakes["firm"].after(6)[0][0] == pytest.approx(0.99**5)


# Chapter 04
@pytest.fixture(scope="module")
def cliff():
    names = course.load("cliff_walks")
    return names, gymnasium.make("CliffWalking-v1").unwrapped.P


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_sarsas_table_is_that_of_the_policy_that_it_follows(cliff, epsilon):
    """`Q(s, a) = r + E Q(s', a')`, where a' is drawn as the table says."""
    names, world = cliff
    q_value = names["sarsa_table"](world, epsilon)
    policy = names["exploring"](q_value, epsilon)
    follow = (policy * q_value).sum(1)
    for state, actions in world.items():
        for action, [(_, after, reward, ended)] in actions.items():
            target = reward + follow[after] * (not ended)
            assert q_value[state, action] == pytest.approx(target)
    assert names["value"](world, q_value, epsilon) == pytest.approx(follow[36])
    bold = names["exploring"](names["q_learning_table"](world), epsilon)
    assert follow[36] > policy_evaluation(world, bold, gamma=1.0)[36]


# Chapter 05
@pytest.mark.parametrize(("world", "size"), [("lake", 2), ("cart", 4)])
def test_the_same_transition_passes_every_border(world, size):
    names = course.load("transition_way")
    seen = names["followed"](names[world]())
    row, batch, n = seen["row"], seen["batch"], names["ending"](seen["row"])
    assert type(seen["obs"]) is type(seen["action"]) is np.ndarray
    assert isinstance(seen["tensor"][0], torch.Tensor)
    assert np.array_equal(seen["tensor"][0].numpy(), seen["obs"])
    assert np.array_equal(seen["obs"], row["obs"])
    assert np.array_equal(seen["action"], row["action"])
    assert np.array_equal(seen["step"].next_obs[n], row["next_obs"][n])
    assert seen["q_value"].shape == (2, seen["q_value"].shape[1])
    assert batch.batch_size == (size,)
    mine = batch[seen["at"]]
    assert np.array_equal(mine["next_obs"].numpy(), row["next_obs"][n])
    assert bool(mine["terminated"])
    assert float(mine["reward"]) == 1.0
    assert seen["log"]["log_type"] == "train"


@pytest.fixture(scope="module")
def candles():
    names = course.load("cut_and_end")
    return names, {way: names["Candle"](way) for way in names["LENGTHS"]}


@pytest.mark.parametrize("gae_lambda", [0.0, 1.0])
def test_only_flags_as_they_are_give_what_each_state_is_worth(candles, gae_lambda):
    names, of = candles
    right = {
        (reading, way)
        for reading in names["READINGS"]
        for way, candle in of.items()
        if torch.allclose(candle.targets(reading, gae_lambda), candle.value)
    }
    as_it_is, done, only_a_reset, next_row = names["READINGS"]
    assert right == {
        *((as_it_is, way) for way in of),
        (done, "ended"),
        (only_a_reset, "cut"),
        (next_row, "ended"),
    }


def test_with_all_steps_a_wrong_end_goes_through_the_whole_episode(candles):
    names, of = candles
    cut, done, burnt = of["cut"], "done = either", names["BURNT"]
    wrong = {
        lam: (cut.targets(done, lam) - cut.value).abs() > 1e-6 for lam in (0.0, 1.0)
    }
    assert wrong[0.0].tolist().count(True) == 1
    assert wrong[1.0][:burnt].all()
    assert not wrong[1.0][burnt:].any()


@pytest.fixture(scope="module")
def fan():
    names = course.load("seed_fan")
    table = names["transitions"]()
    return names, table, names["learned"](table)


def test_runs_that_share_a_table_learn_as_much_as_runs_of_their_own(fan):
    names, table, curves = fan
    lakes = names["LAKES"]
    config = q_learning.Config(num_envs=lakes, total_steps=2_000, eval_every=0)
    alone = []
    for seed in range(4):
        trainer = q_learning.Trainer(q_learning.Config(**vars(config) | {"seed": seed}))
        for _ in trainer():
            pass
        policy = trainer.model.table.argmax(1).numpy()
        alone.append(names["policy_evaluation"](table, policy, names["GAMMA"])[0])
    shared = curves[2_000 // names["EVERY"]]
    spread = shared.std() * (1 / len(alone) + 1 / len(shared)) ** 0.5
    assert abs(np.mean(alone) - shared.mean()) < 4 * spread


# Chapter 07
@pytest.fixture(scope="module")
def atoms():
    return course.load("atoms")


def test_the_target_keeps_the_mean_as_long_as_nothing_lies_outside(atoms):
    z, places = atoms["following"](), atoms["ATOMS"]
    kept = 0
    for choice in product(atoms["REWARDS"], atoms["GAMMAS"], (False, True)):
        moved, target = atoms["moved"](*choice), atoms["target"](z, *choice)
        assert target.min() >= 0
        assert target.sum() == pytest.approx(1)
        inside = moved.min() > -1e-9 and moved.max() < 1 + 1e-9
        said = atoms["frame"](*choice)["says text"]
        assert inside != ("beyond the atoms" in said)
        if inside:
            assert target @ places == pytest.approx(float(moved @ z))
            kept += 1
    assert kept > 15


# Chapter 08
@pytest.fixture(scope="module")
def cloud():
    names = course.load("gradient_cloud")
    lake, theta = names["Lake"](), names["THETA"]
    count = names["DOTS"] * max(names["EPISODES"])
    return names, lake, theta, lake.parts(theta, count, np.random.default_rng(8))


def test_the_gradient_is_that_of_the_theorem(cloud):
    """`sum_s d(s) sum_a pi(a | s) Q(s, a) grad log pi(a | s)`, with visits d."""
    _, lake, theta, _ = cloud
    table = gymnasium.make("FrozenLake-v1").unwrapped.P
    policy = lake.policy(theta)
    value = policy_evaluation(table, policy, gamma=1)
    assert lake.arrives(theta) == pytest.approx(value[0])
    goes_on = np.eye(16)[lake.after] * ~lake.ended[..., None]
    q_value = (lake.reward + goes_on @ value).mean(2)
    chance = np.einsum("sa,sakt->st", policy, goes_on) / 3
    visits = np.linalg.solve(np.eye(16) - chance.T, np.eye(16)[0])
    each = visits[:, None, None] * (policy * q_value)[..., None] * lake.scores(theta)
    assert each.sum((0, 1)) == pytest.approx(lake.gradient(theta), abs=1e-6)


@pytest.mark.parametrize("baseline", [-1.0, 0.5])
def test_no_baseline_moves_the_mean_of_a_cloud(cloud, baseline):
    _, lake, theta, (weighed, plain) = cloud
    each = weighed - baseline * plain
    error = each.std(0) / len(each) ** 0.5
    assert (abs(each.mean(0) - lake.gradient(theta)) < 4 * error).all()


# Chapter 10
@pytest.fixture(scope="module")
def steps():
    names = course.load("ppo_steps")
    data, found = names["played"]()
    return names, data, found


def test_the_gradient_ends_only_where_leaving_the_interval_pays():
    names = course.load("ppo_clip")
    good, bad = names["PANELS"]
    ratio = np.array(names["RATIOS"])
    for epsilon in names["EPSILONS"]:
        asked = [names["surrogate"](names["RATIOS"], epsilon, p) for p in (good, bad)]
        (up, rises), (down, falls) = map(np.array, asked)
        assert up == pytest.approx(np.minimum(ratio, 1 + epsilon))
        assert down == pytest.approx(-np.maximum(ratio, 1 - epsilon))
        assert (rises == (ratio < 1 + epsilon + 1e-9)).all()
        assert (-falls == (ratio > 1 - epsilon - 1e-9)).all()


def test_every_transition_has_a_dot_and_begins_at_a_ratio_of_one(steps):
    names, data, found = steps
    assert names["grouped"](data).total() == len(data.action)
    for moments in found.values():
        assert moments[0].ratio == pytest.approx(1)


# Chapter 11
@pytest.fixture(scope="module")
def peak():
    names = course.load("false_peak")
    critics = names["Critics"]()
    return names, critics, names["climb"](critics)


def test_the_actor_follows_the_deterministic_policy_gradient(peak):
    """Theta moves by the derivative of `Q_1(tanh(theta))`."""
    names, critics, path = peak

    def value(theta):
        return names["one"](critics, np.tanh(theta))

    for step in (0, 7):
        theta = np.arctanh(path[step])
        slope = (value(theta + 1e-5) - value(theta - 1e-5)) / 2e-5
        moved = np.tanh(theta + names["RATE"] * slope)
        assert path[step + 1] == pytest.approx(moved, abs=1e-5)


def test_targets_are_those_of_td3_on_average(peak):
    """Its noise is drawn; the figure's are equally likely pieces of the same."""
    names, critics, path = peak
    action = torch.from_numpy(np.tile(path[-1][:, None], 100)).flatten()

    def value(obs, asked):
        values = critics.value(asked.reshape(len(path[-1]), -1).numpy())
        return torch.from_numpy(values).movedim(1, 0).flatten(1)

    algorithm = td3.Algorithm.__new__(td3.Algorithm)
    algorithm.target_model = SimpleNamespace(action=lambda obs: action, value=value)
    algorithm.config = td3.Config()
    torch.manual_seed(11)
    said = algorithm.target_value(TensorDict({"next_obs": action}, action.shape))
    shown = names["smoothed"](critics, path[-1])
    off = said.reshape(len(shown), -1).mean(1).numpy() - shown
    assert abs(off.mean()) < 0.003
    assert off.std() < 0.04


# Chapter 13
@pytest.fixture(scope="module")
def moments():
    return course.load("carts_at_once")["played"]()


def test_every_cart_is_drawn_where_it_stands(moments):
    names = course.load("carts_at_once")
    figure = names["figure"]()
    assert len(figure["frames"]) == len(names["SHOWN"])
    ends = [int(moment.ended.sum()) for moment in moments]
    for step, frame in zip(names["SHOWN"], figure["frames"], strict=True):
        on, fresh, final, _, said = frame
        ended = ends[step]
        counts = [strokes.count("z") for strokes in (on, fresh, final)]
        assert counts == [1024 - ended, ended, ended]
        assert f"Step {step}: {ended} of 1 024 episodes" in said


def test_a_pole_is_red_where_it_fell_and_blue_where_it_began(moments):
    limit = 12 * np.pi / 180
    for moment in moments[1:]:
        lean, final = (abs(x.numpy()) for x in (moment.lean, moment.final))
        ended = moment.ended.numpy()
        assert lean[ended].max(initial=0) <= 0.05 + 1e-6
        assert final[ended].min(initial=limit) >= limit
        assert (lean[~ended] == final[~ended]).all()


# Chapter 15
def ten_lines(chapter):
    """What the lines of NumPy on a chapter's page define."""
    page = next((DOCS / "course").glob(f"{chapter}-*.md")).read_text("utf-8")
    block = re.search(r"^```python\n(import numpy.*?)^```", page, re.M | re.S)
    assert block is not None
    names: dict[str, Any] = {}
    exec(block[1], names)
    return names


@pytest.fixture(scope="module")
def timeline():
    return course.load("side_by_side")


@pytest.fixture(scope="module")
def recurrence():
    return ten_lines(15)["side_by_side"]


def played(timeline, kind, most):
    return timeline["side_by_side"](timeline["WORKS"][kind], most)


@pytest.mark.parametrize("kind", ["1 : 3", "uneven"])
@pytest.mark.parametrize("most", [0, 1, 5])
def test_the_collector_waits_as_the_ten_lines_say(timeline, recurrence, kind, most):
    """Two ways to one timeline: tick by tick, and a recurrence."""
    step, learn = timeline["WORKS"][kind]
    collect = [timeline["ROWS"] * ticks for ticks in step]
    ends, lags = recurrence(collect, learn, most)
    learned = played(timeline, kind, most).learned
    assert [piece.end for piece in learned] == list(ends[: len(learned)])
    assert [piece.number for piece in learned] == list(lags[: len(learned)])


@pytest.mark.parametrize("kind", ["1 : 3", "uneven"])
def test_a_bound_of_0_is_collecting_in_turn(timeline, kind):
    turn, beside = (
        timeline["in_turn"](timeline["WORKS"][kind]),
        played(timeline, kind, 0),
    )
    count = len(beside.learned)
    assert beside.learned == turn.learned[:count]
    assert beside.collected[:count] == turn.collected[:count]


# Chapter 16
def test_the_listener_is_drawn_by_the_ten_lines_of_the_page():
    page, listener = ten_lines(16), course.load("two_sentences")
    shown = [column[:256] for column in listener["demonstrated"]()]
    both = []
    for names in (page, listener):
        meaning = np.zeros((12, 7))
        for _ in range(3):
            names["clone"](meaning, *shown)
        both.append(meaning)
    assert np.abs(both[0]).max() > 0.1
    assert both[0] == pytest.approx(both[1])


# Chapter 18
@pytest.fixture(scope="module")
def answers():
    return course.load("answers_compared")


def pushed(answers, right, name):
    return answers["group"](right, answers["ALGORITHMS"][name])


def test_three_right_answers_are_pushed_as_the_page_says(answers):
    """Mean 3/8, standard deviation sqrt(15)/8: 5 / sqrt(15) and -3 / sqrt(15)."""
    words, advantage, push = pushed(answers, 3, "GRPO")
    good, bad = 5 / 15**0.5, -3 / 15**0.5
    assert advantage.tolist() == pytest.approx([good] * 3 + [bad] * 5, abs=1e-5)
    assert push.sum(1).tolist() == pytest.approx(advantage.tolist(), abs=1e-5)
    long, short = (push[words.index(word), 0] for word in (list("4222"), ["end"]))
    assert long == pytest.approx(short / 4)


def test_the_others_are_compared_by_leave_one_out(answers):
    _, advantage, _ = pushed(answers, 3, "RLOO")
    assert advantage.tolist() == pytest.approx([5 / 7] * 3 + [-3 / 7] * 5)


# Chapter 20
def test_the_exercises_errors_are_those_of_the_library():
    torch.manual_seed(20)
    world = EnsembleModel(Box(-9, 9, (3,)), Box(-1, 1, (2,)), hidden_sizes=(8,)).eval()
    obs, next_obs = torch.randn(2, 5, 6, 3)
    row = {"obs": obs, "action": torch.rand(5, 6, 2), "next_obs": next_obs}
    goes_on = torch.zeros(5, 6, dtype=torch.bool)
    row |= {"terminated": goes_on, "truncated": goes_on}
    scale = obs.flatten(0, 1).std(0, correction=0)
    mine = solution.k_step_errors(
        lambda state, action: world.predict(state, action).next_obs,
        obs,
        row["action"],
        next_obs,
        scale,
    )
    assert torch.allclose(mine, k_step_errors(world, TensorDict(row, [5, 6])))
