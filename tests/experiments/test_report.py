"""The page about runs: what it says, also of strangers, and that it asks nobody."""

import json
import re
import time
from html.parser import HTMLParser

import pytest
from run_folders import make_run

from yieldrl.cli import main
from yieldrl.experiments import report, run_files
from yieldrl.loggers.files import write_atomically

NAME = "<img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []
        self.html = path.read_text("utf-8")
        self.feed(self.html)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)


def test_all_of_a_run_is_in_one_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--total-steps", "512", "--eval-every", "256", "--run-name", "mine"]
    main(["train", "q_learning", *words])
    capsys.readouterr()
    main(["report", "runs"])
    assert capsys.readouterr().out == "report.html\n"
    page = Page(tmp_path / "report.html")
    assert page.html.count("<h1>q_learning on FrozenLake-v1</h1>") == 1
    about = run_files.read_run("runs/mine")
    (file,) = (tmp_path / "runs" / "mine" / "evaluations").iterdir()
    returns = [x["episode_return"] for x in json.loads(file.read_text())["episodes"]]
    assert f"{file.stem}: 20 episodes, return {sum(returns) / 20:.4g} " in page.text
    assert " ".join(f"{x:g}" for x in returns) in page.text
    for fact in (*about["versions"].values(), about["command"], "512 of 512"):
        assert fact in page.text
    assert {"td_error", "epsilon_end", "0.1"} <= {*re.split(r"[ /]", page.text)}


def test_a_page_about_strangers_is_harmless_and_asks_nobody(tmp_path):
    """Their names, settings, metrics, films and workers are text, and no elements."""
    runs = tmp_path / "runs"
    one = make_run(runs / NAME, {1: 2, 2: 3}, ray_address="<b>$1")
    make_run(one, {1: 2}, metric="train,<i>$x_")
    make_run(runs / "two", {1: 5}, gamma=0.5, ray_address="</svg>")
    write_atomically(one / "videos" / "step_1.mp4", "film")
    outcome = {"task": "<i>", "episode_return": 3, "success": True}
    evaluation = {"suite": "<u>", "episodes": [outcome, {"episode_return": 1}]}
    write_atomically(one / "evaluations" / "<s>.json", json.dumps(evaluation))
    workers = {"time": time.time(), "lives": [0], "steps": {"0": 7}, "logs": {"<a>": 1}}
    write_atomically(one / "cluster.json", json.dumps(workers))
    page = Page(report.write([runs], tmp_path / "out" / "page.html"))
    assert not {"script", "img", "b", "i", "u", "s", "a", "link", "iframe"} & {
        *page.tags
    }
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href"):
            assert value.startswith(("data:video/mp4;base64,", "#"))
    assert not re.search(r"url\((?!#)|@import", page.html)
    assert page.tags.count("svg") == 2
    for text in (
        NAME,
        "<b>$1",
        "</svg>",
        "<i> 3",
        "<s>: 2 episodes",
        "<a>",
        "gamma 0.99 0.5",
    ):
        assert text in page.text
    assert 'src="data:video/mp4;base64,ZmlsbQ=="' in page.html
    assert "width=device-width" in page.html
    assert "default-src 'none'" in page.html


def test_what_cannot_be_put_in_is_said(tmp_path):
    one = make_run(tmp_path / "one", {1: 2}, seed=2)
    write_atomically(one / "videos" / "long.mp4", "x" * 2000)
    page = Page(report.write([one], tmp_path / "page.html", max_video_mb=0.001))
    assert "one: long.mp4 is too large for this page." in page.text
    assert "video" not in page.tags
    write_atomically(one / "evaluations" / "a.json", "[1]")
    with pytest.raises(ValueError, match=r"a\.json: "):
        report.write([one])
    with pytest.raises(FileNotFoundError, match=r"has a logs\.csv"):
        report.write([tmp_path / "none"])
