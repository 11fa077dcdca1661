"""Folders of runs that were never trained: their logs and their description."""

from yieldrl.algorithms import ppo
from yieldrl.experiments import run_files
from yieldrl.loggers.files import write_atomically


def make_run(folder, points, module=ppo, metric="evaluate,episode_return", **config):
    """Write a metric, step -> value, into `logs.csv`; and the config, if given."""
    kind, name = metric.split(",")
    rows = [f"{kind},{step},0,{name},{value}\n" for step, value in points.items()]
    file, head = folder / "logs.csv", "log_type,sample_step,learn_step,metric,value\n"
    before = file.read_text() if file.exists() else head
    write_atomically(file, before + "".join(rows))
    if config:
        with module.Trainer(module.Config(eval_every=0, **config)) as trainer:
            trainer.run.folder = folder
            run_files.describe(trainer)
    return folder
