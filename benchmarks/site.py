"""Policies that play on the site's pages, films, and agents that come along.

`python -m benchmarks demos`, `gallery` and `agents` make what the YAML files list.
"""

import dataclasses
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium

from yieldrl import exports
from yieldrl.algorithms import behavior_cloning
from yieldrl.core.files import read_file
from yieldrl.exports.card import write_evaluated
from yieldrl.loggers import record_video
from yieldrl.loggers.files import write_atomically

from .figure import score, trained
from .tasks import AGENTS, TASKS, make_trainer

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs" / "assets"
SITE = read_file(Path(__file__).with_suffix(".yaml"))
STAGES = ("untrained", "halfway", "trained")
LOOKS = 20  # evaluations of a demo's policy while it learns
SEED = 1_000_000  # of the episodes, as `yieldrl evaluate` has it


class Made(NamedTuple):
    """What is trained, and of a film how much of an episode is shown: `steps` of it, at
    `fps` frames a second (the environment's), `width` pixels wide. So many `episodes`
    judge the agent."""

    algorithm: str
    fields: dict[str, Any]
    tuned: str | None = None
    seed: int = 1
    steps: int | None = None
    fps: float | None = None
    width: int | None = None
    episodes: int = 100


DEMOS = {name: Made(**fields) for name, fields in SITE["demos"].items()}
FILMS = {name: Made(**fields) for name, fields in SITE["films"].items()}


def train_demo(
    name: str, seed: int | None, folder: Path = ASSETS / "demos" / "policies"
) -> Iterator[Path]:
    """Train a demo's policy and write it as it was at first, half way and at the end.

    Half way is where its return came closest to the middle between the first and the
    last. Each file says how well it plays, and by which command it was made.
    """
    demo = DEMOS[name]
    seed = seed or demo.seed
    command = f"python -m benchmarks demos {name} --seed {seed}"
    with trainer_of(demo, seed, eval_episodes=demo.episodes) as trainer:

        def look() -> dict[str, Any]:
            """The current policy, and how well it plays."""
            judged: Any = {"episodes": demo.episodes}
            judged["episode_return"] = score(trainer, **judged, seed=SEED)
            return exports.describe(trainer.agent, **judged)

        looks = [look()]
        for _ in trainer():
            if _share(trainer) >= len(looks) / LOOKS:
                looks.append(look())
    scores = [look["notes"]["episode_return"] for look in looks]
    middle = (scores[0] + scores[-1]) / 2
    between = min(range(1, len(looks) - 1), key=lambda i: abs(scores[i] - middle))
    for stage, at in zip(STAGES, (0, between, -1), strict=True):
        looks[at]["notes"] |= {"stage": stage, "seed": seed, "command": command}
        yield exports.save(looks[at], folder / f"{name}-{stage}.json")


def shoot_film(
    name: str, seed: int | None, folder: Path = ASSETS / "gallery"
) -> Iterator[Path]:
    """Train an agent and film the first episode of its evaluation. Beside a film lie a
    still picture, for readers who asked for less motion, and a file that says how well
    the agent plays in all episodes, trained and untrained."""
    if name == "libero":
        yield from shoot_libero()
        return
    film, path = FILMS[name], folder / f"{name}.mp4"
    seed = seed or film.seed
    with trainer_of(film, seed) as trainer:
        before = score(trainer, film.episodes, seed=SEED)
        trained(trainer)
        notes = {
            "algorithm": film.algorithm,
            "env_id": trainer.config.env_id,
            "sample_step": trainer.agent.sample_step,
            "episode_return": score(trainer, film.episodes, seed=SEED),
            "untrained_return": before,
            "episodes": film.episodes,
            "seed": seed,
            "command": f"python -m benchmarks gallery {name} --seed {seed}",
        }
        limit = {} if film.steps is None else {"max_episode_steps": film.steps}
        kwargs = trainer.config.env_kwargs | limit
        config = dataclasses.replace(trainer.config, env_kwargs=kwargs)
        with type(trainer)(config, model=trainer.model) as shown:
            record_video(shown, path, seed=SEED, fps=film.fps)
    if film.width is not None:
        narrow = path.with_suffix(".part.mp4")
        codec = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "28"]
        _ffmpeg(path, ["-vf", f"scale={film.width}:-2", *codec], narrow)
        narrow.replace(path)
    yield path
    yield still(path)
    write_atomically(path.with_suffix(".json"), json.dumps(notes, indent=1) + "\n")
    yield path.with_suffix(".json")


def make_agent(
    name: str, seed: int | None, folder: Path = ROOT / "algorithms"
) -> Iterator[Path]:
    """Train a task's agent and write it beside its algorithm, with its returns."""
    task, how = TASKS[name], {"compile": False, "eval_every": 0, "eval_episodes": 100}
    fields = {"seed": 1} | task.config | AGENTS[name] | how
    fields |= {"seed": seed or fields["seed"]}
    with make_trainer(task.algorithm, fields, task.tuned) as trainer:
        trained(trainer)
        stem = Path(trainer.config.env_id).name
        path = folder / task.algorithm / "agents" / f"{stem}.safetensors"
        command = f"python -m benchmarks agents {name} --seed {fields['seed']}"
        write_evaluated(trainer, path, 100, SEED, command=command)
    yield path


def shoot_libero(path: Path = ASSETS / "libero" / "bowl.mp4") -> Iterator[Path]:
    """The script of a task of LIBERO from the first of its fixed first states."""
    from yieldrl.benchmarks.experts.libero import LiberoExpert
    from yieldrl.loggers.videos import mp4

    kwargs = {"suite": "libero_spatial", "task": 2, "cameras": ()}
    kwargs |= {"render_mode": "rgb_array"}
    env: Any = LiberoExpert(gymnasium.make("yieldrl/LIBERO-v1", **kwargs))
    env.reset(seed=0)

    def pictures() -> Iterator[Any]:
        ended = False
        while not ended:
            yield env.render()
            *_, terminated, truncated, _ = env.step(env.expert())
            ended = terminated or truncated
        yield env.render()

    yield mp4(path, pictures(), env.metadata["render_fps"])
    env.close()
    yield still(path)


def still(path: Path) -> Path:
    """A picture of the most typical frame of a film, by ffmpeg's histograms."""
    from PIL import Image

    still = path.with_suffix(".png")
    _ffmpeg(path, ["-vf", "thumbnail=1000", "-frames:v", "1"], still)
    with Image.open(still) as picture:
        small = picture.quantize(64)
    small.save(still, optimize=True)
    return still


def trainer_of(what: Made, seed: int, **fields: Any) -> Any:
    """A trainer for a demo or a film."""
    fields |= {"seed": seed, "eval_every": 0}
    own = {k: tuple(v) if isinstance(v, list) else v for k, v in what.fields.items()}
    return make_trainer(what.algorithm, own | fields, what.tuned)


def _share(trainer: Any) -> float:
    """How much of the training is done: of the steps, or of what follows them where
    nothing is learned before they are all there."""
    if isinstance(trainer, behavior_cloning.Trainer):
        ready = trainer.buffer.full and trainer.agent.sample_step > 0
        return trainer.agent.learn_step / trainer.learn_steps if ready else 0.0
    return trainer.agent.sample_step / trainer.config.total_steps


def _ffmpeg(path: Path, options: list[str], out: Path) -> None:
    from imageio_ffmpeg import get_ffmpeg_exe

    words = ["-v", "error", "-y", "-i", str(path), *options, str(out)]
    subprocess.run([get_ffmpeg_exe(), *words], check=True)
