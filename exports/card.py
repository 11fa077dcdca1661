"""A trained agent as a folder in the form of the Hugging Face hub: file, card, film."""

import json
from pathlib import Path
from typing import Any

from yieldrl.core.config_blocks import HOMES
from yieldrl.core.files import to_yaml
from yieldrl.experiments.agent_file import AGENT, AgentFile, agent_of, write_agent
from yieldrl.experiments.run_files import CONFIG
from yieldrl.loggers import record_video
from yieldrl.loggers.files import write_atomically

README, EVALUATION, FILM = "README.md", "evaluation.json", "replay.mp4"
CARD = (README, AGENT, CONFIG, EVALUATION, FILM)
"""The files of a card; there may be no film."""


def write_evaluated(
    trainer: Any, path: str | Path, episodes: int, seed: int, **facts: Any
) -> tuple[AgentFile, dict[str, Any]]:
    """Play episodes with a trainer's agent, and write it to a file that says how well.

    Args:
        trainer: Its agent plays deterministically, in the environments of evaluations.
        path: File to write.
        episodes: Episodes to play.
        seed: Their seed, one that training did not see.
        facts: More to say about the agent, such as the `command` that trained it.

    Returns:
        What was written, and the evaluation, with every episode.
    """
    played = trainer.evaluator.play(trainer.agent, episodes, seed)
    summary = {**played.logs(), "seed": seed, "deterministic": True}
    columns = {"returns": played.returns, "lengths": played.lengths}
    if played.successes is not None:
        columns["successes"] = played.successes
    agent = agent_of(trainer, evaluation=summary, **facts)
    write_agent(agent, path)
    return agent, summary | {name: x.tolist() for name, x in columns.items()}


def write_card(
    trainer: Any, folder: str | Path, episodes: int, seed: int
) -> tuple[dict[str, Any], str]:
    """Write the folder of a trainer's agent, each file atomically, the card last.

    It has `model.safetensors`, `config.yaml`, `evaluation.json` with every episode,
    `replay.mp4` with the first of them where it can be filmed, and `README.md`.

    Args:
        trainer: As of `write_evaluated`.
        folder: Folder to write; creates missing ones.
        episodes: Episodes to play.
        seed: Their seed, one that training did not see.

    Returns:
        The evaluation, and why there is no film; empty if there is one.
    """
    folder = Path(folder)
    agent, evaluation = write_evaluated(trainer, folder / AGENT, episodes, seed)
    write_atomically(folder / CONFIG, to_yaml(agent.about["config"]))
    lines = ",\n ".join(f'"{k}": {json.dumps(v)}' for k, v in evaluation.items())
    write_atomically(folder / EVALUATION, f"{{\n {lines}\n}}\n")
    (folder / FILM).unlink(missing_ok=True)  # it may show another agent
    no_film = ""
    try:
        record_video(trainer, folder / FILM, seed=seed)
    except Exception as reason:  # whatever an environment raises that cannot draw
        no_film = " ".join(str(reason).split())
    write_atomically(folder / README, _readme(agent.about, no_film))
    return evaluation, no_film


def _readme(about: dict[str, Any], no_film: str) -> str:
    name, env_id = about["algorithm"], about["env_id"]
    config, evaluation = about["config"], about["evaluation"]
    mean, std = evaluation["episode_return"], evaluation["episode_return_std"]
    reward = f"{mean:.2f} +/- {std:.2f}"
    kind = "reinforcement-learning"
    metric = {"type": "mean_reward", "name": "mean_reward", "value": reward}
    result = {
        "task": {"type": kind, "name": kind},
        "dataset": {"type": env_id, "name": env_id},
        "metrics": [metric | {"verified": False}],
    }
    head = {
        "library_name": "yieldrl",
        "pipeline_tag": kind,
        "tags": [env_id, name, "deep-" + kind, kind, "yieldrl"],
        "model-index": [{"name": name, "results": [result]}],
    }
    said = {name: config["trainer"].get(name) for name in ("total_steps", "seed")}
    said |= {k: config["env"][k] for k in HOMES["env"] if config["env"].get(k)}
    said |= config["algorithm"].get("cfg", config["algorithm"])
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    film = f"The first of them is `{FILM}`." if not no_film else f"No film: {no_film}."
    return TEMPLATE.format(
        head=to_yaml(head).strip(),
        hyperparameters=to_yaml(said).strip(),
        reward=reward,
        film=film,
        versions=versions,
        least=evaluation["episode_return_min"],
        most=evaluation["episode_return_max"],
        length=evaluation["episode_length"],
        episodes=int(evaluation["episodes"]),
        test_seed=evaluation["seed"],
        seed=said["seed"],
        **{k: about[k] for k in ("algorithm", "env_id", "sample_step", "command")},
    )


TEMPLATE = """---
{head}
---

# {algorithm} on {env_id}

An agent that yieldrl trained: the weights of its model, as safetensors, and what is
known of it.

## Evaluation

Mean return **{reward}** (mean and standard deviation; {least:g} to {most:g}) over
{episodes} whole episodes of {length:.1f} steps on average, with deterministic actions,
on seed {test_seed}, which training did not see. `evaluation.json` has every episode.
{film}

## Play it

```bash
pip install yieldrl
yieldrl play .                      # in this folder
yieldrl import USER/REPOSITORY      # from the hub: pip install "yieldrl[hub]"
yieldrl evaluate . --episodes {episodes}
```

```python
from yieldrl.cli import load_agent

with load_agent(".") as trainer:
    print(trainer.evaluate(10)["logs"]["episode_return"])
    agent = trainer.agent  # agent.predict(obs) is the action
```

## Training

{sample_step:,} steps of the environment, seed {seed}; {versions}.

```bash
{command}
```

`config.yaml` has the whole config; these are its hyper-parameters:

```yaml
{hyperparameters}
```
"""
