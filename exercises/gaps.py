"""Which exercises there are, and how each is made: its solution with the gaps open."""

import ast
import re
import textwrap
from pathlib import Path

PACKAGE = "yieldrl.exercises"
HOME = Path(__file__).parent
GAP = re.compile(r"( *)# gap(?:: (.*))?\n((?:.*\n)*?)\1# end\n")
"""A gap of a solution: how far in, where to begin, and what belongs there."""


def chapters() -> dict[str, Path]:
    """Chapter -> folder of its exercise: `{"ch09": .../ch09_actor_critic_and_gae}`."""
    folders = sorted(path for path in HOME.glob("ch[0-9][0-9]_*") if path.is_dir())
    return {path.name.partition("_")[0]: path for path in folders}


def find(chapter: str) -> Path:
    """The folder of a chapter's exercise.

    Raises:
        ValueError: If it has none; the message says which there are.
    """
    known = chapters()
    name = chapter.partition("_")[0].lower().removeprefix("ch")
    key = f"ch{int(name):02}" if name.isdecimal() else chapter
    if key not in known:
        listed = ", ".join(known)
        raise ValueError(f"no exercise is called {chapter!r}: choose one of {listed}")
    return known[key]


def title(folder: Path) -> str:
    """What a chapter's exercise is about: the first line of its docstring."""
    text = (folder / "solution.py").read_text("utf-8-sig")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].rstrip(".")


def opened(folder: Path) -> str:
    """The text of `exercise.py`: the solution's, with its gaps open.

    What is between `# gap: where to begin` and `# end` becomes a `NotImplementedError`
    that says where to begin; without that it is left out.
    """
    text = (folder / "solution.py").read_text("utf-8")
    text = re.sub(r"\n\n+( *# gap\n)", r"\n\1", text)
    body = GAP.sub(_open, text).partition('"""\n')[2]
    key, names = folder.name.partition("_")[0], gaps(folder)
    last = f" and `{names.pop()}`" if len(names) > 1 else ""
    which = ", ".join(f"`{name}`" for name in names) + last
    says = f"Your turn: fill what is missing in {which}, and check it:"
    says = textwrap.fill(says, 88)
    return f'"""{title(folder)}.\n\n{says}\n\n    yieldrl check {key}\n"""\n{body}'


def _open(gap: re.Match[str]) -> str:
    indent, begin, _ = gap.groups()
    if begin is None:
        return ""
    line = f'{indent}raise NotImplementedError("{begin}")\n'
    inside = f'(\n{indent}    "{begin}"\n{indent})\n'
    return line if len(line) < 90 else line.partition("(")[0] + inside


def gaps(folder: Path) -> list[str]:
    """The functions and classes that have a gap."""
    return [name for name, gap in definitions(folder).items() if gap]


def definitions(folder: Path) -> dict[str, bool]:
    """All functions and classes of a solution, and whether they have a gap."""
    text = (folder / "solution.py").read_text("utf-8")
    whole, lines = ast.parse(text).body, text.splitlines()
    return {
        part.name: any(
            " # gap" in line for line in lines[part.lineno : part.end_lineno]
        )
        for part in whole
        if isinstance(part, ast.FunctionDef | ast.ClassDef)
    }
