"""A vision-language model of a few hundred weights in plain PyTorch, for tests."""

import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from torch import Tensor, nn
from torch.nn import functional

from yieldrl.core import Utf8Text
from yieldrl.vla import VLAConfig, VLAModel

CAMERA = Box(0, 255, (8, 8, 3), np.uint8)
TEXT = Utf8Text(12)
SPACE = Dict({"rgb": CAMERA, "proprio": Box(-2, 2, (3,)), "language": TEXT})
SENTENCES = ("go", "to the left", "stop")


class FakeBackbone(nn.Module):
    """A patch for every camera, a token for proprioception, one for every byte."""

    def __init__(self, width=16, vocab_size=300, pad_left=False):
        super().__init__()
        self.width, self.vocab_size, self.pad_left = width, vocab_size, pad_left
        self.patch = nn.Linear(8 * 8 * 3, width)
        self.proprio = nn.Linear(3, width)
        self.words = nn.Embedding(vocab_size, width)
        self.positions = nn.Embedding(128, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.lm_head = nn.Linear(width, vocab_size + 4, bias=False)

    def embed(self, observations):
        text = observations["language"]
        cameras = observations.get("rgb", None)
        parts = []
        if cameras is not None:
            leaves = [cameras] if isinstance(cameras, Tensor) else cameras.values()
            parts += [self.patch(leaf.flatten(1).float() / 255) for leaf in leaves]
        if observations.get("proprio", None) is not None:
            parts.append(self.proprio(observations["proprio"]))
        longest = int((text != 0).sum(1).max())
        ids = text[:, : max(1, longest)].long()
        shown = ids != 0
        if self.pad_left:
            order = shown.long().argsort(dim=1, stable=True)
            ids, shown = ids.gather(1, order), shown.gather(1, order)
        weight = self.words.weight
        words = functional.embedding(ids, weight)
        first = [part.unsqueeze(1).to(weight.dtype) for part in parts]
        seen = shown.new_ones(len(ids), len(parts))
        return torch.cat([*first, words], 1), torch.cat([seen, shown], 1)

    def hidden(self, embeddings, mask, bidirectional_from):
        at = (mask.cumsum(1) - 1).clamp(min=0)
        x = embeddings + self.positions(at)
        length = mask.shape[1]
        sees = torch.ones(length, length, dtype=torch.bool).tril()
        if bidirectional_from is not None:
            sees[bidirectional_from:] = True
        allowed = sees & mask.unsqueeze(1) | torch.eye(length, dtype=torch.bool)
        for block in self.blocks:
            x = block(x, allowed)
        return x

    def logits(self, hidden):
        return self.lm_head(hidden)

    def token_embeddings(self, ids):
        return self.words(ids)

    def vision_parameters(self):
        return self.patch.parameters()


class Block(nn.Module):
    """Attention with one head, and a layer after it."""

    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, allowed):
        q, k, v = self.qkv(self.norms[0](x)).chunk(3, -1)
        x = x + functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return x + torch.tanh(self.out(self.norms[1](x)))


def observe(batch=3, seed=0, space=SPACE):
    """Random observations `[B, ...]`, with sentences of unequal length."""
    space.seed(seed)
    rows = [space.sample() for _ in range(batch)]
    stacked = {k: torch.from_numpy(np.stack([row[k] for row in rows])) for k in space}
    if "language" in stacked:
        sentences = [SENTENCES[i % len(SENTENCES)] for i in range(batch)]
        stacked["language"] = torch.from_numpy(TEXT.encode(sentences))
    return stacked


def make_model(action_space, space=SPACE, seed=0, **options):
    """A model in eval mode; options of `VLAConfig`, and of the backbone."""
    backbone_options = options.pop("backbone", {})
    torch.manual_seed(seed)
    config = VLAConfig(**options)
    backbone = FakeBackbone(**backbone_options)
    return VLAModel(backbone, space, action_space, config).eval()
