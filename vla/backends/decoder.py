"""Language models of transformers, which read embeddings of all that is observed."""

import copy
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from yieldrl.core import CheckpointError
from yieldrl.core.text import decode, listed
from yieldrl.vla.files import existing, require, with_safetensors
from yieldrl.vla.observations import sentence_tokens


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
        image_size: Side of squares that a `VLAPolicy` resizes images to as OpenVLA's
            loader does, before it takes their centre; None leaves them to `look`.
    """

    width: int
    vocab_size: int
    image_size: int | None = None

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
        ids, mask = sentence_tokens(self.tokenizer, observations)
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


class SentenceTokenizer:
    """Reads sentences as bytes, and remembers the tokens of each that it has seen.

    Args:
        tokenizer: A `tokenizers.Tokenizer`.
        first: Token at the beginning of every sentence.
        last: Text of the token at their end, if the tokenizer has it.
        template: What the model reads, `{}` being the sentence in small letters.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        first: int | None = None,
        last: str | None = None,
        template: str = "",
    ) -> None:
        self.tokenizer, self.template = tokenizer, template
        self.vocab_size: int = tokenizer.get_vocab_size()
        end = None if last is None else tokenizer.token_to_id(last)
        self._first, self._last = ([] if i is None else [i] for i in (first, end))
        self._seen: dict[bytes, Tensor] = {}

    @classmethod
    def from_file(cls, path: Path, **options: Any) -> Self:
        """One from the `tokenizer.json` of a model's folder."""
        library = require("tokenizers")
        remedy = (
            "save the model's tokenizer there (tokenizer.save_pretrained of a fast"
            " tokenizer writes it)"
        )
        return cls(library.Tokenizer.from_file(str(existing(path, remedy))), **options)

    def encode(self, sentence: str) -> list[int]:
        """The tokens of one sentence."""
        if self.template:
            sentence = self.template.format(sentence.lower())
        inner = self.tokenizer.encode(sentence, add_special_tokens=False).ids
        return [*self._first, *inner, *self._last]

    def __call__(self, text: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens of sentences, padded to the longest of them; it waits once for a GPU.

        From UTF-8 with zeros after it, `[B, S]` uint8, to tokens `[B, T]` int64, zeros
        after each sentence, and where there is a token, `[B, T]` bool.
        """
        rows: list[Tensor] = []
        for encoded in text.detach().cpu().numpy():
            key = encoded.tobytes()
            if key not in self._seen:
                self._seen[key] = torch.tensor(self.encode(decode(encoded)[0])).long()
            rows.append(self._seen[key])
        lengths = torch.tensor([len(row) for row in rows]).unsqueeze(1)
        tokens = pad_sequence(rows, batch_first=True)
        mask = torch.arange(tokens.shape[1]) < lengths
        device = text.device
        return tokens.to(device, non_blocking=True), mask.to(device, non_blocking=True)
