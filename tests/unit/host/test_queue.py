"""Whose turn it is, with work that really runs on the queue's thread."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from winnow_engine.core import Cancellation
from winnow_lsp.host.queue import Asker, Queue

PATIENCE_S = 120
ANYBODY = Asker()


@pytest.fixture
def counts() -> list[tuple[int, int]]:
    """How many questions ran and waited whenever the queue said that this had changed."""
    return []


@pytest.fixture
async def queue(counts: list[tuple[int, int]]) -> AsyncIterator[Queue]:
    made = Queue(lambda: counts.append((made.running, made.waiting)))
    yield made
    made.close()


class Job:
    """Work that runs until it is let go or cancelled, and what became of it."""

    def __init__(self) -> None:
        self.started, self.go, self.wind_down = asyncio.Event(), threading.Event(), threading.Event()
        self.wind_down.set()
        self.runs = 0
        self.ended = False
        self.places: list[int] = []
        self._loop = asyncio.get_running_loop()

    def prepare(self):
        self.runs += 1
        return self._work

    def _work(self, cancellation: Cancellation) -> str:
        self.ended = False
        self._loop.call_soon_threadsafe(self.started.set)
        while not self.go.wait(0.005) and not cancellation.cancelled:
            pass
        assert self.wind_down.wait(PATIENCE_S)
        self.ended = True
        cancellation.check()
        return "done"

    def ask(self, queue: Queue, asker: Asker = ANYBODY, needs_target: bool = True) -> asyncio.Task[str]:
        work = queue.question(self.prepare, self.places.append, asker, needs_target=needs_target)
        return asyncio.create_task(work)

    async def running(self) -> None:
        await asyncio.wait_for(self.started.wait(), PATIENCE_S)


async def test_questions_run_one_at_a_time_in_the_order_they_came(queue: Queue) -> None:
    jobs = [Job() for _ in range(3)]
    tasks = [job.ask(queue) for job in jobs]
    for number, (job, task) in enumerate(zip(jobs, tasks, strict=True)):
        await job.running()
        assert (queue.running, queue.waiting) == (1, 2 - number)
        assert [job.runs for job in jobs] == [1] * (number + 1) + [0] * (2 - number)
        job.go.set()
        assert await task == "done"
    assert (queue.running, queue.waiting) == (0, 0)


async def test_a_wide_queue_runs_several_at_once_and_the_next_as_soon_as_one_ends() -> None:
    queue = Queue(lambda: None, width=2)
    jobs = [Job() for _ in range(4)]
    tasks = [job.ask(queue) for job in jobs]
    for job in jobs[:2]:
        await job.running()
    assert (queue.running, queue.waiting) == (2, 2)
    assert [job.places for job in jobs] == [[0], [0], [1], [2]]
    jobs[1].go.set()
    await jobs[2].running()
    assert [job.runs for job in jobs] == [1, 1, 1, 0]
    assert jobs[3].places == [2, 1]
    for job in jobs:
        job.go.set()
    assert await asyncio.gather(*tasks) == ["done"] * 4
    queue.close()


async def test_what_needs_no_target_is_done_beside_an_answer_one_at_a_time(queue: Queue) -> None:
    answer, search, second, next_answer = [Job() for _ in range(4)]
    tasks = [job.ask(queue, needs_target=job is answer) for job in (answer, search, second)]
    tasks.append(next_answer.ask(queue))
    await answer.running()
    await search.running()
    assert [job.places for job in (answer, search, second, next_answer)] == [[0], [0], [1], [1]]
    search.go.set()
    await second.running()
    second.go.set()
    assert await asyncio.gather(*tasks[1:3]) == ["done"] * 2
    assert (queue.running, queue.waiting) == (1, 1)
    answer.go.set()
    next_answer.go.set()
    await asyncio.gather(*tasks)


async def test_who_asks_a_lot_keeps_nobody_else_waiting(queue: Queue) -> None:
    many, one = [Job() for _ in range(3)], Job()
    tasks = [job.ask(queue, Asker("ann")) for job in many]
    await many[0].running()
    tasks.append(one.ask(queue, Asker("bob")))
    await asyncio.sleep(0)
    assert [job.places for job in (*many, one)] == [[0], [1, 2], [2, 3], [1]]
    ran = [many[0], one, many[1], many[2]]
    for number, job in enumerate(ran):
        await job.running()
        assert [other.runs for other in ran] == [1] * (number + 1) + [0] * (3 - number)
        job.go.set()
    await asyncio.gather(*tasks)


async def test_one_whose_questions_go_on_from_each_other_has_them_answered_in_turn() -> None:
    queue = Queue(lambda: None, width=3)
    first, second, other = Job(), Job(), Job()
    tasks = [first.ask(queue, Asker("ann", in_turn=True)), second.ask(queue, Asker("ann", in_turn=True))]
    await first.running()
    tasks.append(other.ask(queue, Asker("bob", in_turn=True)))
    await other.running()
    assert (second.runs, second.places, queue.running, queue.waiting) == (0, [1], 2, 1)
    first.go.set()
    await second.running()
    for job in (second, other):
        job.go.set()
    await asyncio.gather(*tasks)
    queue.close()


async def test_those_whose_questions_are_answered_in_turn_are_told_of_all_before_them(queue: Queue) -> None:
    jobs = [Job() for _ in range(6)]
    tasks = [job.ask(queue, Asker(number % 2, in_turn=True)) for number, job in enumerate(jobs)]
    await jobs[0].running()
    assert [job.places for job in jobs] == [[0], [1], [2], [3], [4], [5]]
    for job in jobs:
        job.go.set()
    await asyncio.gather(*tasks)
    assert jobs[5].places == [5, 4, 3, 2, 1, 0]


async def test_a_search_that_waits_for_its_askers_answer_takes_nobody_elses_turn(queue: Queue) -> None:
    answer, search, first, second = jobs = [Job() for _ in range(4)]
    ann, bob = Asker("ann", in_turn=True), Asker("bob")
    tasks = [job.ask(queue, ann, needs_target=job is answer) for job in (answer, search)]
    tasks += [job.ask(queue, bob, needs_target=False) for job in (first, second)]
    await first.running()
    first.go.set()
    await second.running()
    assert (search.runs, answer.places, search.places, second.places) == (0, [0], [1], [1, 0])
    for job in jobs:
        job.go.set()
    assert await asyncio.gather(*tasks) == ["done"] * 4


async def test_each_question_is_told_how_many_come_before_it_whenever_that_changes(queue: Queue) -> None:
    first, second, third = jobs = [Job() for _ in range(3)]
    tasks = [job.ask(queue) for job in jobs]
    await first.running()
    assert [job.places for job in jobs] == [[0], [1], [2]]
    tasks[1].cancel()
    await asyncio.wait([tasks[1]])
    assert third.places == [2, 1]
    first.go.set()
    await third.running()
    assert (second.runs, third.places) == (0, [2, 1, 0])
    third.go.set()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_cancelling_waits_until_the_work_has_really_ended(queue: Queue) -> None:
    job, next_job = Job(), Job()
    job.wind_down.clear()
    task, next_task = job.ask(queue), next_job.ask(queue)
    await job.running()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # a second time, while it winds down
    await asyncio.sleep(0)
    assert not task.done()
    assert next_job.runs == 0
    job.wind_down.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert job.ended
    await next_job.running()
    next_job.go.set()
    assert await next_task == "done"


@pytest.mark.parametrize(("error", "prepared"), [(ZeroDivisionError("broken"), True), (LookupError("none"), False)])
async def test_work_that_fails_or_cannot_be_prepared_raises_to_its_asker_and_lets_the_next_one_run(
    queue: Queue, error: Exception, prepared: bool
) -> None:
    def work(_: Cancellation | None = None) -> None:
        raise error

    job = Job()
    job.go.set()
    asking = queue.question(lambda: work if prepared else work(), lambda _: None)
    failing, following = asyncio.create_task(asking), job.ask(queue)
    with pytest.raises(type(error), match=str(error)):
        await failing
    assert await following == "done"


async def test_background_work_stops_for_a_question_and_is_made_anew_afterwards(queue: Queue) -> None:
    background, question = Job(), Job()
    indexing = asyncio.create_task(queue.background(background.prepare))
    await background.running()
    asking = question.ask(queue)
    await question.running()
    assert background.ended
    assert (background.runs, queue.running, queue.waiting) == (1, 1, 0)
    background.started.clear()
    question.go.set()
    await asking
    await background.running()
    assert background.runs == 2
    background.go.set()
    assert await indexing == "done"


async def test_background_work_does_not_start_while_somebody_asks(queue: Queue) -> None:
    background, question = Job(), Job()
    asking = question.ask(queue)
    await question.running()
    background.go.set()
    indexing = asyncio.create_task(queue.background(background.prepare))
    await asyncio.sleep(0)
    assert background.runs == 0
    question.go.set()
    await asking
    assert await indexing == "done"
