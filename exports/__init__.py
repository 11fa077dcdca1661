"""Trained policies as files that need nothing of this package, nor PyTorch; and cards.

A policy with a memory is written as a program of torch.export, by its agent.
"""

from yieldrl.exports.card import write_card
from yieldrl.exports.json_file import describe, save, write_json
from yieldrl.exports.json_policy import JsonPolicy
from yieldrl.exports.onnx_file import write_onnx

__all__ = ["JsonPolicy", "describe", "save", "write_card", "write_json", "write_onnx"]
