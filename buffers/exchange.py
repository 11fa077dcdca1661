"""A value that several threads replace, each by one instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Exchange(Generic[Value]):
    """A value that is replaced as a whole, and never by two threads at once.

    Whoever wants to replace it looks at it and says what follows. Of two threads the
    first one is right, and the other looks anew. There is no lock, which would stay
    locked if Ctrl-C came between two lines of whoever holds it: then all others would
    wait for ever. Here it comes either before the one instruction, or after it.

    >>> count = Exchange(1)
    >>> count.change(lambda value: value + 1)
    2
    >>> count.now
    2
    """

    def __init__(self, value: Value) -> None:
        self._node = _Node(value)

    @property
    def now(self) -> Value:
        """The value."""
        return self._latest().value

    def change(self, function: Callable[[Value], Value]) -> Value:
        """Replace the value by what the function makes of it; return that.

        The function may be called again, if another thread was faster. Where it
        returns the value itself, or raises an exception, nothing changes.
        """
        while True:
            node = self._latest()
            value = function(node.value)
            if value is node.value:
                return value
            new = _Node(value)
            # The one instruction: it takes effect only if nothing follows yet.
            if vars(node).setdefault("following", new) is new:
                return value

    def _latest(self) -> _Node[Value]:
        node = self._node
        while "following" in vars(node):
            node = vars(node)["following"]
        self._node = node  # nobody needs those before; another thread may be ahead
        return node


class _Node(Generic[Value]):
    def __init__(self, value: Value) -> None:
        self.value = value
