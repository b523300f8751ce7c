"""One line of the table: what is measured, how often, and what it says of the disk."""

from dataclasses import dataclass, field
from typing import Callable, Optional

# What a row says of durability, and how the count of flushes can prove it wrong.
FLUSHED = "each enqueue on disk"
EVERYTHING = "each command on disk"
NOT_FLUSHED = "survives a crash, not a power cut"
SETTLES = "settles wait for no flush"
NEVER = "never synced per message"
NONE = "in memory"
READ_ONLY = "-"


@dataclass
class Row:
    id: str
    section: str
    title: str
    # run(count, trace) gives what a program printed, or a number.
    run: Callable
    durability: str = FLUSHED
    unit: str = "messages/s"
    # Messages of the run that warms up; the others are as long as the rate of that one says.
    first: int = 1000
    # A fixed count, where a longer run would be another measurement.
    fixed: Optional[int] = None
    # How many messages one flush can make safe at most: those that producers wait for at the same time.
    together: Optional[int] = None
    quick: bool = False
    # Which of the run's latencies go into the table, if any.
    latency: Optional[str] = None
    # Another of the run's latencies, for a line of its own.
    also: Optional[str] = None
    lower_is_better: bool = False
    prepare: Optional[Callable] = None
    # Runs that count; None: as many as all others.
    runs: Optional[int] = None
    result: dict = field(default_factory=dict)


def value_of(row, measured):
    """The number that the row is about."""
    if "value" in measured:
        return measured["value"]
    if row.latency and row.unit in ("us", "ms"):
        return measured[row.latency]["p50"] / (1000 if row.unit == "ms" else 1)
    return measured["messages"] / measured["seconds"]
