"""The rollout buffer: every transition comes once an epoch, wherever it is saved."""

import io

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yieldrl.buffers import RolloutBuffer

FEW = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
VECTOR = Box(-np.inf, np.inf, (2,))
NESTED = Dict(
    camera=Box(0, 255, (3, 6, 6), np.uint8), body=Dict(joints=VECTOR, grip=Discrete(3))
)


def buffer_of(steps=4, num_envs=3, minibatches=2, seed=0, space=VECTOR, epochs=3):
    return RolloutBuffer(
        steps,
        space,
        Discrete(2),
        num_envs=num_envs,
        num_epochs=epochs,
        num_minibatches=minibatches,
        seed=seed,
    )


def numbers(row, num_envs):
    """Every transition has a number of its own."""
    return (row * num_envs + np.arange(num_envs)).astype(np.float32)


def transition(row, num_envs, **extras):
    number = numbers(row, num_envs)
    return {
        "obs": np.stack([number, -number], axis=1),
        "next_obs": np.stack([number + 1, -number], axis=1),
        "action": (number % 2).astype(np.int64),
        "reward": number.astype(np.float64),
        "terminated": number % 3 == 0,
        "truncated": number % 5 == 0,
        **extras,
    }


def fill(buffer, first=0, **extras):
    for row in range(first, first + buffer.num_steps - len(buffer)):
        buffer.add(transition(row, buffer.num_envs, **extras))


def draw(buffer):
    """The minibatch that is due, counted as learned from."""
    batch = buffer.minibatch()
    buffer.advance()
    return batch


def epoch(buffer):
    """One epoch's minibatches."""
    return [draw(buffer) for _ in range(buffer.num_minibatches)]


def ready(**arguments):
    buffer = buffer_of(**arguments)
    fill(buffer)
    buffer.prepare(buffer.rollout())
    return buffer


def orders(buffer, epochs):
    return [
        torch.cat([b["reward"] for b in epoch(buffer)]).tolist() for _ in range(epochs)
    ]


@FEW
@given(
    steps=st.integers(1, 9),
    num_envs=st.integers(1, 4),
    minibatches=st.integers(1, 7),
    drop=st.sampled_from([0.0, 0.4]),
    seed=st.integers(0, 100),
)
def test_every_transition_is_drawn_once_an_epoch(
    steps, num_envs, minibatches, drop, seed
):
    minibatches = min(minibatches, steps * num_envs)
    buffer = buffer_of(steps, num_envs, minibatches, seed)
    valid = np.random.default_rng(seed).random((steps, num_envs)) >= drop
    valid.flat[:minibatches] = True
    for row in range(steps):
        extras = {"valid": valid[row]} if drop else {}
        buffer.add(transition(row, num_envs, **extras))
    buffer.prepare(buffer.rollout())
    expected = np.arange(steps * num_envs)[valid.flatten()].tolist()
    for _ in range(3):
        assert not buffer.exhausted
        batches = epoch(buffer)
        drawn = torch.cat([batch["reward"] for batch in batches])
        assert sorted(drawn.tolist()) == expected
        sizes = [len(batch) for batch in batches]
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= 1
    assert buffer.exhausted


def test_the_entries_of_a_transition_stay_together():
    buffer = ready(steps=5, num_envs=3, minibatches=4)
    for batch in epoch(buffer):
        number = batch["reward"]
        assert torch.equal(batch["obs"], torch.stack([number, -number], 1))
        assert torch.equal(batch["next_obs"], torch.stack([number + 1, -number], 1))
        assert torch.equal(batch["action"], number.long() % 2)
        assert torch.equal(batch["terminated"], number.long() % 3 == 0)
        assert torch.equal(batch["truncated"], number.long() % 5 == 0)


def test_what_prepare_adds_stays_with_its_transition():
    buffer = buffer_of()
    fill(buffer)
    rollout = buffer.rollout()
    rollout["advantage"] = rollout["reward"] * 10
    buffer.prepare(rollout.select("reward", "advantage"))
    for batch in epoch(buffer):
        assert set(batch.keys()) == {"reward", "advantage"}
        assert torch.equal(batch["advantage"], batch["reward"] * 10)


def test_order_differs_by_epoch_and_by_seed():
    one = orders(ready(steps=8, minibatches=3, seed=1), 3)
    again = orders(ready(steps=8, minibatches=3, seed=1), 3)
    other = orders(ready(steps=8, minibatches=3, seed=2), 3)
    assert one == again
    assert len({tuple(order) for order in one + other}) == 6


def test_order_does_not_depend_on_the_global_generator():
    torch.manual_seed(1)
    one = orders(ready(), 1)
    torch.manual_seed(2)
    assert orders(ready(), 1) == one


def test_add_to_a_full_buffer_is_refused():
    buffer = buffer_of()
    assert (len(buffer), buffer.full) == (0, False)
    fill(buffer)
    assert (len(buffer), buffer.full) == (4, True)
    with pytest.raises(RuntimeError, match=r"full.*clear"):
        buffer.add(transition(4, 3))


def test_minibatch_wants_prepare_first():
    buffer = buffer_of()
    with pytest.raises(RuntimeError, match="prepare"):
        buffer.minibatch()
    fill(buffer)
    assert not buffer.prepared
    with pytest.raises(RuntimeError, match="prepare"):
        buffer.minibatch()
    buffer.prepare(buffer.rollout())
    assert buffer.prepared


def test_more_minibatches_than_transitions_are_refused_at_once():
    """An empty minibatch would be a loss of NaN much later."""
    with pytest.raises(ValueError, match=r"4 transitions.*num_minibatches = 5"):
        buffer_of(steps=2, num_envs=2, minibatches=5)


def test_fewer_valid_transitions_than_minibatches_are_one_minibatch_each():
    options = {"steps": 2, "num_envs": 2, "minibatches": 4, "epochs": 2}
    buffer, other = buffer_of(**options), buffer_of(**options)
    fill(buffer, valid=np.array([True, False]))
    buffer.prepare(buffer.rollout())
    first = draw(buffer)
    other.load_state_dict(buffer.state_dict())
    for one in (buffer, other):
        drawn = [first] + [draw(one) for _ in range(3)]
        assert [len(batch) for batch in drawn] == [1, 1, 1, 1]
        rewards = [batch["reward"].item() for batch in drawn]
        assert set(rewards[:2]) == set(rewards[2:]) == {0, 2}
        assert one.exhausted


def test_a_rollout_of_resets_alone_is_exhausted_at_once():
    buffer = buffer_of(steps=2, num_envs=2, minibatches=2)
    fill(buffer, valid=np.array([False, False]))
    buffer.prepare(buffer.rollout())
    assert buffer.exhausted


def test_clear_makes_room_and_forgets():
    buffer = ready()
    buffer.minibatch()
    buffer.clear()
    assert (len(buffer), buffer.exhausted, buffer.prepared) == (0, False, False)
    with pytest.raises(RuntimeError, match="prepare"):
        buffer.minibatch()
    fill(buffer, first=100)
    buffer.prepare(buffer.rollout())
    drawn = torch.cat([batch["reward"] for batch in epoch(buffer)])
    assert drawn.min() == 300


def test_minibatches_outlive_the_rollout():
    buffer = ready()
    batch = buffer.minibatch()
    before = batch.clone()
    buffer.clear()
    fill(buffer, first=50)
    assert (batch == before).all()


def test_rollout_shares_the_buffers_memory():
    buffer = buffer_of()
    buffer.add(transition(0, 3))
    rollout = buffer.rollout()
    assert rollout.batch_size == (1, 3)
    rollout["reward"][0] = 99
    assert buffer.rollout()["reward"].tolist() == [[99, 99, 99]]


def test_memory_is_taken_once():
    buffer = buffer_of()
    fill(buffer)
    place = buffer.rollout()["obs"].data_ptr()
    buffer.clear()
    fill(buffer)
    assert buffer.rollout()["obs"].data_ptr() == place


def test_nested_observations_and_bytes():
    buffer = buffer_of(steps=2, num_envs=2, space=NESTED)
    for row in range(2):
        number = numbers(row, 2)
        obs = {
            "camera": np.full((2, 3, 6, 6), row, np.uint8),
            "body": {
                "joints": np.stack([number, number], 1),
                "grip": np.array([0, 2]),
            },
        }
        buffer.add({**transition(row, 2), "obs": obs, "next_obs": obs})
    rollout = buffer.rollout()
    assert rollout["obs", "camera"].shape == (2, 2, 3, 6, 6)
    buffer.prepare(rollout)
    for batch in epoch(buffer):
        assert batch["obs", "camera"].dtype == torch.uint8
        assert batch["obs", "body", "grip"].dtype == torch.int64
        number = batch["reward"]
        assert torch.equal(batch["obs", "body", "joints"][:, 0], number)
        assert torch.equal(batch["obs", "camera"][:, 0, 0, 0].float(), number // 2)


def test_extras_are_kept_and_may_replace_what_the_environment_got():
    buffer = buffer_of(steps=1, num_envs=2)
    plain = transition(0, 2)
    extras = {"log_prob": torch.tensor([-1.0, -2.0]), "action": torch.tensor([1, 1])}
    buffer.add({**plain, **extras})
    rollout = buffer.rollout()
    assert rollout["log_prob"].tolist() == [[-1, -2]]
    assert rollout["action"].tolist() == [[1, 1]]


# ------------------------------------------------------------------------- checkpoints


def saved_and_loaded(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def script(steps, minibatches, nested, valid):
    """Two rollouts, two epochs each, as functions of a buffer."""

    def add(row):
        def act(buffer):
            data = transition(row, 3, log_prob=torch.from_numpy(numbers(row, 3)))
            if valid:
                data["valid"] = numbers(row, 3) % 4 != 0
            if nested:
                camera = np.full((3, 3, 6, 6), row, np.uint8)
                body = {"joints": data["obs"], "grip": np.array([0, 1, 2])}
                data["obs"] = data["next_obs"] = {"camera": camera, "body": body}
            buffer.add(data)

        return act

    def prepare(buffer):
        rollout = buffer.rollout()
        rollout["advantage"] = rollout["reward"] * 2
        buffer.prepare(rollout)

    def clear(buffer):
        buffer.clear()

    acts = []
    for rollout in range(2):
        acts += [add(rollout * steps + row) for row in range(steps)]
        acts += [prepare, *[draw] * (2 * minibatches), clear]
    return acts


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("valid", [False, True])
def test_goes_on_bitwise_wherever_it_was_saved(nested, valid):
    steps, minibatches = 3, 2
    space = NESTED if nested else VECTOR
    acts = script(steps, minibatches, nested, valid)
    for cut in range(len(acts) + 1):
        one = buffer_of(steps, 3, minibatches, seed=7, space=space)
        another = buffer_of(steps, 3, minibatches, seed=8, space=space)
        for act in acts[:cut]:
            act(one)
        another.load_state_dict(saved_and_loaded(one.state_dict()))
        assert len(another) == len(one)
        assert (another.full, another.prepared) == (one.full, one.prepared)
        assert another.exhausted == one.exhausted
        assert (another.rollout() == one.rollout()).all()
        for act in acts[cut:]:
            expected, got = act(one), act(another)
            if expected is not None:
                assert set(expected.keys()) == set(got.keys())
                assert len(expected) == len(got)
                assert (expected == got).all()


def test_saving_does_not_disturb():
    one, another = ready(minibatches=3), ready(minibatches=3)
    for _ in range(7):
        another.state_dict()
        assert (draw(one) == draw(another)).all()


def test_a_rollout_in_the_buffer_is_replaced_by_the_saved_one():
    state = saved_and_loaded(buffer_of().state_dict())
    buffer = ready()
    draw(buffer)
    buffer.load_state_dict(state)
    assert (len(buffer), buffer.prepared, buffer.exhausted) == (0, False, False)


@pytest.mark.parametrize(
    "other",
    [
        {"num_envs": 2},
        {"steps": 3},
        {"space": Box(-1, 1, (3,))},
        {"space": NESTED},
    ],
)
def test_wrong_shapes_are_refused(other):
    buffer = buffer_of()
    fill(buffer)
    state = saved_and_loaded(buffer.state_dict())
    with pytest.raises(ValueError, match="differs"):
        buffer_of(**other).load_state_dict(state)


@pytest.mark.parametrize("other", [{"steps": 5}, {"minibatches": 3}])
def test_a_rollout_half_learned_from_needs_the_same_schedule(other):
    """Else old advantages would be learned from with a rollout that is not full."""
    buffer = ready()
    draw(buffer)
    state = saved_and_loaded(buffer.state_dict())
    with pytest.raises(ValueError, match=r"num_steps.*num_minibatches"):
        buffer_of(**other).load_state_dict(state)


def test_a_longer_rollout_may_take_over_one_that_is_not_learned_from_yet():
    buffer = buffer_of()
    buffer.add(transition(0, 3))
    longer = buffer_of(steps=6, minibatches=3)
    longer.load_state_dict(saved_and_loaded(buffer.state_dict()))
    fill(longer, first=1)
    longer.prepare(longer.rollout())
    assert sorted(orders(longer, 1)[0]) == list(range(18))


def test_a_part_filled_buffer_saves_only_its_part():
    buffer = buffer_of(steps=10_000)
    buffer.add(transition(0, 3))
    file = io.BytesIO()
    torch.save(buffer.state_dict(), file)
    assert file.tell() < 30_000


# -------------------------------------------------------- what was learned from counts


def test_a_minibatch_is_due_until_it_was_learned_from():
    """Training that stopped within `learn` goes on with the same minibatch."""
    buffer = ready(epochs=2)
    seen = []
    for number in range(4):
        assert not buffer.exhausted
        batch = buffer.minibatch()
        for _ in range(number):
            assert buffer.minibatch() is batch
        seen.append(batch["reward"].tolist())
        buffer.advance()
    assert buffer.exhausted
    assert sorted(seen[0] + seen[1]) == sorted(seen[2] + seen[3]) == list(range(12))
    for use in (buffer.minibatch, buffer.advance):
        with pytest.raises(RuntimeError, match=r"2 epochs.*clear\(\) and collect"):
            use()
    assert buffer.exhausted
    assert buffer.full, "rows stay until clear()"


def test_minibatches_need_not_be_looked_at_to_be_passed_over():
    buffer = ready(epochs=2)
    buffer.advance()
    assert draw(buffer)["reward"].shape == (6,)
    drawn = torch.cat([batch["reward"] for batch in epoch(buffer)])
    assert sorted(drawn.tolist()) == list(range(12))


def test_stop_ends_the_passes():
    buffer = ready(epochs=9)
    draw(buffer)
    assert not buffer.exhausted
    for _ in range(2):
        buffer.stop()
        assert buffer.exhausted
    with pytest.raises(RuntimeError, match=r"stop\(\) was called"):
        buffer.minibatch()
    buffer.clear()
    assert not buffer.exhausted
    fill(buffer)
    buffer.prepare(buffer.rollout())
    assert len(draw(buffer)) == 6


@pytest.mark.parametrize("call", ["minibatch", "advance", "stop"])
def test_passes_want_prepare_first(call):
    buffer = buffer_of()
    fill(buffer)
    with pytest.raises(RuntimeError, match=r"prepare\(rollout\) first"):
        getattr(buffer, call)()
    assert not buffer.exhausted


def test_prepare_again_keeps_place_and_order():
    """Advantages computed anew replace the old ones, and nothing is passed over."""
    one, other = ready(epochs=2), ready(epochs=2)
    assert (draw(one) == draw(other)).all()
    one.prepare(one.rollout())
    rollout = other.rollout()
    rollout["reward"] = rollout["reward"] + 100
    other.prepare(rollout)
    for _ in range(3):
        assert torch.equal(draw(one)["reward"] + 100, draw(other)["reward"])
    assert one.exhausted
    one.prepare(one.rollout())
    assert one.exhausted


def test_another_rollout_is_refused_while_one_is_learned_from():
    buffer = ready()
    expected = buffer.minibatch()
    with pytest.raises(ValueError, match=r"has 12 pieces, got 6: clear\(\)"):
        buffer.prepare(buffer.rollout()[:2])
    assert buffer.minibatch() is expected


@pytest.mark.parametrize("stopped", [True, False])
def test_an_exhausted_rollout_saves_no_rows(stopped):
    buffer = ready(steps=400, num_envs=6)
    draw(buffer)
    before, after = io.BytesIO(), io.BytesIO()
    torch.save(buffer.state_dict(), before)
    if stopped:
        buffer.stop()
    while not buffer.exhausted:
        draw(buffer)
    torch.save(buffer.state_dict(), after)
    assert after.tell() < 20_000 < 80_000 < before.tell()
    other = ready(steps=400, num_envs=6, seed=5)
    other.load_state_dict(saved_and_loaded(buffer.state_dict()))
    assert (len(other), other.prepared, other.exhausted) == (0, False, False)
    buffer.clear()
    for each in (buffer, other):
        fill(each)
        each.prepare(each.rollout())
    assert (draw(buffer) == draw(other)).all()


def test_other_epochs_go_on_where_they_were():
    buffer = ready(epochs=3)
    for _ in range(3):
        draw(buffer)
    state = saved_and_loaded(buffer.state_dict())
    fewer, more = buffer_of(epochs=1), buffer_of(epochs=4)
    fewer.load_state_dict(state)
    more.load_state_dict(state)
    assert fewer.exhausted
    assert (draw(more) == draw(buffer)).all()


@pytest.mark.parametrize("name", ["steps", "epochs", "minibatches"])
def test_numbers_below_one_are_refused(name):
    with pytest.raises(ValueError, match=rf"num_{name} = 0: choose at least 1"):
        buffer_of(**{name: 0})


@pytest.mark.parametrize("saved", [True, False])
def test_rows_of_another_autoreset_mode_are_kept(saved):
    """A checkpoint of NEXT_STEP goes on in SAME_STEP, and the other way round."""
    flags = {"valid": np.array([True, False, True])}
    buffer, other = buffer_of(), buffer_of()
    fill(other, **({} if saved else flags))  # what was there before leaves no trace
    buffer.add(transition(0, 3, **(flags if saved else {})))
    other.load_state_dict(saved_and_loaded(buffer.state_dict()))
    fill(other, first=1, **({} if saved else flags))
    other.prepare(other.rollout())
    kept = set(range(12)) - ({1} if saved else {4, 7, 10})
    assert set(orders(other, 1)[0]) == kept
    other.clear()
    fill(other)
    assert "valid" not in other.rollout().keys()  # noqa: SIM118
