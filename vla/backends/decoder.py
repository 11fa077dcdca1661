"""Language models of transformers, which read embeddings of all that is observed."""

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.core import CheckpointError
from yieldrl.core.text import listed
from yieldrl.vla.files import read_json, require, with_safetensors
from yieldrl.vla.observations import camera_images
from yieldrl.vla.tokenizer import SentenceTokenizer


class Backbone(nn.Module):
    """A vision-language model of transformers without action and value heads.

    A `VLAModel` asks for what is public here and nothing else, so a module of your own
    may have it without being derived from this. Axes: `B` batch, `S` positions of the
    prompt, `W` width, `V` vocabulary.

    Args:
        language_model: With token embeddings and `lm_head`.
        tokenizer: A `SentenceTokenizer`, whose sentences have a first token.

    Attributes:
        width: `W`, of embeddings and of hidden states.
        vocab_size: Entries of the vocabulary, the last of which become actions.
            Logits may have more, which pad them to a round number.
    """

    width: int
    vocab_size: int

    def __init__(self, language_model: Any, tokenizer: Any = None) -> None:
        super().__init__()
        self.language_model: Any = language_model
        self.tokenizer = tokenizer

    @property
    def decoder(self) -> Any:
        """The module from embeddings to hidden states."""
        return self.language_model.get_decoder()

    @property
    def dtype(self) -> torch.dtype:
        return self.language_model.get_input_embeddings().weight.dtype

    def look(self, observations: Any) -> list[Tensor]:
        """Embeddings `[B, n, W]` of images and proprioception."""
        return []

    def embed(self, observations: Any) -> tuple[Tensor, Tensor]:
        """The prompt of observations with `proprio` normalised, `[B, S, W]`; and its
        mask `[B, S]`, False at padding of shorter instructions, on whichever side."""
        return self.embed_parts(observations)[:2]

    def embed_parts(self, observations: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The first token, what is seen, the sentence; and which of these change: at
        positions of images and proprioception, `[B, S]` bool."""
        ids, mask = self.tokenizer(observations["language"])
        text = self.token_embeddings(ids)
        seen = self.look(observations)
        embeddings = torch.cat([text[:, :1], *seen, text[:, 1:]], dim=1)
        count = embeddings.shape[1] - text.shape[1]
        shown = mask.new_ones(len(mask), count)
        whole = torch.cat([mask[:, :1], shown, mask[:, 1:]], dim=1)
        here = torch.arange(whole.shape[1], device=whole.device)
        changing = (here > 0) & (here <= count)
        return embeddings, whole, changing.expand(whole.shape)

    def hidden(
        self,
        embeddings: Tensor,
        mask: Tensor,
        bidirectional_from: int | None,
        cache: Any = None,
    ) -> Tensor:
        """The last hidden states (normalised) of the embeddings, `[B, k, W]` float32.

        Positions are numbered `mask.cumsum(1) - 1`, so that padding changes nothing.

        Args:
            embeddings: Of the last `k` of `S` positions; without a cache of all.
            mask: `[B, S]` bool, False where no position attends.
            bidirectional_from: See `visible`.
            cache: Keys and values of the positions before these, which are added.
        """
        new = embeddings.shape[1]
        output = self.decoder(
            inputs_embeds=embeddings.to(self.dtype),
            attention_mask=visible(mask, bidirectional_from, new),
            position_ids=(mask.cumsum(1) - 1).clamp(min=0)[:, -new:],
            cache=cache,
            use_cache=cache is not None,
        )
        return output.last_hidden_state.float()

    def new_cache(self) -> Any:
        """A cache for keys and values; None while layers are recomputed."""
        if self.training and self.language_model.is_activation_checkpointing:
            return None
        return require("transformers").DynamicCache()

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits over the vocabulary, `[..., V]`, from hidden states `[..., W]`."""
        return self.language_model.lm_head(hidden.to(self.dtype)).float()

    def token_embeddings(self, ids: Tensor) -> Tensor:
        """Embeddings `[..., W]` of entries of the vocabulary, int64 `[...]`."""
        return self.language_model.get_input_embeddings()(ids)

    def enable_gradient_checkpointing(self) -> None:
        """Recompute hidden states for gradients, layer by layer, while training."""
        self.language_model.activation_checkpointing_enable()


class Trunk(Backbone):
    """A copy of another backbone's layers, without embeddings and output head.

    TypeError if that is no `Backbone`.
    """

    def __init__(self, backbone: Any) -> None:
        if not isinstance(backbone, Backbone):
            raise TypeError(
                f"the backbone is a {type(backbone).__qualname__}, whose layers cannot"
                " be copied: take a tiny model, or one of OpenVLA's"
            )
        super().__init__(copy.deepcopy(backbone.decoder))
        self.language_model.get_input_embeddings().requires_grad_(False)  # never used

    def sync(self, backbone: Any) -> None:
        """Copy the other backbone's current weights."""
        self.language_model.load_state_dict(backbone.decoder.state_dict())


def visible(
    mask: Tensor, bidirectional_from: int | None, count: int | None = None
) -> Tensor:
    """Which tokens attend to which, bool `[B, 1, count, S]`, of the last `count`.

    Every position attends to itself, also a hidden one, whose softmax would otherwise
    be over nothing; and to what `mask` shows before it. From `bidirectional_from` on it
    attends to all that `mask` shows. By default it is of all positions.

    >>> visible(torch.tensor([[True, False, True]]), None).int().tolist()
    [[[[1, 0, 0], [1, 1, 0], [1, 0, 1]]]]
    """
    keys = torch.arange(mask.shape[1], device=mask.device)
    queries = keys[-(count or len(keys)) :].unsqueeze(1)
    earlier = keys <= queries
    if bidirectional_from is not None:
        earlier = earlier | (queries >= bidirectional_from)
    return (earlier & mask[:, None, None, :]) | (keys == queries)


class NativeBackbone(Backbone):
    """A model for images and text that is built into transformers: LLaVA, PaliGemma ...

    The prompt is: the first token, the patches of all cameras, the sentence; every
    position attends to those before it. Differs from PaliGemma (Beyer et al. 2024,
    arXiv:2407.07726), whose prompt attends to itself in both directions.

    Args:
        network: Of a class that `AutoModelForImageTextToText` makes.
        tokenizer: Its sentences begin with a first token of their own.
        pixels: `image_mean` and `image_std` by channel, of pixels in 0-1, if known.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        network: nn.Module,
        tokenizer: SentenceTokenizer,
        pixels: Mapping[str, Any],
    ) -> None:
        super().__init__(network, tokenizer)
        sizes = self.language_model.config
        self.width = sizes.text_config.hidden_size
        self.vocab_size = sizes.text_config.vocab_size
        self.side = sizes.vision_config.image_size
        for name in ("mean", "std"):
            values = torch.tensor(pixels.get(f"image_{name}", [0.5] * 3))
            self.register_buffer(name, values.view(3, 1, 1), persistent=False)

    def look(self, observations: Any) -> list[Tensor]:
        return [self._features(one) for one in camera_images(observations, self.side)]

    def vision_parameters(self) -> Iterable[nn.Parameter]:
        return self.language_model.get_encoder("image").parameters()

    def _features(self, images: Tensor) -> Tensor:
        """Embeddings `[B, N, W]` of images `[B, 3, side, side]`, float32 in 0-1."""
        pixels = ((images - self.mean) / self.std).to(self.dtype)
        features = self.language_model.get_image_features(pixel_values=pixels)
        features = features.pooler_output
        if isinstance(features, (tuple, list)):  # one tensor per image
            features = torch.stack(tuple(features))
        return features


def load_native(folder: Path, dtype: str) -> NativeBackbone:
    """A backbone of a folder that `save_pretrained` wrote, tokenizer included."""
    network_class = require("transformers").AutoModelForImageTextToText
    network = pretrained(network_class, folder, dtype)
    first = network.config.text_config.bos_token_id
    path = folder / "tokenizer.json"
    tokenizer = SentenceTokenizer.from_file(path, first=first)
    pixels = read_json(folder / "preprocessor_config.json")
    pixels = pixels or read_json(folder / "processor_config.json")
    pixels = pixels.get("image_processor", pixels)
    return NativeBackbone(network, tokenizer, pixels)


def pretrained(network_class: Any, folder: Path, dtype: str) -> Any:
    """A network of transformers from a folder, from safetensors alone.

    CheckpointError if weights are missing, which transformers would draw at random.
    """
    network, info = network_class.from_pretrained(
        with_safetensors(folder),
        dtype=getattr(torch, dtype),
        use_safetensors=True,
        local_files_only=True,
        output_loading_info=True,
    )
    if missing := sorted(info["missing_keys"]):
        raise CheckpointError(
            f"{folder} lacks {listed(missing)}: take a folder that save_pretrained"
            " wrote whole"
        )
    return network
