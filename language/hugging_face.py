"""Causal language models of Hugging Face's transformers, and their tokenizers."""

from typing import Any, Self

import torch
from torch import Tensor, nn

from yieldrl.core import Utf8Text
from yieldrl.core.text import decode
from yieldrl.vla.backends.decoder import pretrained
from yieldrl.vla.files import model_folder, require


def load(
    model_path: str, *, dtype: str = "float32", template: str = "{}"
) -> tuple["HuggingFaceModel", "HuggingFaceTokenizer"]:
    """A causal model with its tokenizer, from a folder or from the hub.

    Weights come from safetensors; pickled objects and code of a repository are never
    run. ImportError without transformers, FileNotFoundError without a folder or weights
    in it, CheckpointError if these do not fit.
    """
    library, folder = require("transformers"), model_folder(model_path)
    network = pretrained(library.AutoModelForCausalLM, folder, dtype)
    tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return HuggingFaceModel(network), HuggingFaceTokenizer(tokenizer, template)


class HuggingFaceModel(nn.Module):
    """A network of `AutoModelForCausalLM`, asked as `Transformer` is.

    It stays in evaluation mode: with dropout, learning would evaluate another policy
    than the one that wrote.

    Args:
        network: Takes `input_ids`, `attention_mask`, `position_ids`, a cache and
            `logits_to_keep`.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.backbone: Any = network.eval()

    def train(self, mode: bool = True) -> Self:
        """Stay in evaluation mode, whatever `mode` says."""
        return super().train(False)

    def forward(
        self, tokens: Tensor, shown: Tensor, cache: Any = None, last: int | None = None
    ) -> Tensor:
        """Logits of the next tokens, float32 `[B, K, V]`; see `Transformer`."""
        places = (shown.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        output = self.backbone(
            input_ids=tokens,
            attention_mask=shown.long(),
            position_ids=places,
            cache=cache,
            use_cache=cache is not None,
            logits_to_keep=last or 0,  # 0 keeps all positions
        )
        return output.logits.float()

    def replace_head(self, outputs: int) -> nn.Linear:
        """Replace the token logits by a new head with this number of outputs."""
        like = self.backbone.get_output_embeddings().weight
        head = nn.Linear(like.shape[1], outputs, bias=False).to(like)
        self.backbone.set_output_embeddings(head)
        return head

    def new_cache(self, length: int) -> Any:
        """A cache that grows with the written tokens."""
        return require("transformers").DynamicCache(config=self.backbone.config)


class HuggingFaceTokenizer:
    """The model's own tokenizer of `AutoTokenizer`, asked as `Characters` is.

    Args:
        tokenizer: A tokenizer of transformers.
        template: Text that is read, with the prompt in place of `{}`.

    Raises:
        ValueError: If it has no token that ends a text.
    """

    def __init__(self, tokenizer: Any, template: str = "{}") -> None:
        if tokenizer.eos_token_id is None:
            raise ValueError(
                "the tokenizer has no eos_token, so nothing would end an answer: set it"
                " and save the tokenizer again"
            )
        tokenizer.pad_token = tokenizer.eos_token
        self.tokenizer, self.template = tokenizer, template
        self.end: int = tokenizer.eos_token_id
        whole, inner = tokenizer("a"), tokenizer("a", add_special_tokens=False)
        ends = (x.input_ids[-1:] == [self.end] for x in (whole, inner))
        self._added_end = [*ends] == [True, False]  # as T5's tokenizer adds it

    def prompt(self, text: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens `[B, P]` of prompts, uint8 `[B, S]`, left-padded, and their mask.

        An end token that the tokenizer adds is left out, for the answer follows. On a
        GPU it waits for the device, as `to_tokens` and `to_bytes` do. ValueError if a
        prompt has no tokens.
        """
        sentences = [self.template.replace("{}", one) for one in decode(text)]
        options = {"padding": True, "padding_side": "left", "return_tensors": "pt"}
        batch = self.tokenizer(sentences, **options)
        tokens, shown = batch.input_ids, batch.attention_mask.bool()
        if self._added_end:
            tokens, shown = tokens[:, :-1], shown[:, :-1]
        if not shown.any(1).all():
            raise ValueError(
                "a prompt without a token, and an answer follows one: write prompts"
                " that are not empty, or some text around {} in template"
            )
        return tokens.to(text.device), shown.to(text.device)

    def to_tokens(self, text: Tensor) -> Tensor:
        """Tokens `[B, S]` of answers, uint8 `[B, S]`, `end` after them.

        Raises:
            ValueError: If one takes more than `S` tokens.
        """
        length = text.shape[1]
        options = {"padding": "max_length", "padding_side": "right"}
        rows = self.tokenizer(
            decode(text), add_special_tokens=False, max_length=length, **options
        ).input_ids
        if (longest := max(map(len, rows), default=0)) > length:
            raise ValueError(
                f"an answer of {longest} tokens, and there is room for {length}: give"
                " the action space more max_bytes"
            )
        return torch.tensor(rows, device=text.device).reshape(-1, length)

    def to_bytes(self, tokens: Tensor, length: int) -> Tensor:
        """The text of answers `[B, L]`, uint8 `[B, length]`, cut where it is longer."""
        rows = [row[: [*row, self.end].index(self.end)] for row in tokens.tolist()]
        texts = self.tokenizer.batch_decode(
            rows, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        spelled = (text.replace("\0", "").encode()[:length] for text in texts)
        cut = [text.decode(errors="ignore") for text in spelled]
        return torch.from_numpy(Utf8Text(length).encode(cut)).to(tokens.device)
