"""`yieldrl play`, cards of agents to give away, and agents of others."""

import dataclasses
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from yieldrl.cli.errors import usage_errors
from yieldrl.cli.evaluating import ANSWERS, SEED

EPISODES = 5  # shown by default


def load_agent(agent: str, device: str = "cpu", *, trust: bool = False) -> Any:
    """A trainer that has a trained agent: `trainer.agent.predict(obs)` acts.

    `agent` and `trust` are as of `yieldrl play`. CheckpointError if the file is damaged
    or does not fit, FileNotFoundError if there is none, UntrustedError if it names code
    of others.
    """
    from yieldrl.cli import restoring

    path = restoring.locate(agent)
    return restoring.player(path, EPISODES, device, alone=True, trust=trust)


def play(
    agent: Positional[str],
    episodes: int | None = None,
    seed: int = SEED,
    video: str | None = None,
    checkpoint: str = "last",
    device: str = "cpu",
    trust: bool = False,
) -> None:
    """Show a trained agent: in a window, as a film, or by its returns.

    Args:
        agent: An agent of `yieldrl list`, such as `ppo/CartPole-v1`, the folder of a
            card or a run, or a file of an agent.
        episodes: Episodes to play; by default 5, and one for a film.
        seed: Seed of the first; the others have the following numbers.
        video: File of a film to make in place of a window, for example `episode.mp4`.
        checkpoint: Of a run: `last`, `best` in the evaluations of training (the last,
            if none was the best), or a file.
        device: Device to use.
        trust: Import and run code that the agent names and that is not of yieldrl.
    """
    from yieldrl.cli import catalog, restoring

    with usage_errors():
        from yieldrl.loggers import record_video
        from yieldrl.loggers.checkpoints import describe_checkpoint

        if episodes is not None and episodes < 1:
            raise ValueError(f"episodes = {episodes}: play at least one")
        path = restoring.locate(agent, checkpoint)
        with restoring.player(path, 1, device, alone=True, trust=trust) as trainer:
            print(f"agent: {describe_checkpoint(path, trainer.agent.sample_step)}")
            if known := trainer.run.description.get("evaluation"):
                print(f"evaluated: {catalog.returned(known)}")
            if video is not None:
                film = record_video(trainer, video, episodes or 1, seed=seed)
                print(f"video: {film}")
                return
            if why := _no_window(trainer):
                print(f"no window: {why}; --video FILE.mp4 makes a film", flush=True)
            _play_episodes(trainer, episodes or EPISODES, seed, window=not why)


def _no_window(trainer: Any) -> str:
    """Why nothing can be shown on a screen; empty if it can."""
    from yieldrl.core.device import has_screen

    if not has_screen():
        return "there is no screen here, neither DISPLAY nor WAYLAND_DISPLAY is set"
    modes = trainer.evaluator.envs.metadata.get("render_modes") or ()
    return "" if "human" in modes else f"{trainer.config.env_id} opens none"


def _play_episodes(trainer: Any, episodes: int, seed: int, window: bool) -> None:
    """Play one after the other, in a window or unseen, and print the return of each."""
    from yieldrl.collectors import play_in_order
    from yieldrl.loggers.videos import drawn

    with closing(drawn(trainer, "human" if window else None)) as envs:
        for number in range(episodes):
            played = play_in_order(trainer.agent, envs, 1, seed + number)
            said = f"return {played.returns[0]:g}, length {played.lengths[0]}"
            print(f"episode {number + 1}: {said}", flush=True)


def write_card(
    saved: Path, folder: Path, episodes: int | None, seed: int, trust: bool
) -> None:
    """Write the card of a checkpoint's agent, and print what it reaches."""
    from yieldrl import exports
    from yieldrl.cli import catalog, restoring
    from yieldrl.experiments.agent_file import write_agent
    from yieldrl.experiments.run_files import AGENT
    from yieldrl.loggers.answers import writes

    with restoring.player(saved, 1, "cpu", trust=trust) as trainer:
        count = episodes or (ANSWERS if writes(trainer) else 100)
        write_agent(trainer, folder / AGENT)
    # The file is evaluated, which is what others get.
    with restoring.player(folder / AGENT, count, "cpu", trust=trust) as trainer:
        evaluation, no_film = exports.write_card(trainer, folder, count, seed)
    print(f"{catalog.returned(evaluation)}{no_film and f'; no film: {no_film}'}")
    print(f"card: {folder}")


def take_over(source: str, run_name: str | None, trust: bool) -> None:
    """Make the folder of a run from an agent of others, and print where it is."""
    from yieldrl.cli import catalog, restoring
    from yieldrl.experiments import Run
    from yieldrl.experiments.run_files import AGENT, CONFIG, is_agent
    from yieldrl.exports.card import CARD

    is_here = Path(source).exists() or source in catalog.agents()
    path = restoring.locate(source if is_here else _downloaded(source, CARD))
    if not is_agent(path):
        raise ValueError(f"{path}: a checkpoint needs no import: play or evaluate it")
    with restoring.player(path, 1, "cpu", alone=True, trust=trust) as trainer:
        places: dict[str, Any] = {"run_root": "runs", "run_name": run_name}
        described, config = trainer.run.description, trainer.config
        described["config"]["trainer"] |= places
        config = dataclasses.replace(config, **places)
        with closing(Run(trainer.run.name, config, described)) as run:
            folder = run.claim().relative_to(Path.cwd())
    shutil.copyfile(path, folder / AGENT)
    for name in {*CARD} - {AGENT, CONFIG} if path.name == AGENT else ():
        if (path.parent / name).is_file():
            shutil.copyfile(path.parent / name, folder / name)
    print(f"run folder: {folder}\nplay it with: yieldrl play {folder}")


def _downloaded(source: str, files: tuple[str, ...]) -> str:
    """The folder of some files of a repository on the hub."""
    from yieldrl.loggers.base import require_package

    missing = f"{source}: no folder or file here, nor USER/REPOSITORY on the hub"
    if source.count("/") != 1:
        raise FileNotFoundError(missing)
    require_package("huggingface_hub", extra="hub")
    from huggingface_hub import snapshot_download

    try:
        return snapshot_download(source, allow_patterns=[*files])
    except (OSError, ValueError) as reason:
        missing += f" ({str(reason).splitlines()[0]})"
        raise FileNotFoundError(missing) from reason
