"""A trained agent as one file of safetensors: what plays, and what is known of it.

The file has the weights of the model, without optimizer, target networks and buffer,
and one text of JSON, so that reading it runs no code.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from yieldrl.core import CheckpointError
from yieldrl.core.files import write_whole
from yieldrl.core.logs import Counters
from yieldrl.loggers.files import naming_failures

AGENT = "model.safetensors"
"""The file's name in a folder, as on the Hugging Face hub."""

KEY, VERSION = "yieldrl", 1
PLACES = "device", "run_root", "run_name"  # of whoever trained it
NEEDED = {"module": str, "trainer": str, "config": dict}


class AgentFile(NamedTuple):
    """What such a file holds.

    `about` has the `version` of the format, the `algorithm`, the `env_id`, the `module`
    and name of the `trainer`, the `config` in blocks, `sample_step` and `learn_step`,
    the `versions` of packages, the `command` that trained it, and its `evaluation`.
    """

    weights: dict[str, Tensor]  # of the model, by their names in its `state_dict`
    about: dict[str, Any]

    def state(self) -> dict[str, Any]:
        """It as a part of a trainer's checkpoint, of which only the model is there."""
        about, counted = self.about, asdict(Counters())
        counted |= {k: about[k] for k in ("sample_step", "learn_step") if k in about}
        return {
            **about,
            "algorithm": about["module"],
            "agent": {"algorithm": {"model": self.weights}, **counted},
        }


def agent_of(trainer: Any, **facts: Any) -> AgentFile:
    """The agent of a trainer, as it is now, with more `facts` about it."""
    cls, described = type(trainer), trainer.run.description
    config = {k: v for k, v in described["config"].items() if k != "loggers"}
    of_run = config["trainer"].items()
    config["trainer"] = {k: v for k, v in of_run if k not in PLACES}
    about = {
        "version": VERSION,
        "algorithm": trainer.run.name,
        "env_id": trainer.config.env_id,
        "module": cls.__module__,
        "trainer": f"{cls.__module__}.{cls.__qualname__}",
        "config": config,
        "sample_step": trainer.agent.sample_step,
        "learn_step": trainer.agent.learn_step,
        "versions": described["versions"],
        "command": described.get("command", "yieldrl train --config config.yaml"),
    }
    weights = {
        name: tensor.detach().cpu().clone().contiguous()  # tied ones are written twice
        for name, tensor in trainer.model.state_dict().items()
    }
    return AgentFile(weights, about | facts)


def write_agent(agent: AgentFile, path: str | Path) -> Path:
    """Write a file atomically; WriteError if that is impossible."""
    from safetensors.torch import save

    metadata = {"format": "pt", KEY: json.dumps(agent.about)}
    with naming_failures(Path(path)):
        return write_whole(Path(path), save(agent.weights, metadata))


def read_agent(path: str | Path) -> AgentFile:
    """Read a file, onto the CPU, without running code.

    Raises:
        FileNotFoundError: If there is no such file.
        CheckpointError: If it is damaged, or no agent of this version of the format.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file of an agent")
    try:
        with safe_open(path, framework="pt") as file:
            about = dict(json.loads((file.metadata() or {}).get(KEY, "{}")))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, ValueError) as reason:
        raise CheckpointError(
            f"{path}: not a readable file of safetensors ({reason}): get it again"
        ) from None
    if about.get("version", VERSION) != VERSION:
        raise CheckpointError(
            f"{path}: version {about['version']} of an agent's file, this reads"
            f" {VERSION}: update yieldrl"
        )
    wrong = [k for k, kind in NEEDED.items() if not isinstance(about.get(k), kind)]
    if wrong:
        raise CheckpointError(
            f"{path}: no agent of yieldrl, its metadata lack {', '.join(wrong)}: give a"
            " file that `yieldrl export RUN --to card` wrote"
        )
    return AgentFile(weights, about)


def refuse_to_train(path: str | Path) -> None:
    """CheckpointError if a file holds an agent to play, from which nothing goes on."""
    if Path(path).suffix == Path(AGENT).suffix:
        raise CheckpointError(
            f"{path}: an agent to play, and no checkpoint of training: it has neither"
            " optimizer nor buffer. Play it with `yieldrl play`, or train anew with"
            " `yieldrl train --config` and the config.yaml beside it"
        )
