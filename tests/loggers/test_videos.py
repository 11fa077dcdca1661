"""Videos: every frame of whole episodes, read back from the file."""

import re
import subprocess
import types

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from yieldrl import envs as environments
from yieldrl import loggers
from yieldrl.core import Config
from yieldrl.envs.wrappers.base import BatchWrapper
from yieldrl.loggers import record_video, videos
from yieldrl.loggers.files import WriteError

NEEDED = "videos need imageio-ffmpeg"
imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason=NEEDED)

LENGTH = 6


class Brightening(gym.Env):
    """Each step is 40 grey levels brighter than the last, up to step LENGTH."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    observation_space = Box(0, 255, (1,), np.float32)
    action_space = Discrete(2)
    seeds = ()

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.step_number = 0

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.seeds.append(seed)
        self.step_number = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert action == 1
        self.step_number += 1
        ended = self.step_number == LENGTH
        return np.zeros(1, np.float32), 1.0, ended, False, {}

    def render(self):
        return np.full((33, 64, 3), 40 * self.step_number, np.uint8)


@pytest.fixture
def film(make_trainer):
    """A trainer whose environment can be filmed."""
    trainer = make_trainer()
    trainer.config = Config(total_steps=100, eval_every=0)
    Brightening.seeds = []
    trainer.evaluator.source = Brightening
    trainer.agent = types.SimpleNamespace(sample_step=0, learn_step=0, device="cpu")
    trainer.agent.predict = lambda obs: np.ones(len(obs), np.int64)
    return trainer


def frames(path):
    """What ffmpeg says about the file, and the brightness of each frame in steps."""
    ffmpeg = imageio_ffmpeg.get_ffmpeg_exe()
    to_grey = ["-f", "rawvideo", "-pix_fmt", "gray", "-"]
    done = subprocess.run([ffmpeg, "-i", path, *to_grey], capture_output=True)
    pixels = np.frombuffer(done.stdout, np.uint8).reshape(-1, 32 * 64)
    return done.stderr.decode(), [round(x / 40) for x in pixels.mean(1)]


@pytest.mark.parametrize("wrap", [lambda envs: envs, BatchWrapper])
def test_a_video_holds_the_last_frame(film, tmp_path, wrap):
    film.wrap_envs = lambda envs, training: wrap(envs)
    path = record_video(film, tmp_path / "new" / "film.mp4", episodes=2, seed=7)
    meta, steps = frames(path)
    assert steps == [*range(LENGTH + 1), *range(LENGTH + 1)]
    assert re.search(r"Video: h264 .* yuv420p.*, 64x32, .* 10 fps", meta)
    assert Brightening.seeds == [7, 8]
    assert list(path.parent.iterdir()) == [path]
    assert film.agent.sample_step == 0


def test_tensor_environments(film, tmp_path):
    class Dimming(environments.TorchVectorEnv):
        """Its brightness is its state, which grows with each step."""

        metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
        single_observation_space = Box(0, LENGTH, (1,), np.float32)
        single_action_space = Discrete(2)
        noise_size = 1

        def initial_state(self, noise):
            return noise * 0

        def dynamics(self, state, action):
            return state + action, state[0], state[0] + action >= LENGTH

        def draw(self, state, index):
            return np.full((32, 64, 3), 40 * float(state[0]), np.uint8)

    film.evaluator.source = Dimming()
    film.agent.predict = lambda obs: torch.ones(len(obs), dtype=torch.int64)
    meta, steps = frames(record_video(film, tmp_path / "film.mp4", episodes=2))
    assert steps == [*range(LENGTH + 1), *range(LENGTH + 1)]
    assert ", 30 fps" in meta


def test_an_agent_with_memory_begins_each_episode_anew(film, tmp_path):
    begun = []
    film.agent.has_memory = True
    film.agent.begin_episode = lambda: begun.append(Brightening.seeds[-1])
    record_video(film, tmp_path / "film.mp4", episodes=2, seed=7)
    assert begun == [7, 8]
    with pytest.raises(ValueError, match=r"a video's name ends in \.mp4"):
        record_video(film, tmp_path / "film.gif")


def test_a_broken_recording_leaves_no_file(film, tmp_path):
    def actions():
        yield np.ones(1, np.int64)
        raise KeyboardInterrupt

    given = actions()
    film.agent.predict = lambda _: next(given)
    path = tmp_path / "films" / "film.mp4"
    with pytest.raises(KeyboardInterrupt):
        record_video(film, path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("at", "picture", "said"),
    [
        (0, None, r"of shape \(\).*: it must support"),
        (0, np.zeros((32, 64, 3)), r"needs \(height, width, 3\) and uint8"),
        (3, np.zeros((48, 64, 3), np.uint8), r"frame 4 of the video is \(48, 64, 3\)"),
        (1, RuntimeError("no OpenGL"), r"here: no OpenGL.*MUJOCO_GL"),
    ],
)
def test_pictures_that_are_none_are_refused_and_leave_no_file(
    film, tmp_path, at, picture, said
):
    class Odd(Brightening):
        def render(self):
            if isinstance(picture, Exception) and self.step_number == at:
                raise picture
            return picture if self.step_number == at else super().render()

    film.evaluator.source = Odd
    with pytest.raises(ValueError, match=said):
        record_video(film, tmp_path / "films" / "film.mp4")
    assert not list(tmp_path.glob("films/*"))


@pytest.mark.parametrize("size", [0, 1000])
def test_without_room_there_is_no_film(film, tmp_path, small_disk, size):
    said = r"film\.mp4: could not be written"
    with pytest.raises(WriteError, match=said), small_disk(size):
        record_video(film, tmp_path / "films" / "film.mp4")
    assert not list(tmp_path.glob("films/*"))


def test_it_films_at_multiples_and_at_the_end(film):
    folder, seen = film.run.folder / "videos", []
    for _ in loggers.video()(film)():
        break
    assert not folder.exists()  # it was left
    for log in loggers.video(every=40)(film)():
        if log["sample_step"] >= 40 and not seen:
            seen = [path.name for path in folder.iterdir()]
    assert seen == ["step_000000040.mp4"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "step_000000040.mp4",
        "step_000000080.mp4",
        "step_000000100.mp4",
    ]
    episodes = len(Brightening.seeds)
    list(loggers.video()(film)())  # nothing has happened since
    assert len(Brightening.seeds) == episodes


def test_in_a_notebook_it_is_shown(film, monkeypatch):
    display = pytest.importorskip("IPython.display", reason="notebooks need IPython")
    shown = []
    monkeypatch.setattr(display, "display", shown.append)
    monkeypatch.setattr(videos, "in_notebook", lambda: True)
    list(loggers.video(every=0)(film)())
    [one] = shown
    path = film.run.folder / "videos" / "step_000000100.mp4"
    assert (one.filename, one.embed) == (str(path), True)
