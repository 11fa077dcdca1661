"""A trained agent as one file of safetensors: what plays, and what is known of it.

The file has the weights of the model, without optimizer, target networks and buffer,
and one text of JSON, so that reading it runs no code.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from yieldrl.core import CheckpointError
from yieldrl.core.files import write_whole
from yieldrl.core.logs import Counters
from yieldrl.loggers.files import naming_failures

KEY, VERSION = "yieldrl", 1
PLACES = "device", "run_root", "run_name"  # of whoever trained it


def write_agent(trainer: Any, path: str | Path, **facts: Any) -> dict[str, Any]:
    """Write the agent of a trainer, atomically; or WriteError.

    Returns what the file says of it: `algorithm` and `trainer` as a checkpoint does,
    the `config` in blocks, the steps taken, the `versions` of packages, the `command`
    that trains it again, and other `facts`, such as an `evaluation`.
    """
    from safetensors.torch import save

    cls, described = type(trainer), trainer.run.description
    blocks = described["config"].items()
    config = {name: {**block} for name, block in blocks if name != "loggers"}
    for name in PLACES:
        config["trainer"].pop(name, None)
    about = {
        "version": VERSION,
        "algorithm": cls.__module__,
        "trainer": f"{cls.__module__}.{cls.__qualname__}",
        "config": config,
        "sample_step": trainer.agent.sample_step,
        "learn_step": trainer.agent.learn_step,
        "versions": described["versions"],
        "command": described.get("command", "yieldrl train --config config.yaml"),
        **facts,
    }
    weights = {
        name: tensor.detach().cpu().clone().contiguous()  # tied ones are written twice
        for name, tensor in trainer.model.state_dict().items()
    }
    with naming_failures(Path(path)):
        metadata = {"format": "pt", KEY: json.dumps(about)}
        write_whole(Path(path), save(weights, metadata))
    return about


def read_agent(path: str | Path) -> dict[str, Any]:
    """The agent of a file, as a part of a trainer's state, on the CPU.

    FileNotFoundError if there is no such file, CheckpointError if it is damaged or
    says nothing that this version understands.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file of an agent")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(KEY, "{}"))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError) as reason:
        raise CheckpointError(
            f"{path}: not a readable file of safetensors ({reason}): get it again"
        ) from None
    if not isinstance(about, dict) or about.get("version") != VERSION:
        raise CheckpointError(
            f"{path}: its metadata describe no agent of version {VERSION}: give a file"
            " that `yieldrl export RUN --to card` wrote, or update yieldrl"
        )
    counts = asdict(Counters())
    counts |= {k: about[k] for k in counts if k in about}
    return {**about, "agent": {"algorithm": {"model": weights}, **counts}}
