"""Trained policies as files that need nothing of this package, nor PyTorch.

A student of ppo_roa has a memory, and writes its own file while it trains.
"""

from yieldrl.exports.json_file import describe, save, write_json
from yieldrl.exports.json_policy import JsonPolicy
from yieldrl.exports.onnx_file import write_onnx

__all__ = ["JsonPolicy", "describe", "save", "write_json", "write_onnx"]
