"""One token after the other: keys and values are kept, and change nothing."""

import pytest
import torch
from vla_folders import (
    CHUNKS,
    OBSERVED,
    openvla_backbone,
    paligemma,
    seen,
    write_openvla,
)

from yieldrl.vla import VLAConfig, load_vla_model
from yieldrl.vla.backends.tiny import tiny_tokenizer

AUTO = {"decoding": "autoregressive", "chunk_length": 2}


def tiny(**fields):
    config = VLAConfig(action_bins=16, **AUTO, **fields)
    return load_vla_model(config, OBSERVED, CHUNKS)


def adapted(**fields):
    model = tiny(lora_rank=2, **fields)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return model


@pytest.fixture
def make(request, tmp_path):
    def openvla(**fields):
        write_openvla(tmp_path, openvla_backbone())
        config = VLAConfig(model_path=str(tmp_path), **AUTO, **fields)
        return load_vla_model(config, OBSERVED, CHUNKS)

    def native(**fields):
        tokenizer = tiny_tokenizer(["go", "to"])
        tokenizer.tokenizer.save(str(tmp_path / "tokenizer.json"))
        paligemma(tokenizer.vocab_size + 32).save_pretrained(tmp_path)
        config = VLAConfig(model_path=str(tmp_path), action_bins=16, **AUTO, **fields)
        return load_vla_model(config, OBSERVED, CHUNKS)

    return {"adapted": adapted, "openvla": openvla, "paligemma": native}[request.param]


EVERY = pytest.mark.parametrize(
    "make", ["adapted", "openvla", "paligemma"], indirect=True
)


def decoder_of(model):
    return model.backbone.decoder


def acted(model, seed, **options):
    """What it does, and how many positions each of its passes had."""
    widths = []
    hook = decoder_of(model).register_forward_pre_hook(
        lambda _, args, given: widths.append(given["inputs_embeds"].shape[1]),
        with_kwargs=True,
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        output = model.act(seen(), generator=generator, **options)
    hook.remove()
    return output, widths


@EVERY
def test_the_tokens_and_log_probs_are_those_without(make):
    """Of sentences of unequal length, the shorter ones padded."""
    model = make().eval()
    for seed, deterministic in enumerate((False, True)):
        kept, narrow = acted(model, seed, deterministic=deterministic)
        model.backbone.new_cache = lambda: None
        plain, wide = acted(model, seed, deterministic=deterministic)
        del model.backbone.new_cache
        assert torch.equal(kept.action, plain.action)
        torch.testing.assert_close([*kept[1:]], [*plain[1:]], rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            said = model.evaluate(seen(), kept.action)
        torch.testing.assert_close(kept.log_prob, said.log_prob, rtol=1e-4, atol=1e-5)
        length = wide[0]
        assert wide == [length, length + 1, length + 2, length + 3]
        assert narrow == [length, 1, 1, 1]


@EVERY
def test_nothing_is_kept_while_layers_are_recomputed(make):
    """Those keep nothing: every pass is over all positions."""
    model = make(gradient_checkpointing=True).train()
    output = model.act(seen(), deterministic=True)
    output.log_prob.mean().backward()
    with torch.no_grad():
        said = model.evaluate(seen(), output.action)
    torch.testing.assert_close(output.log_prob, said.log_prob, rtol=1e-4, atol=1e-5)
    _, narrow = acted(model.eval(), 0)
    assert narrow[1:] == [1, 1, 1]
