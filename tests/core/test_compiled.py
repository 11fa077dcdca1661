"""Functions under `torch.compile`: once, again where something changed, or an error."""

import copy
import logging

import pytest
import torch

from yieldrl.core.compiled import Compiled, with_own_code


def test_it_says_when_it_compiles_and_when_again(traced, caplog):
    class Scaled:
        factor = 2.0

        def __call__(self, x):
            return self.factor * x

    scaled = Scaled()
    call = Compiled("scaling", scaled.__call__)
    with caplog.at_level(logging.WARNING, "yieldrl.compile"):
        for _ in range(3):
            assert call(torch.ones(2)).tolist() == [2, 2]
        assert caplog.messages == ["scaling: PyTorch compiles it"]
        scaled.factor = 3.0
        assert call(torch.ones(2)).tolist() == [3, 3]
    first, again = caplog.messages
    assert again == f"{first} again, for other shapes or values"
    assert len(traced) == 2


def test_what_cannot_be_compiled_is_an_error_that_says_why(traced):
    def by_value(x):
        return x if x.sum().item() > 0 else -x

    with pytest.raises(RuntimeError, match="cannot compile the choice") as error:
        Compiled("choice", by_value)(torch.ones(2))
    assert "leave compile off" in str(error.value)


def test_a_copy_compiles_for_itself(traced):
    call = Compiled("doubling", lambda x: 2 * x)
    call(torch.ones(1))
    other = copy.deepcopy(call)
    assert other(torch.ones(1)).tolist() == [2]
    assert len(traced) == 2


def test_an_older_pytorch_can_tell_functions_apart_by_their_code():
    first, second = with_own_code(abs), with_own_code(len)
    assert first.__code__ != second.__code__
    assert (first(-2), second("ab")) == (2, 2)
