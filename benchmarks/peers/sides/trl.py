"""Hugging Face `generate` and TRL's GRPOTrainer, on a GPT-2 as small as our model.

`python -m sides.trl TASK` prints what `benchmarks/claims/writing/tokens.py` asks for.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import torch


def network(task: dict[str, Any]) -> Any:
    """A GPT-2 of random weights, float32 and without dropout."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=task["vocabulary"],
        n_positions=task["prompt"] + task["answer"],
        n_embd=task["d_model"],
        n_layer=task["num_layers"],
        n_head=task["num_heads"],
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    return GPT2LMHeadModel(config)


def median_seconds(function: Callable[[], Any], count: int) -> float:
    """Of `count` calls, after one that warms up."""
    found = []
    for _ in range(count + 1):
        begin = time.perf_counter()
        function()
        found.append(time.perf_counter() - begin)
    return sorted(found[1:])[count // 2]


def generated(model: Any, task: dict[str, Any]) -> float:
    """Seconds of `generate`: answers of full length, drawn from all tokens."""
    batch, length = task["batch"], task["answer"]
    tokens = torch.randint(1, task["vocabulary"], (batch, task["prompt"]))
    options = {"do_sample": True, "top_k": 0, "max_new_tokens": length}
    options |= {"min_new_tokens": length, "attention_mask": torch.ones_like(tokens)}
    model.eval()
    return median_seconds(lambda: model.generate(tokens, **options), task["count"])


def learned(model: Any, task: dict[str, Any]) -> float:
    """Seconds of a gradient step on the log-probabilities of answers."""
    length = task["prompt"] + task["answer"]
    tokens = torch.randint(1, task["vocabulary"], (task["batch"], length))
    answer = tokens[:, task["prompt"] :].unsqueeze(-1)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    model.train()

    def step() -> None:
        keep = task["answer"] + 1
        logits = model(tokens, logits_to_keep=keep).logits[:, :-1]
        log_prob = logits.log_softmax(-1).gather(-1, answer)
        optimizer.zero_grad()
        log_prob.mean().backward()
        optimizer.step()

    return median_seconds(step, task["count"])


def tokenizer(task: dict[str, Any]) -> Any:
    """A token for each character; 0 ends and fills up."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = ["<end>", "<unknown>", *map(chr, range(33, 31 + task["vocabulary"]))]
    words = models.WordLevel({n: i for i, n in enumerate(names)}, "<unknown>")
    made = Tokenizer(words)
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    marks = {"eos_token": "<end>", "pad_token": "<end>", "unk_token": "<unknown>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **marks)


def grpo(task: dict[str, Any]) -> float:
    """Seconds of a step of GRPO: sampling, rewards, and one gradient step."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    begins: list[float] = []
    ends: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            begins.append(time.perf_counter())

        def on_step_end(self, *_: Any, **__: Any) -> None:
            ends.append(time.perf_counter())

    def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
        return [float(answer[0] % 2 == 0) for answer in completion_ids]

    prompts = [f"{a}+{b}=" for a in range(10, 100) for b in range(10, 100)]
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=task["batch"],
            num_generations=task["group"],
            max_completion_length=task["answer"],
            max_steps=task["count"] + 1,
            beta=0.0,
            top_k=0,
            learning_rate=1e-4,
            generation_kwargs={"min_new_tokens": task["answer"]},
            gradient_checkpointing=False,
            bf16=False,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            logging_steps=1_000,
            disable_tqdm=True,
        )
        GRPOTrainer(
            model=network(task),
            reward_funcs=reward,
            args=config,
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            processing_class=tokenizer(task),
            callbacks=[Clock()],
        ).train()
    found = [end - begin for begin, end in zip(begins, ends, strict=True)][1:]
    return sorted(found)[len(found) // 2]


def main(task: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(task["threads"])
    torch.manual_seed(task["seed"])
    model = network(task)
    names = "torch", "transformers", "trl"
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "sample": generated(model, task),
        "learn": learned(model, task),
        "grpo": grpo(task),
        "versions": {name: metadata.version(name) for name in names},
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
