"""Config of the processes on Ray that imagine."""

from typing import Annotated, Any, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.foundations.checked import Checked


@dataclass(frozen=True, kw_only=True)
class ImaginesElsewhere(Checked):
    """Fields of imagination on Ray; it stands before the config of an algorithm."""

    imagination_actors: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Processes that imagine an equal share of the branches each, with `ray`; they take
    a GPU each where `device` names one. With 0 this process imagines."""

    def __post_init__(self) -> None:
        parent: Any = super()
        parent.__post_init__()
        whole: Any = self
        if self.imagination_actors and whole.collection != "ray":
            said = "it is for processes of collection='ray'"
            raise self.error("imagination_actors", said)

    def in_one_process(self, **changes: Any) -> Self:
        """This config without other processes, for use in one of these."""
        parent: Any = super()
        return parent.in_one_process(imagination_actors=0, **changes)
