"""What the README and the pages say is tried: their Python, output, diffs, commands."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import re
import runpy
import shlex
import shutil
import sys
import textwrap
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from sybil import Document, Example
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from yieldrl.benchmarks import __main__ as benchmarks
from yieldrl.benchmarks import figure
from yieldrl.cli import app, catalog, options
from yieldrl.envs import make
from yieldrl.exercises import chapters, training

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
]
INFO = re.compile(r"(?P<language>[^\s`]*)(?P<rest>[^\n`]*)\n")
FENCES = RawFencedCodeBlockLexer(INFO)
REASON = re.compile(r"<!-- notest: (.+?) -->\s*$")


ROUGHLY = "prints, where this was run"


@dataclass
class Fence:
    """A block of code in a page."""

    example: Example  # of sybil's, which runs it
    language: str
    title: str
    body: str
    reason: str  # why it is not run, if it is not


def fences(page: Path) -> list[Fence]:
    document = Document(page.read_text("utf-8"), str(page))
    document.namespace["__name__"] = "__page__"
    for region in FENCES(document):
        region.parsed, region.evaluator = region.lexemes["source"], PythonEvaluator()
        if region.lexemes["language"] != "markdown":  # which shows a page, with blocks
            document.add(region)
    return [_fence(example) for example in document]


def _fence(example: Example) -> Fence:
    lexemes = example.region.lexemes
    title = re.search(r'title="([^"]*)"', lexemes["rest"])
    reason = REASON.search(example.document.text[: example.start])
    return Fence(
        example=example,
        language=lexemes["language"],
        title=title[1] if title else "",
        body=textwrap.dedent(example.parsed),
        reason=reason[1] if reason else "",
    )


def with_fences(*languages: str) -> list[Path]:
    def is_wanted(page: Path) -> bool:
        return any(fence.language in languages for fence in fences(page))

    return [pytest.param(p, id=p.name) for p in PAGES if is_wanted(p)]


def is_file(fence: Fence) -> bool:
    """Whether a reader is to lay a block into the working directory."""
    suffixes = {"python": ".py", "json": ".json", "yaml": ".yaml"}
    suffix = suffixes.get(fence.language)
    return suffix is not None and fence.title.endswith(suffix)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """A working directory, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def run(page: Path) -> None:
    """Run the Python of a page, block after block, in one namespace.

    Blocks of the real source (`{.python ...}`) and those with a reason are left out. A
    block with the title "prints" is what the block before it must have printed. Where
    the title is `ROUGHLY`, numbers on the way may differ, as they do from machine to
    machine; what begins each line and how it ends must not. A block whose title is a
    file's name is also written as that file, as a reader does.
    """
    printed = io.StringIO()
    for fence in fences(page):
        where = f"{page.name}, line {fence.example.line}"
        if is_file(fence):
            Path(fence.title).write_text(fence.body)
        if fence.title == "prints":
            assert printed.getvalue().strip() == fence.body.strip(), where
        elif fence.title == ROUGHLY:
            assert outline(printed.getvalue()) == outline(fence.body), where
        elif fence.language == "python" and not fence.reason:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                fence.example.evaluate()


def outline(printed: str) -> tuple[list[str], str]:
    """The first word of every line, and the whole last line."""
    lines = printed.strip().splitlines()
    return [line.split()[0] for line in lines], lines[-1]


@pytest.mark.slow
@pytest.mark.parametrize("page", with_fences("python"))
@pytest.mark.usefixtures("own_folder")
def test_python_runs(page):
    run(page)


def test_an_error_names_the_line_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Text.\n\n=== tab\n\n    ```python\n    fine = 1\n    1 / 0\n    ```\n"
    )
    with pytest.raises(ZeroDivisionError) as error:
        run(page)
    assert error.traceback[-1].lineno + 1 == 7
    assert str(error.traceback[-1].path) == str(page)


def test_output_is_compared(tmp_path):
    page = tmp_path / "page.md"
    text = '```python\nprint(1)\n```\n\n```text title="prints"\n{}\n```\n'
    page.write_text(text.format(1))
    run(page)
    page.write_text(text.format(2))
    with pytest.raises(AssertionError, match=r"page\.md, line 5"):
        run(page)


def commands(page: Path) -> list[list[str]]:
    bodies = [fence.body for fence in fences(page) if fence.language == "bash"]
    lines = re.sub(r"(^| )#.*|\\\n", "", "\n".join(bodies), flags=re.M)
    parts = re.split(r"\n|; do |; done|;", lines)
    return [words for part in parts if (words := shlex.split(part))]


@pytest.mark.parametrize("page", with_fences("bash"))
def test_commands_exist(page):
    for words in commands(page):
        check(words)


def test_files_of_pages_are_whole_runs(own_folder):
    shown = [fence for page in PAGES for fence in fences(page)]
    for fence in shown:
        if is_file(fence):
            Path(fence.title).write_text(fence.body)
    files = sorted(path.name for path in own_folder.glob("*.[jy]*"))
    assert files == ["mine.yaml", "my_config.json", "vla_example.json"]
    for file in files:
        words = ["--config", file, "--trust"]  # they name classes of one's own
        command = options.parse(None, words, "yieldrl train")
        command.spec.parts()
        command.spec.make_loggers()
        make(command.config.env_id, command.config).close()


def check(words: list[str]) -> None:
    """A command of the project, with options that it has; other programs pass."""
    match words:
        case ["make", *words]:
            targets = {word for word in words if "=" not in word}
            known = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
            assert targets <= {*known}, words
        case ["yieldrl", "train", "--config", _, *rest]:  # its page shows the file
            parse_options("ppo", rest)
        case ["yieldrl", "train", name, *rest]:
            for option, value in pairwise(rest):  # one spelling: ppo/pendulum
                assert option != "--config" or set(value) & set("/."), words
            parse_options(name, rest)
        case ["yieldrl", "tune", name, *rest]:
            parse_options(name, rest, options.TuneOptions)
        case ["torchrun", "--nproc-per-node", _, "-m", *rest]:
            check(rest)
        case ["python", "-m", "my_ppo", *rest]:
            unknown_to_ppo = [i for i, w in enumerate(rest) if w == "--clip-coef-high"]
            for i in unknown_to_ppo:  # the page adds it: see the test of its diff
                del rest[i : i + 2]
            parse_options("ppo", rest)
        case ["python", "-m", "my_dqn", *rest]:
            parse_options("dqn", rest)
        case ["yieldrl", name, *rest]:
            inner = {"list": "list_algorithms", "import": "import_agent"}.get(name)
            command = getattr(app, inner or name)
            known = {"--from"} | {
                "--" + parameter.replace("_", "-")
                for parameter in inspect.signature(command).parameters
            }
            used = {word for word in rest if word.startswith("--")}
            assert used <= known, words
        case ["python", "-m", "yieldrl.exercises", chapter, *rest]:
            path = chapters()[chapter]
            solution = f"yieldrl.exercises.{path.name}.solution"
            parts = training.own_parts(importlib.import_module(solution))
            chosen = [part for part in parts if part.__name__ in rest[:1]]
            for part in chosen or parts:
                parse_options(training.trainer_class(part), rest[len(chosen) :])
        case ["python", "-m", "benchmarks", *rest]:
            benchmarks.parse(rest)
        case ["python", "-m", module, *rest] if module.startswith("benchmarks."):
            script = importlib.import_module(f"yieldrl.{module}")
            figure.parser(*script.SAYS).parse_args(rest)
        case [".venv-libero/bin/pip" | ".venv-libero/bin/yieldrl" | "apt-get", *_]:
            pass  # another environment, or the system
        case [".venv/bin/yieldrl" | ".venv/bin/pip" as program, *rest]:
            check([program.rpartition("/")[2], *rest])
        case ["ray", "job", "submit", *rest]:
            check(rest[rest.index("--") + 1 :])
        case ["ray", "up" | "dashboard", "cluster.yaml"]:
            pass
        case ["ray", "start" | "get-auth-token", *_] | [
            "export",
            "RAY_AUTH_MODE=token",
        ]:
            pass
        case ["python", "-m", "venv" | "pip" | "twine", *_] | ["uv", "sync", *_]:
            pass
        case ["docker", "build", *_]:
            assert (ROOT / "Dockerfile").is_file()
        case ["docker", "run", *rest] | ["uv", "run", *rest]:
            at = next(i for i, word in enumerate(rest) if word.startswith("yieldrl"))
            check(["yieldrl", *rest[at + 1 :]])
        case ["cp" | "for" | "pip" | "git" | "cd" | "hf" | ".ci/run", *_]:
            pass
        case ["tensorboard", *_]:
            pass
        case ["trackio", "show", "--project", _]:
            pass
        case _:
            pytest.fail(f"who knows this command? {words}")


def parse_options(
    trainer: str | type[Any], words: list[str], kind: type[Any] = options.Options
) -> None:
    if isinstance(trainer, str):
        trainer = importlib.import_module(f"{catalog.PACKAGE}.{trainer}").Trainer
    if "--config" in words and "RUN" in words[words.index("--config") + 1]:
        at = words.index("--config")
        words = words[:at] + words[at + 2 :]
    words = ["1" if word == "$seed" else word for word in words]
    config = options.parse(trainer, words, "yieldrl", kind).config
    if gymnasium.spec(config.env_id).name != "LIBERO":  # has its own environment
        gymnasium.make(config.env_id).close()


def test_unknown_commands_are_noticed():
    with pytest.raises(AssertionError):
        check(["make", "coffee"])
    with pytest.raises(AttributeError):
        check(["yieldrl", "juggle"])
    with pytest.raises(AssertionError):
        check(["yieldrl", "plot", "--colour", "red"])
    with pytest.raises(AssertionError):
        check(["yieldrl", "train", "ppo", "--config", "pendulum"])
    with pytest.raises(SystemExit):
        check(["yieldrl", "train", "ppo", "--learning-rat", "1"])
    with pytest.raises(SystemExit):
        check(["python", "-m", "benchmarks", "learning", "ppo-chess"])


@pytest.mark.slow
def test_diffs_apply_and_the_changed_copy_runs(tmp_path, monkeypatch):
    copied = tmp_path / "my_ppo"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "algorithms" / "ppo", copied, ignore=ignored)
    diffs = [f for f in fences(ROOT / "docs" / "copy.md") if f.language == "diff"]
    assert len(diffs) == 2
    for diff in diffs:
        path = tmp_path / diff.title
        text = path.read_text()
        # Context lines start with a space, and an empty one may have lost it.
        lines = [line or " " for line in diff.body.splitlines()]
        old = "\n".join(line[1:] for line in lines if line[0] != "+")
        new = "\n".join(line[1:] for line in lines if line[0] != "-")
        assert text.count(old) == 1, f"{diff.title}: the page's context is not there"
        path.write_text(text.replace(old, new))
    words = "--total-steps 512 --eval-every 0 --run-name changed --clip-coef-high 0.4"
    monkeypatch.setattr(sys, "argv", ["my_ppo", *words.split()])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    runpy.run_module("my_ppo", run_name="__main__", alter_sys=True)
    for name in [name for name in sys.modules if name.split(".")[0] == "my_ppo"]:
        del sys.modules[name]  # a copy of this name is refused where it is a module
    assert "clip_coef_high: 0.4" in (tmp_path / "runs/changed/config.yaml").read_text()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_into_the_repository_lead_somewhere(name):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / name).read_text("utf-8"))
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
