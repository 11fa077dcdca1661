"""An actor that dies again and again is given up; one that works in between is not."""

import pytest

from yieldrl.distributed import WorkerError
from yieldrl.distributed.lives import Lives


def test_deaths_in_a_row_are_counted_of_each(caplog):
    lives = Lives("eval actor", 2, "an evaluation")
    for _ in range(4):
        lives.begin(0)
    lives.did_work(0)
    for _ in range(5):
        lives.begin(0)
        lives.begin(1)
    said = "eval actor 0 died 5 times in a row without an evaluation"
    with pytest.raises(WorkerError, match=said):
        lives.begin(0)
    assert lives == [9, 5]
    texts = [record.getMessage() for record in caplog.records]
    assert texts.count("eval actor 0 has died; it is started again") == 9
