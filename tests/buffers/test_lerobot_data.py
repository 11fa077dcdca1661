"""LeRobot's format, version 3: several episodes in one table and in one video."""

import io
import json
import sys

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from PIL import Image

from yieldrl.buffers import read_dataset
from yieldrl.buffers.lerobot_data import video_frames
from yieldrl.core.text import decode

av = pytest.importorskip("av", reason="LeRobot's videos need av")
pa = pytest.importorskip("pyarrow", reason="LeRobot's tables need pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="so do its files")

FPS, SIZE = 10, 16
LENGTHS = (3, 5, 2, 4)
TASKS = ["push it", "pull it gently"]
ENDS = (True, False, True, True)  # which of the episodes succeed
FILES = (0, 0, 1, 1)  # the file that each is in
VIDEO, IMAGE = "observation.images.top", "observation.images.wrist"


def frames(seed):
    """All pictures `[T, H, W, 3]`; a video is exact to its codec's rounding."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (sum(LENGTHS), SIZE, SIZE, 3), np.uint8)


def write_video(path, pictures, codec="libx264rgb"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=FPS, options={"crf": "0", "g": "2"})
        stream.width = stream.height = SIZE
        stream.pix_fmt = "rgb24" if codec == "libx264rgb" else "yuv420p"
        for picture in pictures:
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def png(picture):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


def table(path, columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)


def features():
    number = {"dtype": "int64", "shape": [1]}
    return {
        "observation.state": {"dtype": "float32", "shape": [2]},
        VIDEO: {"dtype": "video", "shape": [SIZE, SIZE, 3]},
        IMAGE: {"dtype": "image", "shape": [3, SIZE, SIZE]},
        "action": {"dtype": "float32", "shape": [2]},
        "next.reward": {"dtype": "float32", "shape": [1]},
        "next.success": {"dtype": "bool", "shape": [1]},
        **dict.fromkeys(("episode_index", "task_index"), number),
    }


def write(folder, info=()):
    """A data set, and its columns; `info` changes what it says of itself."""
    total, starts = sum(LENGTHS), np.cumsum((0, *LENGTHS))
    rng = np.random.default_rng(0)
    columns = {
        "observation.state": rng.normal(size=(total, 2)).astype(np.float32),
        "action": rng.normal(size=(total, 2)).astype(np.float32),
        "next.reward": rng.normal(size=total).astype(np.float32),
        "next.success": np.zeros(total, bool),
        "episode_index": np.repeat(range(4), LENGTHS),
        "task_index": np.repeat([0, 1, 1, 0], LENGTHS),
    }
    columns["next.success"][starts[1:] - 1] = ENDS
    stills = [png(picture) for picture in frames(2)]
    rows = []
    for k, (length, at) in enumerate(zip(LENGTHS, FILES, strict=True)):
        first = starts[FILES.index(at)]
        row = {"episode_index": k, "length": length, "tasks": [TASKS[0]]}
        for kind in ("data", f"videos/{VIDEO}"):
            row |= {f"{kind}/chunk_index": 0, f"{kind}/file_index": at}
        row[f"videos/{VIDEO}/from_timestamp"] = float(starts[k] - first) / FPS
        rows.append(row | {"stats/action/min": [0.0]})
    for at in (0, 1):
        here = np.isin(columns["episode_index"], np.flatnonzero(np.array(FILES) == at))
        part = {name: list(values[here]) for name, values in columns.items()}
        part[IMAGE] = [stills[k] for k in np.flatnonzero(here)]
        table(folder / f"data/chunk-000/file-00{at}.parquet", part)
        video = folder / f"videos/{VIDEO}/chunk-000/file-00{at}.mp4"
        write_video(video, frames(1)[here])
    episodes = {name: [row[name] for row in rows] for name in rows[0]}
    table(folder / "meta/episodes/chunk-000/file-000.parquet", episodes)
    task = {"task_index": [0, 1], "__index_level_0__": TASKS}
    table(folder / "meta/tasks.parquet", task)
    said = {
        "codebase_version": "v3.0",
        "fps": FPS,
        "features": features(),
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}"
        "/file-{file_index:03d}.mp4",
        **dict(info),
    }
    (folder / "meta/info.json").write_text(json.dumps(said))
    return columns


def test_what_is_written_is_read(tmp_path):
    columns = write(tmp_path)
    data = read_dataset(tmp_path)
    shown = data.observation_space
    assert shown["rgb"]["top"] == Box(0, 255, (SIZE, SIZE, 3), np.uint8)
    assert shown["rgb"]["wrist"].shape == (SIZE, SIZE, 3)
    episodes = list(data.episodes())
    assert [len(e) for e in episodes] == [3, 4, 2, 4]  # one was cut
    start = 0
    told = zip(LENGTHS, ENDS, (0, 1, 1, 0), episodes, strict=True)
    for length, ends, task, episode in told:
        here = slice(start, start + len(episode))
        for name, key in (("action", "action"), ("reward", "next.reward")):
            assert torch.equal(episode[name], torch.from_numpy(columns[key][here]))
        state = torch.from_numpy(columns["observation.state"][here])
        assert torch.equal(episode["obs", "proprio"], state)
        top, wrist = (torch.from_numpy(frames(seed)[here]) for seed in (1, 2))
        assert torch.equal(episode["obs", "rgb", "top"], top)
        assert torch.equal(episode["obs", "rgb", "wrist"], wrist)
        assert decode(episode["obs", "language"]) == [TASKS[task]] * len(episode)
        assert bool(episode["terminated"][-1]) == ends
        assert bool(episode["truncated"][-1]) != ends
        start += length
    last = torch.from_numpy(frames(1)[7])  # of the episode that was cut
    assert torch.equal(episodes[1]["next_obs", "rgb", "top"][-1], last)


def test_a_codec_that_rounds(tmp_path):
    """H.264 of smooth pictures, in which colours are kept at half of the size."""
    ramp = np.arange(SIZE, dtype=np.uint8)[None, :, None] * np.uint8(10)
    smooth = np.broadcast_to(ramp, (4, SIZE, SIZE, 3)).copy()
    smooth[2] += 50
    write_video(tmp_path / "x.mp4", smooth, "libx264")
    seen = video_frames(tmp_path / "x.mp4", 1 / FPS, 3, FPS)
    assert np.abs(seen.astype(int) - smooth[1:].astype(int)).max() <= 6


def test_without_rewards_or_ends(tmp_path):
    fewer = {k: f for k, f in features().items() if not k.startswith("next.")}
    write(tmp_path, info={"features": fewer})
    data = read_dataset(tmp_path)
    assert len(data) == sum(LENGTHS) - 4
    assert not data.rollout()["terminated"].any()
    assert not data.rollout()["reward"].any()


DATA = "data/chunk-000/file-001.parquet"
FILM = f"videos/{VIDEO}/chunk-000/file-001.mp4"
TABLES = ("meta/tasks.parquet", "meta/episodes")


def test_what_is_missing_or_too_short_is_named(tmp_path, monkeypatch):
    write(tmp_path)
    for package in ("pyarrow.parquet", "av"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(ImportError, match=r"'yieldrl\[demonstrations\]'"):
                read_dataset(tmp_path)
    for file in (FILM, *TABLES):
        (tmp_path / file).rename(tmp_path / "away")
        with pytest.raises(FileNotFoundError, match="not fetched whole"):
            read_dataset(tmp_path)
        (tmp_path / "away").rename(tmp_path / file)
    write_video(tmp_path / FILM, frames(1)[:5])
    with pytest.raises(ValueError, match=r"no picture 0\.500 s after"):
        read_dataset(tmp_path)
    shorter = parquet.read_table(tmp_path / DATA).slice(0, 4)
    parquet.write_table(shorter, tmp_path / DATA)
    with pytest.raises(ValueError, match="has 2 steps of episode 3, and 4 are"):
        read_dataset(tmp_path)


def test_other_versions_are_refused(tmp_path):
    write(tmp_path / "old", info={"codebase_version": "v2.1"})
    with pytest.raises(ValueError, match=r"v2\.1.*convert_dataset_v21_to_v30"):
        read_dataset(tmp_path / "old")


def test_a_gripper_of_zero_and_one_is_refused(tmp_path):
    """As data sets of OpenVLA's become, where the environment opens at -1."""
    acted, names = Box(-1, 1, (7,), np.float32), ["x"] * 6 + ["gripper"]
    action = {"dtype": "float32", "shape": [7], "names": {"motors": names}}
    write(tmp_path, info={"features": {**features(), "action": action}})
    actions = np.zeros((sum(LENGTHS), 7), np.float32)
    for lowest in (0.0, -1.0):
        actions[5, -1] = lowest
        for at, here in ((0, slice(8)), (1, slice(8, None))):
            file = tmp_path / f"data/chunk-000/file-00{at}.parquet"
            columns = parquet.read_table(file).to_pydict()
            columns["action"] = list(actions[here])
            parquet.write_table(pa.table(columns), file)
        if lowest == 0:
            with pytest.raises(ValueError, match=r"opens at -1: write 1 - 2 x"):
                read_dataset(tmp_path, None, acted)
    assert read_dataset(tmp_path, None, acted).full
