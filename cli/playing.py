"""`yieldrl play`, agents of others, and agents to give away."""

import dataclasses
import os
import re
import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from yieldrl.cli.errors import usage_errors
from yieldrl.cli.evaluating import ANSWERS, SEED

EPISODES = 5  # shown by default
JUDGED = 100  # episodes that judge an agent that is given away


def load_agent(agent: str, device: str = "cpu", *, trust: bool = False) -> Any:
    """A trainer that has a trained agent: `trainer.agent.predict(obs)` acts.

    Args:
        agent: As `yieldrl play` takes it: an agent of `yieldrl list`, such as
            `ppo/CartPole-v1`, the folder of a card or a run, or a file.
        device: Where it plays.
        trust: Whether code may be imported that it names and that is not of yieldrl.

    Raises:
        CheckpointError: If the file is damaged, or does not fit its trainer.
        FileNotFoundError: If there is no such agent.
        UntrustedError: If it names code of others, without `trust`.
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

        path = restoring.locate(agent, checkpoint)
        trainer = restoring.player(path, 1, device, alone=True, trust=trust)
        print(f"agent: {describe_checkpoint(path, trainer.agent.sample_step)}")
        if path.suffix != ".pt" and "evaluation" in (about := catalog.about(path)):
            print(f"evaluated: {catalog.returned(about['evaluation'])}")
    with trainer, usage_errors():
        if video is not None:
            film = record_video(trainer, video, episodes or 1, seed=seed)
            print(f"video: {film}")
            return
        why = _no_window(trainer)
        if why:
            print(f"no window: {why}; --video FILE.mp4 makes a film", flush=True)
        _play_episodes(trainer, EPISODES if episodes is None else episodes, seed, why)


def _no_window(trainer: Any) -> str:
    """Why nothing can be shown on a screen; empty if it can."""
    screens = "DISPLAY", "WAYLAND_DISPLAY"
    if sys.platform not in ("win32", "darwin") and not any(map(os.getenv, screens)):
        return f"there is no screen here, neither {' nor '.join(screens)} is set"
    modes = trainer.evaluator.envs.metadata.get("render_modes") or ()
    return "" if "human" in modes else f"{trainer.config.env_id} opens none"


def _play_episodes(trainer: Any, episodes: int, seed: int, no_window: str) -> None:
    """Play one after the other, in a window if there is one, and print each return."""
    from yieldrl.collectors import play_in_order
    from yieldrl.loggers.videos import drawn

    envs = trainer.evaluator.envs if no_window else drawn(trainer, "human")
    with closing(envs):
        for number in range(episodes):
            played = play_in_order(trainer.agent, envs, 1, seed + number)
            said = f"return {played.returns[0]:g}, length {played.lengths[0]}"
            print(f"episode {number + 1}: {said}", flush=True)


def write_card(
    saved: Path, folder: Path, episodes: int | None, seed: int, trust: bool
) -> None:
    """Write the card of a checkpoint's agent, and print how well it plays."""
    from yieldrl import exports
    from yieldrl.cli import catalog, restoring
    from yieldrl.experiments.agent_file import AGENT, agent_of, write_agent
    from yieldrl.loggers.answers import writes

    with restoring.player(saved, 1, "cpu", trust=trust) as trainer:
        count = episodes or (ANSWERS if writes(trainer) else JUDGED)
        write_agent(agent_of(trainer), folder / AGENT)
    # What is evaluated is what is given away.
    with restoring.player(folder / AGENT, count, "cpu", trust=trust) as trainer:
        evaluation, no_film = exports.write_card(trainer, folder, count, seed)
    print(catalog.returned(evaluation))
    print(f"no film: {no_film}" if no_film else f"film: {folder / 'replay.mp4'}")


def take_over(source: str, run_name: str | None, trust: bool) -> str:
    """Make the folder of a run from an agent of others; what to say of it."""
    from yieldrl.cli import catalog, restoring
    from yieldrl.experiments import Run
    from yieldrl.experiments.agent_file import AGENT
    from yieldrl.exports.card import CARD

    is_here = Path(source).exists() or source in catalog.agents()
    path = restoring.locate(source if is_here else str(_downloaded(source)))
    if path.suffix == ".pt":
        raise ValueError(f"{source}: checkpoints, which need no import: evaluate them")
    with restoring.player(path, 1, "cpu", alone=True, trust=trust) as trainer:
        config = dataclasses.replace(trainer.config, run_root="runs", run_name=run_name)
        run = Run(trainer.run.name, config, trainer.run.description)
        with closing(run):
            folder = run.claim()
    shutil.copyfile(path, folder / AGENT)
    beside = {AGENT, "config.yaml"}.symmetric_difference(CARD)
    for name in beside if path.name == AGENT else ():
        if (path.parent / name).is_file():
            shutil.copyfile(path.parent / name, folder / name)
    folder = folder.relative_to(Path.cwd())
    evaluation = catalog.about(path).get("evaluation")
    said = f", {catalog.returned(evaluation)}" if evaluation else ""
    return f"run folder: {folder}{said}\nplay it with: yieldrl play {folder}"


def _downloaded(source: str) -> Path:
    """A copy of a card's files on the hub."""
    from yieldrl.exports.card import CARD
    from yieldrl.loggers.base import require_package

    if not re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        raise FileNotFoundError(
            f"{source}: no such folder or file; give one, or USER/REPOSITORY on the hub"
        )
    require_package("huggingface_hub", extra="hub")
    import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(source, allow_patterns=[*CARD]))
    except (OSError, ValueError) as reason:
        raise FileNotFoundError(
            f"{source}: neither a folder here nor a repository that the hub gives"
            f" ({str(reason).splitlines()[0]})"
        ) from reason
