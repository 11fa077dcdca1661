"""The site's figures are drawn when it is built, as far as pages refer to them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from yieldrl.docs import hooks
from yieldrl.docs._site import result_figures as figures


class Drawn:
    """Figures that note when they are drawn."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.data = {"a": {"runs": [1]}, "b": {"runs": [2]}}

    def __call__(self) -> dict[str, figures.plot.Figure]:
        return {
            name: figures.plot.Figure(self.draw, {"name": name, **data})
            for name, data in self.data.items()
        }

    def draw(self, data: dict[str, object], path: Path) -> Path:
        self.names.append(str(data["name"]))
        path.write_text(f"<svg>{data}</svg>")
        return path


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    drawn = Drawn()
    monkeypatch.setattr(figures, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(figures.plot, "figures", drawn)
    return drawn


def build(tmp_path: Path, content: str) -> Files:
    """As far as MkDocs builds until it copies files; a site of one page."""
    plugins = SimpleNamespace(_current_plugin=None)
    config = SimpleNamespace(
        site_dir=str(tmp_path / "site"), use_directory_urls=True, plugins=plugins
    )
    page = File("page.md", None, config.site_dir, use_directory_urls=True)
    page.page = SimpleNamespace(content=content)  # type: ignore[assignment]
    files = hooks.on_files(Files([page]), config)
    hooks.on_env(None, files)
    return files


def test_what_a_page_refers_to_is_drawn_and_nothing_else(drawn, tmp_path):
    files = build(tmp_path, '<img alt="b" src="../results/b.svg">')
    assert drawn.names == ["b"]
    file = files.get_file_from_path("results/b.svg")
    assert file is not None
    assert file.content_string == "<svg>{'name': 'b', 'runs': [2]}</svg>"
    assert files.get_file_from_path("results/a.svg") is None


def test_committed_results_are_files_of_the_site(drawn, tmp_path):
    files = build(tmp_path, "")
    for path in figures.results.FOLDER.glob("*.json"):
        file = files.get_file_from_path(f"results/{path.name}")
        assert file is not None
        assert file.abs_src_path == str(path)


def test_a_figure_is_drawn_anew_when_its_result_changes(drawn, tmp_path):
    for _ in range(2):
        build(tmp_path, '<img src="results/a.svg">')
    assert drawn.names == ["a"]
    drawn.data["a"] = {"runs": [3]}
    build(tmp_path, '<img src="results/a.svg">')
    assert drawn.names == ["a", "a"]
    (kept,) = (tmp_path / "cache" / "a").iterdir()
    assert "[3]" in kept.read_text()


@pytest.mark.parametrize("code", ["benchmarks/report.py", "experiments/plot.py"])
def test_a_figure_is_drawn_anew_when_the_code_changes(
    code, drawn, tmp_path, monkeypatch
):
    file = tmp_path / code
    file.parent.mkdir()
    file.write_text("before")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    figure = drawn()["a"]
    before = figures.cached("a", figure)
    file.write_text("after")
    assert figures.cached("a", figure) != before


def test_a_result_that_no_longer_matches_its_source_fails_the_build(
    tmp_path, monkeypatch
):
    hooks.on_pre_build()
    result = figures.results.load(figures.results.FOLDER / "dqn-clipping.json")
    figures.results.save(
        result | {"statement": "It was said otherwise."}, tmp_path / "x.json"
    )
    monkeypatch.setattr(figures.results, "FOLDER", tmp_path)
    with pytest.raises(PluginError, match=r"x\.json: statement was 'It was said other"):
        hooks.on_pre_build()


def test_without_matplotlib_the_build_says_what_to_install(
    drawn, tmp_path, monkeypatch
):
    def draw(data, path):
        raise ModuleNotFoundError("No module named 'matplotlib'")

    monkeypatch.setattr(drawn, "draw", draw)
    with pytest.raises(PluginError, match=r"matplotlib.*pip install -e '\.\[docs\]'"):
        build(tmp_path, '<img src="results/a.svg">')
    assert not list((tmp_path / "cache").rglob("*.svg"))
