"""What a file names is neither imported nor called unless the reader trusts it."""

import ast
import json
import sys
from itertools import pairwise
from pathlib import Path

import gymnasium as gym
import pytest
import torch
import yaml

import yieldrl
from yieldrl.algorithms import behavior_cloning, dpo, ppo, vla_ppo
from yieldrl.cli.app import main
from yieldrl.core.named_code import CODE_FIELDS, UntrustedError
from yieldrl.experiments import save_checkpoint
from yieldrl.loggers import checkpoint

ROOT = Path(yieldrl.__file__).parent
SHORT = {"total_steps": 8, "num_envs": 1, "num_steps": 8, "eval_every": 0}
STRANGER = """
from pathlib import Path
Path(__file__).with_name("imported").touch()
import gymnasium, torch
from yieldrl.algorithms import ppo
from yieldrl.loggers.base import Logger
class Env(gymnasium.envs.classic_control.CartPoleEnv):
    def __init__(self, **kwargs):
        super().__init__()
def make(**kwargs):
    return Env()
def wrap(env):
    return env
class Trainer(ppo.Trainer): pass
class Model(ppo.Model): pass
class Log(Logger):
    def run(self, trainer, logs): yield from logs
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a module of a stranger, which leaves a trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "stranger.py").write_text(STRANGER)
    yield tmp_path
    sys.modules.pop("stranger", None)


@pytest.fixture
def run(folder):
    """The folder of a run with one checkpoint."""
    config = ppo.Config(**SHORT, run_root=str(folder), run_name="run")
    with ppo.Trainer(config) as trainer:
        for _ in checkpoint(every=0)(trainer)():
            pass
    return folder / "run"


def ran_nothing(folder):
    here = {"stranger.py", "run", "forged.yaml", "policy.json"}
    return {path.name for path in folder.iterdir()} <= here


SYSTEM = {"env_id": "os:system", "env_kwargs": {"command": "touch executed"}}
POPEN = {"env_id": "subprocess:Popen", "env_kwargs": {"args": ["touch", "executed"]}}
OF_US = {
    "env_id": "yieldrl.core.files:write_whole",
    "env_kwargs": {"path": "executed", "content": "x"},
}
FORGERIES = {
    "a function": SYSTEM,
    "a class": POPEN,
    "a module": {"env_id": "stranger:Unknown-v0"},
    "an environment": {"env_id": "stranger:Env"},
    "a wrapper": {"wrappers": ["stranger:wrap"]},
    "a wrapper that is a function of Python": {"wrappers": ["os:system"]},
}


def forge(run, *, config=None, **entries):
    """Write other values into the checkpoint of a run."""
    path = next((run / "checkpoints").glob("step_*.pt"))
    state = torch.load(path, weights_only=True)
    state["config"] |= config or {}
    return save_checkpoint(state | entries, path)


DOORS = ["evaluate", "resume", "export"]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        *((what, "load") for what in FORGERIES),
        *(("a class", words) for words in DOORS),
        *(("a wrapper", words) for words in DOORS),
    ],
)
def test_a_checkpoint_of_a_stranger_runs_nothing(run, folder, capsys, what, words):
    path = forge(run, config=FORGERIES[what] | {"total_steps": 16})
    (run / "config.yaml").unlink()
    (run / "run.json").unlink()
    if words == "load":
        with pytest.raises(UntrustedError, match="trust=True"):
            ppo.Trainer.load(path)
    else:
        with pytest.raises(SystemExit, match="2"):
            main([words, str(run)])
        assert "--trust" in capsys.readouterr().err
    assert ran_nothing(folder)


@pytest.mark.parametrize("module", ["stranger", "this", "yieldrl.cli.app"])
def test_the_module_of_a_checkpoints_trainer_is_not_imported(run, folder, module):
    sys.modules.pop("this", None)
    forge(run, algorithm=module, trainer=f"{module}.Trainer")
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(run)])
    assert ran_nothing(folder)
    assert "this" not in sys.modules


BLOCKS = {
    "loggers": {"loggers": [{"os:system": {"command": "touch executed"}}]},
    "a logger of the stranger": {"loggers": ["stranger:Log"]},
    "policy": {"policy": {"name": "stranger:Model"}},
    "policy of Python": {
        "policy": {"name": "subprocess:Popen", "cfg": {"args": "touch executed"}}
    },
    "a model inside of the policy": {
        "policy": {"name": "vla", "vla_config": {"model_class": "stranger.Model"}}
    },
    "algorithm": {"algorithm": {"name": "stranger"}},
    "the class of an algorithm": {"algorithm": {"name": "stranger:Trainer"}},
    "env": {"env": SYSTEM},
    "env by its name": {"env": {"name": "os:system", "cfg": SYSTEM["env_kwargs"]}},
    "env in another block": {"trainer": SYSTEM},
}


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
def test_a_config_of_a_stranger_runs_nothing(folder, capsys, blocks):
    whole = {"algorithm": {"name": "ppo", **SHORT}, **blocks}
    (folder / "forged.yaml").write_text(yaml.safe_dump(whole))
    with pytest.raises(SystemExit, match="2"):
        main(["train", "--config", "forged.yaml"])
    assert "--trust" in capsys.readouterr().err
    assert ran_nothing(folder)


@pytest.mark.parametrize(
    ("block", "words"),
    [("loggers", "resume"), ("policy", "evaluate"), ("policy", "resume")],
)
def test_the_folder_of_a_run_of_a_stranger_runs_nothing(run, folder, block, words):
    forge(run, config={"total_steps": 16})
    (run / "config.yaml").unlink()
    about = json.loads((run / "run.json").read_text())
    about["config"] |= BLOCKS[block]
    (run / "run.json").write_text(json.dumps(about))
    with pytest.raises(SystemExit, match="2"):
        main([words, str(run)])
    assert ran_nothing(folder)


@pytest.mark.parametrize("name", CODE_FIELDS)
def test_a_field_of_a_config_file_runs_nothing(folder, name):
    of = {"judge": dpo, "demonstrations": behavior_cloning, "model_class": vla_ppo}
    kind = of.get(name, ppo).Config
    value = ["stranger:make"] if name == "wrappers" else "stranger:make"
    (folder / "forged.yaml").write_text(yaml.safe_dump({name: value}))
    with pytest.raises(UntrustedError, match=f"{name} = 'stranger:make'"):
        kind.from_file("forged.yaml")
    assert ran_nothing(folder)


def test_every_field_that_may_name_code_is_known():
    """The help of a field says `my_module:` or `package.module:` if it does."""
    named = {"wrappers"}  # whose example is Gymnasium's
    for file in [*ROOT.glob("*/*config*.py"), *ROOT.glob("algorithms/*/*.py")]:
        tree = ast.parse(file.read_text())
        for kind in tree.body:
            if not isinstance(kind, ast.ClassDef) or not kind.name.endswith("Config"):
                continue
            for field, text in pairwise(kind.body):
                documented = isinstance(field, ast.AnnAssign) and type(text) is ast.Expr
                if documented and "module:" in ast.unparse(text):
                    named.add(ast.unparse(field.target))
    assert named == CODE_FIELDS.keys()


def test_what_makes_no_environments_is_not_called_even_if_trusted(folder):
    for values in (SYSTEM, POPEN, OF_US):
        (folder / "forged.yaml").write_text(yaml.safe_dump(values))
        config = ppo.Config.from_file("forged.yaml", trust=True)
        with pytest.raises(ValueError, match="makes no environments"):
            ppo.Trainer(config)
        assert ran_nothing(folder)


@pytest.mark.parametrize("env_id", ["stranger:Env", "stranger:make"])
def test_what_is_trusted_goes_on(folder, capsys, env_id):
    words = ["train", "ppo", "--env-id", env_id, "--wrappers", "stranger:wrap"]
    words += [f"--{k.replace('_', '-')}={v}" for k, v in SHORT.items()]
    main([*words, "--run-root", str(folder), "--run-name", "own"])
    main(["evaluate", "own", "--episodes", "1", "--trust"])
    main(["resume", "own", "--total-steps", "16", "--trust"])
    assert "step 8" in capsys.readouterr().out


def test_a_data_set_names_no_environment_to_make(folder):
    """Minari would ask the environment in the metadata for missing spaces."""
    pytest.importorskip("minari", reason="the extra `minari` is not installed")
    from yieldrl.buffers.minari_data import open_dataset

    spec = gym.envs.registration.EnvSpec("Forged-v0", entry_point="os:system")
    spec.kwargs = {"command": "touch executed"}
    meta = {"env_spec": spec.to_json(), "data_format": "hdf5", "dataset_id": "x-v0"}
    (folder / "run").mkdir()
    (folder / "run" / "metadata.json").write_text(json.dumps(meta))
    with pytest.raises(UntrustedError, match="observation_space"):
        open_dataset(folder / "run")
    assert ran_nothing(folder)
