"""A trained agent as a folder in the form of the Hugging Face hub: file, card, film."""

import json
from pathlib import Path
from typing import Any

from yieldrl.core.files import to_yaml
from yieldrl.experiments.agent_file import write_agent
from yieldrl.experiments.run_files import AGENT, CONFIG
from yieldrl.loggers import record_video
from yieldrl.loggers.files import write_atomically

README, EVALUATION, FILM = "README.md", "evaluation.json", "replay.mp4"
CARD = README, AGENT, CONFIG, EVALUATION, FILM
"""The files of a card; there may be no film."""


def write_evaluated(
    trainer: Any, path: str | Path, episodes: int, seed: int, **facts: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Play episodes with a trainer's agent, and write a file of it that says how well.

    The `seed` is one that training did not see; `facts` are as of `write_agent`.
    Returns what the file says, and the evaluation with every episode.
    """
    played = trainer.evaluator.play(trainer.agent, episodes, seed)
    summary = {**played.logs(), "seed": seed, "deterministic": True}
    about = write_agent(trainer, path, evaluation=summary, **facts)
    columns = {k: x.tolist() for k, x in vars(played).items() if x is not None}
    return about, summary | columns


def write_card(
    trainer: Any, folder: str | Path, episodes: int, seed: int
) -> tuple[dict[str, Any], str]:
    """Write the folder of a trainer's agent, each file atomically, `README.md` last.

    The arguments are those of `write_evaluated`. Returns the evaluation, and why there
    is no film; empty if there is one.
    """
    folder, no_film = Path(folder), ""
    about, evaluation = write_evaluated(trainer, folder / AGENT, episodes, seed)
    write_atomically(folder / CONFIG, to_yaml(about["config"]))
    lines = ",\n ".join(f'"{k}": {json.dumps(v)}' for k, v in evaluation.items())
    write_atomically(folder / EVALUATION, f"{{\n {lines}\n}}\n")
    (folder / FILM).unlink(missing_ok=True)  # it may show another agent
    try:
        record_video(trainer, folder / FILM, seed=seed)
    except Exception as reason:  # whatever an environment raises that cannot draw
        no_film = " ".join(str(reason).split())
    write_atomically(folder / README, _readme(trainer.run.name, about, no_film))
    return evaluation, no_film


def _readme(name: str, about: dict[str, Any], no_film: str) -> str:
    blocks, evaluation = about["config"], about["evaluation"]
    env_id, kind = blocks["env"]["env_id"], "reinforcement-learning"
    mean, std = evaluation["episode_return"], evaluation["episode_return_std"]
    metric = {"type": "mean_reward", "name": "mean_reward", "verified": False}
    metric["value"] = reward = f"{mean:.2f} +/- {std:.2f}"
    result = {
        "task": {"type": kind, "name": kind},
        "dataset": {"type": env_id, "name": env_id},
        "metrics": [metric],
    }
    head = {
        "library_name": "yieldrl",
        "pipeline_tag": kind,
        "tags": [env_id, name, f"deep-{kind}", kind, "yieldrl"],
        "model-index": [{"name": name, "results": [result]}],
    }
    said = {"total_steps": blocks["trainer"]["total_steps"], **blocks["env"]}
    said |= blocks["algorithm"].get("cfg", blocks["algorithm"])
    values = evaluation | about | {"algorithm": name, "env_id": env_id}
    values |= {"seed": blocks["trainer"]["seed"], "evaluation_seed": evaluation["seed"]}
    values["versions"] = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    values["film"] = f"No film: {no_film}." if no_film else f"One of them: `{FILM}`."
    values |= {"reward": reward, "head": to_yaml(head).strip()}
    values["hyperparameters"] = to_yaml(said).strip()
    return Path(__file__).with_suffix(".md").read_text("utf-8").format(**values)
