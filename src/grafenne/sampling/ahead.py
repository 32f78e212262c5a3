"""Preparing the next batch while the present one is worked on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, TypeVar

from typing_extensions import Self

Item = TypeVar("Item")
Made = TypeVar("Made")


class Ahead(Generic[Item, Made]):
    """Makes something of each item, one item ahead of the caller, in a thread of its own.

    What is made must depend on the item alone; then the result is the same as without the thread.
    Items that are skipped are never made.

    >>> with Ahead(sampler.sample, batches) as samples:
    ...     for number in range(len(batches)):
    ...         sample = samples.take(number)

    Args:
        make: From an item to what is wanted; only ever called from one thread at a time.
        items: The items, in the order in which they will be taken.
    """

    def __init__(self, make: Callable[[Item], Made], items: Sequence[Item]) -> None:
        self._make, self._items = make, items
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="next-batch")
        self._begun: dict[int, Future[Made]] = {}

    def take(self, number: int) -> Made:
        """What was made of the item of this number; the next one is begun."""
        wanted = self._begin(number)
        self._begun.pop(number)
        if number + 1 < len(self._items):
            self._begin(number + 1)
        return wanted.result()

    def _begin(self, number: int) -> Future[Made]:
        if number not in self._begun:
            self._begun[number] = self._pool.submit(self._make, self._items[number])
        return self._begun[number]

    def close(self) -> None:
        """Ends the thread; what was begun for nobody is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._begun.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
