"""Trained policies as files that need nothing of this package, nor PyTorch.

It is a room of its own because it knows the models of all algorithms, which nothing
below it may, and because notebooks and benchmarks export too, not the command line
alone. A student of ppo_roa has a memory, and writes its own file while it trains.
"""

from yieldrl.exports.json_file import describe, save, write_json
from yieldrl.exports.json_policy import JsonPolicy
from yieldrl.exports.onnx_file import write_onnx

__all__ = ["JsonPolicy", "describe", "save", "write_json", "write_onnx"]
