"""PI0: a vision-language model with an expert that denoises chunks of actions."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Dict
from torch import Tensor, nn
from torch.nn import functional

from yieldrl.vla.backends import check_options
from yieldrl.vla.backends.cameras import camera_images
from yieldrl.vla.backends.chunk import ChunkVLA, Look
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import read_json, require
from yieldrl.vla.heads import AttentionPool
from yieldrl.vla.tokenizer import SentenceTokenizer


class Pi0VLA(ChunkVLA):
    """A Gaussian around the chunk that PI0 denoises from zero.

    Black et al. 2024, "pi_0", arXiv:2410.24164, section IV. Differs from the paper: it
    denoises from zero, not from random noise, so that the chunk is a function of the
    observations; exploration is a Gaussian around it, whose densities policy gradients
    need. Gradients pass all denoising steps. The backbone is transformers'
    `PI0ForConditionalGeneration`, the config's `model_config` may say
    `num_inference_steps`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        tokenizer: SentenceTokenizer,
        observation_space: Dict,
        action_space: gymnasium.Space[Any],
        config: VLAConfig,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        sizes: Any = backbone.config
        self.backbone: Any = _Pi0(backbone)
        self.tokenizer = tokenizer
        name = "num_inference_steps"
        check_options(config.model_config, [name], "PI0")
        self.steps = config.model_config.get(name, sizes.num_inference_steps)
        proprio = self.proprio_statistics
        if proprio is not None and len(proprio.low) > sizes.max_state_dim:
            raise ValueError(
                f"proprio has {len(proprio.low)} numbers, and the network takes at most"
                f" {sizes.max_state_dim}: leave some out"
            )
        self.value_head = AttentionPool(sizes.vlm_config.text_config.hidden_size)

    def look(self, observations: Any) -> Look:
        network = self.backbone.network
        prompt, mask = self._prompt(observations)
        state = self._state(observations, prompt)
        value, cache = self._read(prompt, mask, use_cache=True)
        sizes = network.config
        chunk = state.new_zeros(len(state), sizes.chunk_size, sizes.max_action_dim)
        for i in range(self.steps):
            time = torch.full((len(state),), 1 - i / self.steps, device=state.device)
            velocity = network(
                state=state,
                noise=chunk,
                timestep=time,
                attention_mask=mask,
                cache=cache,
            ).logits
            cache.crop(prompt.shape[1] - cache.get_seq_length())  # the prompt alone
            chunk = chunk - velocity / self.steps  # Euler, from time 1 to 0
        return Look(self.cut(chunk), value)

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`, without denoising."""
        value, _ = self._read(*self._prompt(observations), use_cache=False)
        return value.unsqueeze(-1)

    def _read(
        self, prompt: Tensor, mask: Tensor, *, use_cache: bool
    ) -> tuple[Tensor, Any]:
        """The value `[B]` of a prompt, and its keys and values."""
        seen = self.backbone.network.model.vlm(
            inputs_embeds=prompt,
            attention_mask=mask,
            position_ids=mask.cumsum(-1) - 1,
            token_type_ids=torch.zeros_like(mask),  # one block: all attend to all
            use_cache=use_cache,
        )
        value = self.value_head(seen.last_hidden_state.float(), mask.bool())
        return value, seen.past_key_values

    def _prompt(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Patches of all cameras, then the sentence: `[B, S, W]`, `[B, S]` int64."""
        model = self.backbone.network.model
        sizes = model.config.vlm_config
        side = sizes.vision_config.image_size
        cameras = [2 * one - 1 for one in camera_images(observations, side)]
        pixels = torch.stack(cameras, dim=1).to(self.backbone.dtype)
        patches = (side // sizes.vision_config.patch_size) ** 2
        ids, shown = self.tokenizer(observations["language"])
        image = ids.new_full((len(ids), len(cameras) * patches), sizes.image_token_id)
        ids = torch.cat([image, ids], dim=1)
        present = torch.ones(pixels.shape[:2], dtype=torch.bool, device=ids.device)
        prompt = model.embed_prefix(ids, pixels, present)
        return prompt, torch.cat([torch.ones_like(image), shown.long()], dim=1)

    def _state(self, observations: Any, like: Tensor) -> Tensor:
        """Proprioception `[B, max_state_dim]`, with zeros after it."""
        most = self.backbone.network.config.max_state_dim
        if self.proprio_statistics is None:
            return like.new_zeros(len(like), most)
        state = self.proprio_statistics.normalize(observations["proprio"])
        return functional.pad(state.to(like.dtype), (0, most - state.shape[-1]))


class _Pi0(nn.Module):
    """transformers' network, with the names by which adapters find its parts."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network: Any = network

    @property
    def dtype(self) -> torch.dtype:
        return self.network.dtype

    def vision_parameters(self) -> Iterable[nn.Parameter]:
        return self.network.model.vlm.vision_tower.parameters()

    def enable_gradient_checkpointing(self) -> None:
        raise ValueError(
            "gradient_checkpointing: PI0 keeps keys and values from step to step, which"
            " computing anew would lose; choose gradient_checkpointing=False"
        )


def load_pi0(
    folder: Path,
    observation_space: Dict,
    action_space: gymnasium.Space[Any],
    config: VLAConfig,
    device: str,
) -> Pi0VLA:
    """PI0 from a folder that `save_pretrained` wrote, with the processor beside it."""
    from yieldrl.vla.backends.transformers_policy import pretrained

    network_class = require("transformers").PI0ForConditionalGeneration
    network = pretrained(network_class, folder, config.dtype, device)
    tokenizer = SentenceTokenizer.from_file(
        folder / "tokenizer.json",
        first=network.config.vlm_config.text_config.bos_token_id,
        template="{}\n",
    )
    model = Pi0VLA(network, tokenizer, observation_space, action_space, config)
    processor = read_json(folder / "processor_config.json", optional=True)
    _take_statistics(model, processor)
    return model.to(device)


def _take_statistics(model: Pi0VLA, processor: Mapping[str, Any]) -> None:
    """Load means and standard deviations of the data, which map to 0 and +-1."""
    for name, statistics in (
        ("actions", model.action_statistics),
        ("state", model.proprio_statistics),
    ):
        mean, std = processor.get(f"{name}_mean"), processor.get(f"{name}_std")
        if statistics is None or mean is None or std is None:
            continue
        size = len(statistics.low)
        center, half = np.asarray(mean)[:size], np.asarray(std)[:size]
        statistics.set_range(center - half, center + half)
