"""The store in PostgreSQL: one server on this machine, each commit on its disk; beside it what a table and SKIP LOCKED do in C
(section peers)."""

import contextlib

from . import servers
from .programs import call
from .row import FLUSHED, Row
from .rows import processes
from .waits import IdleWorker, idle_row, wake, wake_row, watch


# How many messages have come and gone since somebody has left a transaction open.
LEFT_BY_OTHERS = 200_000


def postgres(place):
    def on_server(work):
        def run(count, trace=None):
            with servers.Postgres(place, "penstock-postgres", trace) as server:
                return work(server.address(), count, trace)
        return run

    def alone(*words):
        return on_server(lambda address, count, trace: call(
            [place.postgres_driver, *words, "--count", count, "--db", address], trace))

    def apart(producers, workers, *work):
        return on_server(lambda address, count, trace: processes(
            place, producers, 1, 1, workers, work, driver=place.postgres_driver, database=address)(count, trace))

    def beside_a_snapshot(count, trace=None):
        with servers.Postgres(place, "penstock-postgres", trace) as server:
            address = server.address()
            life = [place.postgres_driver, "life", "--producers", 64, "--handlers", 64, "--db", address]
            call([*life, "--count", 1000])
            with server.snapshot():
                call([*life, "--keep", "--count", LEFT_BY_OTHERS])
                return call([*life, "--keep", "--count", count], trace)

    @contextlib.contextmanager
    def idle_client():
        with servers.Postgres(place, "penstock-postgres") as server, IdleWorker(place.postgres_driver, server.address()) as pids:
            yield pids

    def row(name, title, run, **options):
        return Row(f"penstock-postgres.{name}", "postgres", title, run, FLUSHED, **options)

    yield row("enqueue.64", "enqueue, 64 producers that wait", alone("enqueue", "--producers", 64), first=2000, together=64,
              latency="latency")
    yield row("enqueue.b1000", "enqueue, batches of 1000", alone("enqueue", "--producers", 1, "--batch", 1000), first=10000,
              together=1000)
    yield row("life.64", "full life, 64 producers and 64 handlers, one at a time",
              alone("life", "--producers", 64, "--handlers", 64), first=1000, together=64, quick=True, latency="latency")
    yield row("life.64.snapshot", f"the same beside a transaction left open, {LEFT_BY_OTHERS:,} messages later", beside_a_snapshot,
              first=1000, together=64, latency="latency")
    yield row("life.batches", "full life, 4 producers of 100, 2 tasks claim and settle 100",
              alone("life", "--producers", 4, "--batch", 100, "--consumers", 2, "--claim", 100), first=5000, together=400)
    yield row("eight", "full life, 8 producer and 4 worker processes, one at a time", apart(8, 4, "--handlers", 1), first=500,
              together=8, latency="latency")
    yield wake_row(place, "penstock-postgres.wake", "postgres", "Penstock",
                   on_server(lambda address, count, trace: wake(place, place.postgres_driver, address, count)), FLUSHED)
    yield idle_row("penstock-postgres.idle", "postgres", "Worker that waits: the client alone", watch(place, idle_client))
