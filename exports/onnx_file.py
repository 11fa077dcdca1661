"""A policy as an ONNX file, which many runtimes and languages can load."""

import contextlib
import copy
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from gymnasium.spaces import Dict
from torch import Tensor, nn

from yieldrl.abstractions import Agent, Algorithm
from yieldrl.core import spaces
from yieldrl.core.files import write_whole
from yieldrl.core.trees import nest
from yieldrl.exports.json_file import NotExportableError, refuse_memory


def write_onnx(agent: Agent, path: str | Path) -> Path:
    """Write the deterministic policy of an agent, `agent.predict`, as a program.

    Inputs are called `obs`, or by a Dict's names (`camera.rgb` if nested); the output
    is `action`. All have a batch axis `batch`. The file contains the weights.
    ImportError without `onnx` or `onnxscript`; NotExportableError if the policy has a
    memory, or PyTorch cannot trace it.
    """
    refuse_memory(agent)
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as reason:
        raise ImportError(
            'ONNX takes two packages more: pip install "yieldrl[onnx]"'
        ) from reason
    space = agent.model.observation_space
    if isinstance(space, Dict):
        space = spaces.part(space, agent.model.needed_obs)
    paths, leaves = zip(*spaces.leaves(space), strict=True)
    policy = _Policy(agent, paths).eval()
    inputs = tuple(map(spaces.examples, leaves))
    batch = torch.export.Dim("batch")
    program: Any
    try:
        with _quietly(), torch.no_grad():
            program = torch.onnx.export(
                policy,
                inputs,
                dynamo=True,
                verbose=False,
                input_names=[".".join(path) or "obs" for path in paths],
                output_names=["action"],
                dynamic_shapes=(tuple({0: batch} for _ in inputs),),
            )
    except Exception as reason:
        lines = str(reason).strip().splitlines() or [type(reason).__name__]
        raise NotExportableError(
            f"PyTorch cannot follow {type(agent.model).__name__} to write it as ONNX"
            f" ({lines[0]}): play it by `yieldrl evaluate`"
        ) from reason
    return write_whole(Path(path), program.model_proto.SerializeToString())


class _Policy(nn.Module):
    """Maps leaves of observations `[B, ...]` to actions of the environment."""

    def __init__(self, agent: Agent, paths: Sequence[spaces.Path]) -> None:
        super().__init__()
        self.paths = paths
        model = copy.deepcopy(agent.model).cpu()
        self.algorithm: Algorithm = copy.copy(agent.algorithm)
        self.algorithm.model = self.model = model
        self.actions = spaces.ActionTransform(
            model.action_space, torch.device("cpu"), unit_box=model.unit_box
        )

    def forward(self, *leaves: Tensor) -> Tensor:
        obs = nest(zip(self.paths, leaves, strict=True))
        return self.actions.to_env(self.algorithm.predict(obs))


@contextlib.contextmanager
def _quietly() -> Any:
    """Suppress the exporter's internal warnings and logs."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)
