"""Vision-language-action models as policies; their libraries are imported on use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from yieldrl.vla.actions import ActionLayout, action_layout
from yieldrl.vla.bins import ActionBins
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.heads import AttentionPool
from yieldrl.vla.interface import Backbone, OnePassVLA, VLAModelInterface, VLAOutput
from yieldrl.vla.model import VLAModel
from yieldrl.vla.observations import ObservationReader, vla_space
from yieldrl.vla.policy import VLAPolicy
from yieldrl.vla.statistics import ActionStatistics, ProprioStatistics

if TYPE_CHECKING:
    from yieldrl.vla.adapter_files import load_adapters, save_adapters
    from yieldrl.vla.loading import load_vla_model
    from yieldrl.vla.lora import add_lora, merged

__all__ = [
    "ActionBins",
    "ActionLayout",
    "ActionStatistics",
    "AttentionPool",
    "Backbone",
    "ObservationReader",
    "OnePassVLA",
    "ProprioStatistics",
    "VLAConfig",
    "VLAModel",
    "VLAModelInterface",
    "VLAOutput",
    "VLAPolicy",
    "action_layout",
    "add_lora",
    "load_adapters",
    "load_vla_model",
    "merged",
    "save_adapters",
    "vla_space",
]

_ON_USE = {
    "load_vla_model": "loading",
    "add_lora": "lora",
    "load_adapters": "adapter_files",
    "merged": "lora",
    "save_adapters": "adapter_files",
}
"""Names that need other libraries, and the file that defines each."""


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ON_USE[name]}"), name)
