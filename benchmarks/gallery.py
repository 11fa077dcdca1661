"""Train the agents of `docs/gallery.md` and film the first episode of each's
evaluation.

Beside a film lie a still picture, for readers who asked for less motion, and a file
that says how well the agent plays in all episodes, trained and untrained.
"""

import dataclasses
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from yieldrl.loggers import record_video
from yieldrl.loggers.files import write_atomically

from .demos import SEED, SITE, mean_return, trainer_of

FOLDER = Path(__file__).parents[1] / "docs" / "assets" / "gallery"


class Film(NamedTuple):
    """What is trained, and how much of an episode is shown: `steps` of it, at `fps`
    frames a second (the environment's), `width` pixels wide. So many `episodes` judge
    the agent."""

    algorithm: str
    fields: dict[str, Any]
    tuned: str | None = None
    steps: int | None = None
    fps: float | None = None
    width: int | None = None
    episodes: int = 100


FILMS = {name: Film(**fields) for name, fields in SITE["films"].items()}

make_trainer = trainer_of


def shoot(name: str, seed: int = 1, folder: Path = FOLDER) -> Iterator[Path]:
    film = FILMS[name]
    with make_trainer(film, seed) as trainer:
        before = mean_return(trainer, film.episodes)
        for _ in trainer():
            pass
        notes = {
            "algorithm": film.algorithm,
            "env_id": trainer.config.env_id,
            "sample_step": trainer.agent.sample_step,
            "episode_return": mean_return(trainer, film.episodes),
            "untrained_return": before,
            "episodes": film.episodes,
            "seed": seed,
            "command": f"python -m benchmarks gallery {name} --seed {seed}",
        }
        path = _record(trainer, film, folder / f"{name}.mp4")
    if film.width is not None:
        narrow(path, film.width)
    yield path
    yield still(path)
    described = path.with_suffix(".json")
    write_atomically(described, json.dumps(notes, indent=1) + "\n")
    yield described


def _record(trainer: Any, film: Film, path: Path) -> Path:
    """The first episode of an evaluation, or as much of it as is shown."""
    if film.steps is None:
        return record_video(trainer, path, seed=SEED, fps=film.fps)
    config = trainer.config
    kwargs = {**config.env_kwargs, "max_episode_steps": film.steps}
    shorter = dataclasses.replace(config, env_kwargs=kwargs)
    with type(trainer)(shorter, model=trainer.model) as shown:
        return record_video(shown, path, seed=SEED, fps=film.fps)


def narrow(path: Path, width: int) -> None:
    """Make a film narrower, and as much lower."""
    part = path.with_suffix(".part.mp4")
    codec = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "28"]
    _ffmpeg(path, ["-vf", f"scale={width}:-2", *codec], part)
    part.replace(path)


def still(path: Path) -> Path:
    """A picture of the most typical frame of a film, by ffmpeg's histograms."""
    from PIL import Image

    still = path.with_suffix(".png")
    _ffmpeg(path, ["-vf", "thumbnail=1000", "-frames:v", "1"], still)
    with Image.open(still) as picture:
        small = picture.quantize(64)
    small.save(still, optimize=True)
    return still


def _ffmpeg(path: Path, options: list[str], out: Path) -> None:
    from imageio_ffmpeg import get_ffmpeg_exe

    words = ["-v", "error", "-y", "-i", str(path), *options, str(out)]
    subprocess.run([get_ffmpeg_exe(), *words], check=True)
