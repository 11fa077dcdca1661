"""All claims, by the command that measures them."""

from pathlib import Path

from yieldrl.foundations.files import read_file

from .claim import Claim

HERE = Path(__file__).parent


def _load(kind: str, name: str) -> Claim:
    fields = {"module": name, **read_file(HERE / "claims" / kind / f"{name}.yaml")}
    module = f"yieldrl.benchmarks.claims.{kind}.{fields['module']}"
    return Claim(**fields | {"module": module})


CLAIMS: dict[str, dict[str, Claim]] = {
    kind: {name: _load(kind, name) for name in of["claims"].split()}
    for kind, of in read_file(HERE / "commands.yaml")["measured"].items()
    if "claims" in of
}
