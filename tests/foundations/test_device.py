"""Devices and threads."""

from collections.abc import Iterator

import pytest
import torch

from yieldrl.foundations import device, resolve_device, set_threads


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_auto_takes_a_gpu_if_there_is_one() -> None:
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto").type == expected
    assert resolve_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["abacus", "", "cuda:99"])
def test_an_unusable_device_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"device = '.*': not usable .*use 'cpu'$"):
        resolve_device(name)


@pytest.mark.parametrize(
    ("wanted", "images", "expected"),
    [(None, False, 1), (None, True, 3), (3, False, 3), (1, True, 1)],
)
@pytest.mark.usefixtures("threads")
def test_threads_are_one_for_vectors_and_half_of_the_cores_for_images(
    wanted: int | None, images: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a run before it in this process took."""
    monkeypatch.setattr(device, "usable_cores", lambda: 6)
    set_threads(wanted, images=images)
    assert torch.get_num_threads() == expected
