"""What a policy writes: shown by the progress bar, and refused as a video."""

import functools

import pytest
import torch

from yieldrl import loggers
from yieldrl.algorithms import behavior_cloning, grpo, ppo
from yieldrl.core.text import decode
from yieldrl.language import policy_for
from yieldrl.loggers import tensorboard_events
from yieldrl.loggers.answers import latest_answer

SMALL = functools.partial(policy_for, d_model=16, num_layers=1, num_heads=2)
SUMS = {"env_id": "yieldrl/Sums-v1", "eval_every": 0, "device": "cpu", "num_envs": 16}


def writer(**options):
    fields = {"demonstration_steps": 0, "total_steps": 32, **options}
    return grpo.Trainer(grpo.Config(**SUMS | fields), model=SMALL)


def test_it_is_the_newest_step_in_the_words_of_the_world():
    trainer = writer()
    assert latest_answer(trainer) is None, "nothing is collected yet"
    next(log for log in trainer() if trainer.buffer.full)
    rollout = trainer.buffer.rollout()
    prompt = decode(rollout["obs", "prompt"][0, 0])[0]
    tokens = rollout["action"][0, :1]
    [answer] = decode(trainer.model.tokenizer.to_bytes(tokens, trainer.model.length))
    assert latest_answer(trainer) == f"{prompt!r} -> {answer!r}, reward 0"
    right = f"{eval(prompt[:-1])}"
    spelled = torch.tensor([[*right.encode()]], dtype=torch.uint8)
    tokens = trainer.model.tokenizer.to_tokens(spelled)
    rollout["action"][0, 0] = 0
    rollout["action"][0, 0, : len(right)] = tokens[0]
    rollout["reward"][0, 0] = 1.0
    assert latest_answer(trainer) == f"{prompt!r} -> {right!r}, reward 1"


def test_other_worlds_and_experts_say_nothing():
    config = ppo.Config(eval_every=0, num_steps=8, device="cpu")
    trainer = ppo.Trainer(config)
    next(log for log in trainer() if trainer.buffer.full)
    assert latest_answer(trainer) is None
    fields = {"demonstration_steps": 16, "learn_steps": 1}
    clone = behavior_cloning.Config(**SUMS | fields)
    cloning = behavior_cloning.Trainer(clone, model=SMALL)
    next(log for log in cloning() if log["log_type"] == "train")
    assert latest_answer(cloning) is None


@pytest.mark.filterwarnings("ignore:grpo. in no group")
def test_tensorboard_has_some_with_prompt_and_reward(tmp_path, monkeypatch):
    """One for each quarter of a run."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setattr(tensorboard_events, "ANSWERS", 4)
    options = {"num_epochs": 1, "run_root": str(tmp_path / "runs")}
    trainer = writer(total_steps=16 * 16, **options)
    stack = loggers.tensorboard(every=16)(trainer)
    seen = {}
    for log in stack():
        if trainer.buffer.full:
            seen.setdefault(log["sample_step"], str(latest_answer(trainer)))
    events = EventAccumulator(
        str(trainer.run.folder / "tensorboard"), size_guidance={"tensors": 0}
    )
    events.Reload()
    found = {
        event.step: event.tensor_proto.string_val[0].decode()
        for event in events.Tensors("answer/text_summary")
    }
    assert len(found) == 4
    assert all(said == f"```\n{seen[step]}\n```" for step, said in found.items())


def test_there_is_no_video_of_text(tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="videos need imageio-ffmpeg")
    trainer = writer()
    said = "yieldrl/Sums-v1 is text and draws no pictures: leave the video out"
    with pytest.raises(ValueError, match=said):
        loggers.record_video(trainer, tmp_path / "film.mp4")
    with pytest.raises(ValueError, match=said):
        next(loggers.video(every=1)(trainer)())
