"""PI0: a vision-language model with an expert that denoises chunks of actions."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from torch import Tensor, nn
from torch.nn import functional

from yieldrl.vla.backends.decoder import SentenceTokenizer, pretrained
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.decoding import Decoded, Tokens
from yieldrl.vla.files import check_options, read_json, require
from yieldrl.vla.heads import AttentionPool, GaussianHead
from yieldrl.vla.model import OnePassModule
from yieldrl.vla.observations import camera_images, sentence_tokens
from yieldrl.vla.statistics import action_statistics


class Pi0VLA(OnePassModule):
    """A Gaussian around the chunk that PI0 denoises from zero.

    Black et al. 2024, "pi_0", arXiv:2410.24164, section IV. Differs from the paper: it
    denoises from zero, not from random noise, so that the chunk is a function of the
    observations; exploration is a Gaussian around it, whose densities policy gradients
    need, with a `log_std [D]` that is the same in every state. Gradients pass all
    denoising steps, whose keys and values cannot be computed anew
    (`gradient_checkpointing`). The backbone is transformers'
    `PI0ForConditionalGeneration`; the config's `model_config` may say
    `num_inference_steps`.
    """

    head: GaussianHead

    def __init__(
        self,
        backbone: nn.Module,
        tokenizer: SentenceTokenizer,
        observation_space: Dict,
        action_space: gymnasium.Space[Any],
        config: VLAConfig,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        if not isinstance(action_space, Box):
            raise ValueError(
                f"{action_space} is of choices, PI0 makes numbers: take a model with"
                " tokens for actions (tiny, or OpenVLA's)"
            )
        statistics, std = (
            action_statistics(action_space, self.layout),
            config.log_std_init,
        )
        self.head = GaussianHead(self.layout, nn.Identity(), statistics, std)
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

    def decode(self, observations: Any, tokens: Tokens) -> Decoded:
        mean, value = self.look(observations)
        policy = self.head.around(mean.flatten(1))
        if not isinstance(tokens, Tensor):
            tokens = tokens(policy)
        return tokens, policy.log_prob(tokens), policy.entropy(), value

    def look(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Chunks of normalised actions, `[B, L, D]`, and values `[B]`, float32."""
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
        return self._cut(chunk), value

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`, without denoising."""
        value, _ = self._read(*self._prompt(observations), use_cache=False)
        return value.unsqueeze(-1)

    def vision_parameters(self) -> Iterable[nn.Parameter]:
        """The parameters of the vision encoder."""
        return self.backbone.model.vlm.vision_tower.parameters()

    def _cut(self, chunk: Tensor) -> Tensor:
        """The part `[B, L, D]` of the network's chunk `[B, l, d]` that is executed."""
        length, size = self.layout.length, self.layout.size
        if chunk.shape[1] < length or chunk.shape[2] < size:
            raise ValueError(
                f"the network makes chunks of {chunk.shape[1]} actions of"
                f" {chunk.shape[2]} numbers, and {length} of {size} are asked for:"
                " choose a smaller chunk_length, or the environment that it is made for"
            )
        return chunk[:, :length, :size].float()

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
        images = camera_images(observations, vision.image_size, pad=True)
        pixels = torch.stack([2 * one - 1 for one in images], dim=1)
        ids, shown = sentence_tokens(self.tokenizer, observations)
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
