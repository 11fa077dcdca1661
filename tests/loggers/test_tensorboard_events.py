"""The TensorBoard logger, read back with TensorBoard's own reader."""

import json

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from yieldrl import loggers


def read(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return events


def points(folder, tag):
    return [(event.step, event.value) for event in read(folder).Scalars(tag)]


def test_tags_steps_and_values_and_the_config_once(make_trainer):
    trainer = make_trainer(total_steps=40, eval_every=20)
    stack = loggers.tensorboard(every=20)(trainer)
    for _ in stack():
        break
    list(stack())
    folder = trainer.run.folder / "tensorboard"
    assert sorted(read(folder).Tags()["scalars"]) == [
        "collect/episode_return",
        "collect/episodes",
        "evaluate/episode_return",
        "evaluate/episodes",
        "train/loss",
    ]
    assert points(folder, "train/loss") == [(20, 5.5), (40, 15.5)]
    assert points(folder, "collect/episode_return") == [(20, 15.0), (40, 35.0)]
    assert points(folder, "evaluate/episode_return") == [(20, 10.0), (40, 20.0)]
    (text,) = read(folder).Tensors("config/text_summary")
    (block,) = text.tensor_proto.string_val
    fence, body, end = block.decode().partition("{")[0], block.decode(), "```"
    assert fence == "```json\n"
    assert body.endswith(end)
    assert json.loads(body[len(fence) : -len(end)]) == trainer.config.to_dict()
