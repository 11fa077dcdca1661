"""Causal models of Hugging Face, tiny and random, behind the same policy."""

import math

import pytest
import torch
from answers import pairs_of, texts
from gymnasium.spaces import Dict

from yieldrl.core import Utf8Text
from yieldrl.core.text import decode
from yieldrl.language import RewardModel, policy_for
from yieldrl.language.hugging_face import HuggingFaceTokenizer
from yieldrl.vla import load_adapters, save_adapters

reason = "causal models of Hugging Face need the packages of yieldrl[vla]"
transformers = pytest.importorskip("transformers", reason=reason)
tokenizers = pytest.importorskip("tokenizers", reason=reason)
peft = pytest.importorskip("peft", reason=reason)

SPACES = Dict(prompt=Utf8Text(8)), Utf8Text(6)
PROMPTS = ["17+25=", "1+2=", "go", "80+19="]


def own_tokenizer(**special):
    """Byte pairs of a few words, made on the spot."""
    pairs = tokenizers.Tokenizer(tokenizers.models.BPE())
    byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    pairs.pre_tokenizer, pairs.decoder = byte_level, tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=270,
        min_frequency=1,
        show_progress=False,
        special_tokens=["<end>"],
        initial_alphabet=byte_level.alphabet(),
    )
    pairs.train_from_iterator(["the sum is"] * 3 + ["17+25=42"], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=pairs, **special)


KINDS = {
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32},
    "llama": {
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    },
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for kind in KINDS:
        made[kind] = tmp_path_factory.mktemp(kind)
        tokenizer = own_tokenizer(eos_token="<end>")
        ends = {"eos_token_id": 0, "bos_token_id": 0, "vocab_size": len(tokenizer)}
        config = transformers.AutoConfig.for_model(kind, **KINDS[kind], **ends)
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        model.save_pretrained(made[kind])
        tokenizer.save_pretrained(made[kind])
    return made


def policy(folder, **options):
    return policy_for(*SPACES, model_path=str(folder), **options)


def asked(prompts=PROMPTS):
    return {"prompt": torch.from_numpy(SPACES[0]["prompt"].encode(prompts))}


@pytest.mark.parametrize("kind", KINDS)
def test_sampler_and_learner_agree(folders, kind):
    options = {"temperature": 0.7, "top_k": 5}
    model, obs = policy(folders[kind], **options), asked(PROMPTS * 10)
    action, extras = model.sample(obs, torch.Generator().manual_seed(0))
    assert action.shape == extras["log_prob"].shape == (40, 6)
    learned, *_ = model.evaluate_actions(obs, action)
    torch.testing.assert_close(learned, extras["log_prob"], rtol=0, atol=2e-5)
    written = model.written(action)
    assert (action[~written] == model.tokenizer.end).all()
    model.train()  # dropout never works
    assert torch.equal(model.evaluate_actions(obs, action)[0], learned)


def test_in_bfloat16_they_agree_to_its_rounding(folders):
    model, obs = policy(folders["llama"], dtype="bfloat16"), asked()
    assert next(model.parameters()).dtype == torch.bfloat16
    action, extras = model.sample(obs, torch.Generator().manual_seed(0))
    learned, *_ = model.evaluate_actions(obs, action)
    assert learned.dtype == torch.float32
    assert (learned - extras["log_prob"]).abs().max() < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_it_writes_what_transformers_writes(folders, kind):
    model, obs = policy(folders[kind]), asked()
    tokens, shown = model.tokenizer.prompt(obs["prompt"])
    expected = model.model.backbone.generate(
        input_ids=tokens,
        attention_mask=shown.long(),
        do_sample=False,
        max_new_tokens=6,
        pad_token_id=0,
        eos_token_id=0,
    )[:, tokens.shape[1] :]
    found = model.predict(obs)
    assert torch.equal(found[:, : expected.shape[1]], expected)


def test_answers_come_back_as_bytes():
    tokenizer = HuggingFaceTokenizer(own_tokenizer(eos_token="<end>"))
    space = Utf8Text(12)
    text = torch.from_numpy(space.encode(["the sum is", "42", "", "größer"]))
    tokens = tokenizer.to_tokens(text)
    assert tokens.shape == (4, 12)
    assert (tokens[0] != tokenizer.end).sum() < len("the sum is")  # byte pairs
    assert torch.equal(tokenizer.to_bytes(tokens, 12), text)
    assert decode(tokenizer.to_bytes(tokens, 4)) == ["the ", "42", "", "grö"]
    with pytest.raises(ValueError, match="has no eos_token"):
        HuggingFaceTokenizer(own_tokenizer())
    after = tokens.clone()
    after[1, 5:] = 7
    assert torch.equal(tokenizer.to_bytes(after, 12), text)
    # Some put a space before a text, which takes a token that has no room.
    pairs = own_tokenizer(eos_token="<end>")
    spaced = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    pairs.backend_tokenizer.pre_tokenizer = spaced
    text = torch.from_numpy(Utf8Text(2).encode(["4", "77"]))
    with pytest.raises(ValueError, match="of 3 tokens, and there is room for 2"):
        HuggingFaceTokenizer(pairs).to_tokens(text)


def test_prompts_are_read_as_the_template_says():
    tokenizer = HuggingFaceTokenizer(own_tokenizer(eos_token="<end>"), "go {}!")
    tokens, shown = tokenizer.prompt(asked(["1", "the sum is"[:8]])["prompt"])
    plain = own_tokenizer(eos_token="<end>")
    for row, text in enumerate(["go 1!", "go the sum !"]):
        assert tokens[row][shown[row]].tolist() == plain(text).input_ids
    assert not shown.all()
    assert shown[:, -1].all()


def test_an_answer_begins_where_the_prompt_ends(folders, tmp_path):
    """Tokenizers such as T5's put their end token after every text."""
    plain, begun = own_tokenizer(eos_token="<end>"), own_tokenizer(eos_token="<end>")
    template = tokenizers.processors.TemplateProcessing(
        single="<end> $A <end>", special_tokens=[("<end>", 0)]
    )
    begun.backend_tokenizer.post_processor = template
    begun.save_pretrained(tmp_path)
    ending = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ending("go").input_ids[-1] == ending.eos_token_id
    tokens, shown = HuggingFaceTokenizer(ending).prompt(asked()["prompt"])
    for row, text in enumerate(PROMPTS):
        assert tokens[row][shown[row]].tolist() == [0, *plain(text).input_ids]
    # What a template says itself is left as it is.
    tokens, _ = HuggingFaceTokenizer(plain, "{}<end>").prompt(asked()["prompt"])
    assert (tokens[:, -1] == 0).all()
    with pytest.raises(ValueError, match="prompt without a token"):
        HuggingFaceTokenizer(plain).prompt(asked(["go", ""])["prompt"])


def test_a_reward_model_is_made_of_one(folders):
    """GPT-2 names the next token by the weights that it reads tokens by."""
    writer = policy(folders["gpt2"])
    before = {k: v.clone() for k, v in writer.state_dict().items()}
    model = RewardModel(writer)
    pairs = pairs_of(writer, ["3", "3", "3"], ["4", "12", "7"])
    assert model.loss(pairs)[0].item() == pytest.approx(math.log(2))
    logs = list(model.fit(pairs, num_epochs=40, batch_size=3, learning_rate=1e-2))
    assert float(logs[-1]["loss"]) < 0.1
    three, four = texts(6, "3", "4").unsqueeze(1)
    assert model.judge(asked(["1+2="]), three) > model.judge(asked(["1+2="]), four)
    together = model.judge(asked(["1+2=", "17+25="]), three.expand(2, -1))
    alone = model.judge(asked(["1+2="]), three)
    torch.testing.assert_close(together[:1], alone)
    assert all(torch.equal(writer.state_dict()[k], v) for k, v in before.items())
    writer = policy(folders["llama"], lora_rank=2, lora_targets=("q_proj",))
    trained = {n for n, p in RewardModel(writer).named_parameters() if p.requires_grad}
    assert len(trained) == 2 * 1 * 2 + 1  # layers, targets, A and B, and the head
    assert sum("lora_" in name for name in trained) == 4
    frozen = RewardModel(policy(folders["llama"]).requires_grad_(False))
    assert all(p.requires_grad for p in frozen.parameters())


def test_adapters_are_trained_and_saved_alone(folders, tmp_path):
    plain, obs = policy(folders["llama"]), asked()
    model = policy(folders["llama"], lora_rank=2, lora_targets=("q_proj", "v_proj"))
    action = plain.predict(obs)
    expected, *_ = plain.evaluate_actions(obs, action)
    found, *_ = model.evaluate_actions(obs, action)
    assert torch.equal(found, expected)  # adapters begin at zero
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    assert len(trained) == 2 * 2 * 2  # layers, targets, A and B
    assert all("lora_" in name for name in trained)
    found.sum().backward()
    with torch.no_grad():
        for parameter in trained.values():
            parameter.add_(0.3)
    save_adapters(model, tmp_path / "adapters")
    other, *_ = model.evaluate_actions(obs, action)
    assert not torch.equal(other, expected)
    loaded = load_adapters(plain, tmp_path / "adapters")
    assert torch.equal(loaded.evaluate_actions(obs, action)[0], other)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
@pytest.mark.parametrize(("kind", "target"), [("llama", "q_proj"), ("gpt2", "c_attn")])
def test_adapters_go_to_peft_and_come_back(folders, tmp_path, kind, target):
    model = policy(folders[kind], lora_rank=2, lora_targets=(target,))
    obs = asked()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.3)
    action = model.predict(obs)
    expected, *_ = model.evaluate_actions(obs, action)
    save_adapters(model, tmp_path / "ours")
    plain = policy(folders[kind])
    for library in (transformers.AutoModelForCausalLM, peft.AutoPeftModelForCausalLM):
        theirs = library.from_pretrained(tmp_path / "ours").eval()
        plain.model.backbone = theirs
        assert torch.equal(plain.evaluate_actions(obs, action)[0], expected)
    theirs.save_pretrained(tmp_path / "theirs")
    loaded = load_adapters(policy(folders[kind]), tmp_path / "theirs")
    assert torch.equal(loaded.evaluate_actions(obs, action)[0], expected)
