import operator
import os
from functools import partial

import pytest

from winnow_research.errors import EvaluationError
from winnow_research.evaluation.processes import processes


def test_tasks_are_done_with_what_each_process_opened_and_come_in_order() -> None:
    with processes(2, partial(int, "40")) as spread:
        assert list(spread(operator.add, range(5))) == [40, 41, 42, 43, 44]


def die(opened: int, task: int) -> None:
    os._exit(opened + task)


def test_a_process_that_dies_is_a_named_error() -> None:
    with processes(1, partial(int, "1")) as spread, pytest.raises(EvaluationError, match="fewer --jobs"):
        list(spread(die, [1]))
