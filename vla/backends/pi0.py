"""PI0: a vision-language model with an expert that denoises chunks of actions."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Dict
from torch import Tensor, nn
from torch.nn import functional

from yieldrl.vla.backends.decoder import SentenceTokenizer, pretrained
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import check_options, read_json, require
from yieldrl.vla.heads import AttentionPool
from yieldrl.vla.model import ChunkVLA
from yieldrl.vla.observations import camera_images


class Pi0VLA(ChunkVLA):
    """A Gaussian around the chunk that PI0 denoises from zero.

    Black et al. 2024, "pi_0", arXiv:2410.24164, section IV. Differs from the paper: it
    denoises from zero, not from random noise, so that the chunk is a function of the
    observations; exploration is a Gaussian around it, whose densities policy gradients
    need. Gradients pass all denoising steps, whose keys and values cannot be computed
    anew (`gradient_checkpointing`). The backbone is transformers'
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
        self.backbone: Any = backbone
        self.tokenizer = tokenizer
        self.sizes: Any = backbone.config
        check_options(config.model_config, ["num_inference_steps"], "PI0")
        steps = config.model_config.get("num_inference_steps")
        self.steps = steps or self.sizes.num_inference_steps
        proprio = self.proprio_statistics
        if proprio is not None and len(proprio.low) > self.sizes.max_state_dim:
            raise ValueError(
                f"proprio has {len(proprio.low)} numbers, and the network takes at most"
                f" {self.sizes.max_state_dim}: leave some out"
            )
        self.value_head = AttentionPool(self.sizes.vlm_config.text_config.hidden_size)

    def look(self, observations: Any) -> tuple[Tensor, Tensor]:
        prompt, mask = self._prompt(observations)
        state = self._state(observations, prompt)
        value, cache = self._read(prompt, mask, use_cache=True)
        shape = self.sizes.chunk_size, self.sizes.max_action_dim
        chunk = state.new_zeros(len(state), *shape)
        for i in range(self.steps):
            time = torch.full((len(state),), 1 - i / self.steps, device=state.device)
            velocity = self.backbone(
                state=state,
                noise=chunk,
                timestep=time,
                attention_mask=mask,
                cache=cache,
            ).logits
            cache.crop(prompt.shape[1] - cache.get_seq_length())  # the prompt alone
            chunk = chunk - velocity / self.steps  # Euler, from time 1 to 0
        return self.cut(chunk), value

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`, without denoising."""
        value, _ = self._read(*self._prompt(observations), use_cache=False)
        return value.unsqueeze(-1)

    def vision_parameters(self) -> Iterable[nn.Parameter]:
        """The parameters of the vision encoder."""
        return self.backbone.model.vlm.vision_tower.parameters()

    def _read(
        self, prompt: Tensor, mask: Tensor, *, use_cache: bool
    ) -> tuple[Tensor, Any]:
        """The value `[B]` of a prompt, and its keys and values."""
        seen = self.backbone.model.vlm(
            inputs_embeds=prompt,
            attention_mask=mask,
            position_ids=mask.cumsum(-1) - 1,
            token_type_ids=torch.zeros_like(mask),  # one block: all attend to all
            use_cache=use_cache,
        )
        value = self.value_head(seen.last_hidden_state.float(), mask.bool())
        return value, seen.cache

    def _prompt(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Patches of all cameras, then the sentence: `[B, S, W]`, `[B, S]` int64."""
        vision = self.sizes.vlm_config.vision_config
        images = camera_images(observations, vision.image_size)
        pixels = torch.stack([2 * one - 1 for one in images], dim=1)
        ids, shown = self.tokenizer(observations["language"])
        count = len(images) * (vision.image_size // vision.patch_size) ** 2
        token = self.sizes.vlm_config.image_token_id
        image = ids.new_full((len(ids), count), token)
        present = torch.ones(pixels.shape[:2], dtype=torch.bool, device=ids.device)
        prompt = self.backbone.model.embed_prefix(
            torch.cat([image, ids], dim=1), pixels.to(self.backbone.dtype), present
        )
        return prompt, torch.cat([torch.ones_like(image), shown.long()], dim=1)

    def _state(self, observations: Any, like: Tensor) -> Tensor:
        """Proprioception `[B, max_state_dim]`, with zeros after it."""
        most = self.sizes.max_state_dim
        if self.proprio_statistics is None:
            return like.new_zeros(len(like), most)
        state = self.proprio_statistics.normalize(observations["proprio"])
        return functional.pad(state.to(like.dtype), (0, most - state.shape[-1]))


def load_pi0(
    folder: Path,
    observation_space: Dict,
    action_space: gymnasium.Space[Any],
    config: VLAConfig,
) -> Pi0VLA:
    """PI0 from a folder that `save_pretrained` wrote, with the processor beside it.

    The means and standard deviations of its data map to 0 and +-1.
    """
    network_class = require("transformers").PI0ForConditionalGeneration
    network = pretrained(network_class, folder, config.dtype)
    tokenizer = SentenceTokenizer.from_file(
        folder / "tokenizer.json",
        first=network.config.vlm_config.text_config.bos_token_id,
        template="{}\n",
    )
    model = Pi0VLA(network, tokenizer, observation_space, action_space, config)
    processor = read_json(folder / "processor_config.json")
    pairs = ("actions", model.head.statistics), ("state", model.proprio_statistics)
    for name, statistics in pairs:
        if statistics is not None and f"{name}_mean" in processor:
            size = len(statistics.low)
            mean = np.asarray(processor[f"{name}_mean"])[:size]
            std = np.asarray(processor[f"{name}_std"])[:size]
            statistics.set_range(mean - std, mean + std)
    return model
