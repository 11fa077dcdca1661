"""`yieldrl export`: the policy of a run as a file that other programs read."""

from __future__ import annotations

from pathlib import Path

from yieldrl import exports
from yieldrl.cli import restoring
from yieldrl.experiments import run_files

WRITERS = {"json": exports.write_json, "onnx": exports.write_onnx}
"""What writes which format."""


def export(run: str, form: str, out: str | None, checkpoint: str) -> tuple[Path, Path]:
    """Write the deterministic policy of a checkpoint; give the checkpoint and the file.

    Args:
        run: Folder of a run, or a checkpoint file.
        form: `json` or `onnx`.
        out: The file; by default `policy.json` or `policy.onnx` in the folder of the
            run, or beside a checkpoint file.
        checkpoint: `best`, `last`, or a file.

    Raises:
        CheckpointError: If the checkpoint is damaged or does not fit its trainer.
        FileNotFoundError: If there is none.
        ImportError: If a package is missing that the format takes.
        ValueError: If the format cannot say what the policy computes.
    """
    found = run_files.find_checkpoint(run, checkpoint)
    folder = Path(run) if Path(run).is_dir() else found.parent
    path = folder / f"policy.{form}" if out is None else Path(out)
    with restoring.player(found, 1, "cpu") as trainer:
        return found, WRITERS[form](trainer.agent, path)
