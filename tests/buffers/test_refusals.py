"""What buffers refuse, by whose name, and that nothing is counted of it."""

from functools import partial

import numpy as np
import pytest
from factories import VECTOR, buffer_of, saved_and_loaded, transition
from gymnasium.spaces import Box, Dict, Discrete
from tensordict import TensorDict

from yieldrl.buffers import (
    CircularBuffer,
    Demonstrations,
    EpisodeBuffer,
    EpisodeGroups,
    Minibatches,
    PrioritizedReplayBuffer,
    ReplayBuffer,
    RolloutBuffer,
    StepBuffer,
    transitions,
)

SPACES = VECTOR, Discrete(2)
NESTED = Dict(a=VECTOR)


def replay(rows=4, kind=ReplayBuffer, **options):
    return buffer_of(kind, rows, **{"gamma": 0.9, **options})


def episodes(count=3):
    return EpisodeBuffer(count, *SPACES, num_envs=3)


def ring(steps=2, segments=3):
    return CircularBuffer(steps, *SPACES, num_envs=3, num_segments=segments)


def added(buffer, rows=1, **changes):
    for row in range(rows):
        buffer.add(transition(row, **changes))
    return buffer


def learned(buffer):
    buffer.minibatches = Minibatches(transitions(buffer.rollout()), 2, 2, 0)
    buffer.minibatches.advance()
    return buffer


NONE, ALL = np.zeros(3, bool), np.ones(3, bool)
MISTAKES = {
    "no steps": (lambda: buffer_of(RolloutBuffer, 0), "num_steps = 0"),
    "one segment": (lambda: ring(segments=1), "num_segments = 1"),
    "less than a row": (lambda: ReplayBuffer(2, *SPACES, num_envs=3, gamma=1), "_size"),
    "n too large": (lambda: replay(n_step=5), "n_step = 5"),
    "no n": (lambda: replay(n_step=0), "n_step = 0"),
    "few episodes": (lambda: episodes(2), "num_episodes = 2"),
    "no chunks": (
        lambda: Demonstrations(2, *SPACES, num_envs=1, chunk_length=0),
        "chunk_length = 0",
    ),
    "no epochs": (lambda: Minibatches(TensorDict(), 0, 1, 0), "num_epochs = 0"),
    "no batch": (lambda: added(replay()).sample(0), "batch_size = 0"),
    "no sequence": (lambda: added(replay()).sequences(1, 0), "at least 1"),
    "no groups": (lambda: EpisodeGroups.of(TensorDict(), 2, 1.0), "GroupStarts"),
    "full rollout": (lambda: added(buffer_of(RolloutBuffer), 5), "clear"),
    "full step": (lambda: added(StepBuffer(*SPACES, num_envs=3), 2), "clear"),
    "full episodes": (lambda: added(episodes(), 2, terminated=ALL), "clear"),
    "empty": (lambda: replay().sample(1), "collect first"),
    "empty step": (lambda: StepBuffer(*SPACES, num_envs=3).transitions(), "collect"),
    "empty ring": (lambda: ring().rollout(), "no rollout is whole"),
    "empty sequences": (lambda: replay().sequences(1, 1), "no episode has 1"),
    "resets alone": (lambda: added(replay(), valid=NONE).sample(4), "only resets"),
    "resets with priorities": (
        lambda: added(replay(kind=PrioritizedReplayBuffer), valid=NONE).sample(4),
        "only resets",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(mistake):
    make, said = MISTAKES[mistake]
    with pytest.raises((ValueError, RuntimeError), match=said):
        make()


KINDS = {
    "rollout": partial(buffer_of, RolloutBuffer),
    "replay": replay,
    "step": lambda space=VECTOR, num_envs=3: StepBuffer(
        space, Discrete(2), num_envs=num_envs
    ),
    "episodes": lambda space=VECTOR, num_envs=3: EpisodeBuffer(
        3, space, Discrete(2), num_envs=num_envs
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_does_not_fit_is_not_counted(kind):
    buffer = KINDS[kind]()
    lacking = transition(0)
    del lacking["next_obs" if kind != "episodes" else "obs"]
    wide, broadcast = np.zeros((3, 1), bool), np.zeros(1)
    for name, wrong in (
        ("truncated", transition(0, terminated=ALL, truncated=wide)),
        ("reward", transition(0, terminated=ALL, reward=broadcast)),
        ("lacks", lacking),
    ):
        with pytest.raises(ValueError, match=name):
            buffer.add(wrong)
        assert len(buffer) == 0
    buffer.add(transition(1))
    assert len(buffer) == (3 if kind == "replay" else 1)


@pytest.mark.parametrize("kind", KINDS)
def test_states_of_other_shapes_are_refused(kind):
    state = saved_and_loaded(added(KINDS[kind]()).state_dict())
    for other in ({"num_envs": 2}, {"space": Box(-1, 1, (3,))}, {"space": NESTED}):
        with pytest.raises(ValueError, match=r"differs|not what"):
            KINDS[kind](**other).load_state_dict(state)


def test_a_state_needs_as_much_room():
    full = saved_and_loaded(added(replay(), 4).state_dict())
    with pytest.raises(ValueError, match="differs"):
        replay(2).load_state_dict(full)
    half = saved_and_loaded(learned(added(buffer_of(RolloutBuffer), 4)).state_dict())
    with pytest.raises(ValueError, match=r"num_steps = 5, .* num_steps = 4"):
        buffer_of(RolloutBuffer, 5).load_state_dict(half)
