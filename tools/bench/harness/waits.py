"""Rows about waiting: wake-ups, backlogs, idle workers, memory and files."""

import time

from . import servers
from .programs import Board, Running, call, cpu_seconds, resident_bytes
from .row import EVERYTHING, FLUSHED, READ_ONLY, Row


def wake(place, driver, database, count):
    """From an enqueue in one process to the handler in another, which was idle."""
    call([driver, "fill", "--db", database])
    board = Board(place.scratch / "board")
    common = ["--db", database, "--keep", "--board", board.path]
    worker = Running([driver, "wake-work", *common])
    sender = Running([driver, "wake-send", *common, "--count", count])
    try:
        for one in (worker, sender):
            one.wait_until_ready()
            one.go_on()
        result = sender.result()
        worker.go_on()
    finally:
        worker.process.wait(timeout=30)
        worker.end()
        sender.end()
    return result


def wake_row(place, id, section, title, run, durability, **options):
    return Row(id, section, f"{title}: to the handler of another process, from enqueue returned", run, durability, unit="us",
               fixed=60 if place.quick else 200, latency="returned", also="called", lower_is_better=True, **options)


def latency(place):
    def own(count, trace=None):
        return wake(place, place.driver, place.database("wake"), count)

    def redis(count, trace=None):
        with servers.Redis(place, "wake", trace) as running:
            return call([place.peers, "wake", "redis-streams", "--count", count, *running.options()])

    yield wake_row(place, "wake.penstock", "latency", "Penstock", own, FLUSHED, quick=True)
    yield wake_row(place, "wake.redis", "latency", "redis streams", redis, EVERYTHING, quick=True)


def backlogs(scale=1):
    """What a claim is measured beside: a name, a title, and how many messages there are of each state."""
    thousand, million, many = 1000, 1_000_000 // scale, 5_000_000 // scale
    return [
        ("thousand", f"{thousand:,} ready", dict(ready=thousand)),
        ("million", f"{million:,} ready", dict(ready=million)),
        ("many", f"{many:,} ready", dict(ready=many)),
        ("scheduled", f"{thousand:,} ready beside {million:,} scheduled", dict(ready=thousand, scheduled=million)),
        ("finished", f"{thousand:,} ready beside {million:,} finished", dict(ready=thousand, finished=million)),
    ]


def backlog(place):
    """What a claim costs beside very many other messages."""
    for name, title, fill in backlogs(scale=20 if place.quick else 1):
        for batch in (1, 100):
            def prepare(name=name, fill=fill, batch=batch):
                if batch == 1:
                    words = [word for key, count in fill.items() for word in (f"--{key}", count)]
                    call([place.driver, "fill", "--db", place.database(f"backlog-{name}"), *words], timeout=900)

            def run(count, trace=None, name=name, batch=batch):
                return call([place.driver, "claims", "--db", place.database(f"backlog-{name}"), "--keep", "--count",
                             count, "--batch", batch])

            yield Row(f"backlog.{name}.{batch}", "backlog", f"claim of {batch}, {title}", run, READ_ONLY, unit="us",
                      fixed=500 if batch == 1 else 8, latency="claim", lower_is_better=True, prepare=prepare,
                      quick=True)


WINDOWS = 5


def watch(place, start):
    """Starts something idle, and measures processor time in windows of a minute's part."""
    seconds = 10 if place.quick else 60

    def run(count, trace=None):
        with start() as pids:
            # Ten seconds long after something was written Penstock looks for more four times a second.
            time.sleep(1 if place.quick else 15)
            values = []
            for _ in range(WINDOWS):
                before = sum(map(cpu_seconds, pids))
                time.sleep(seconds / WINDOWS)
                values.append((sum(map(cpu_seconds, pids)) - before) * 1000 * 60 / (seconds / WINDOWS))
        return {"messages": 0, "seconds": seconds, "values": values}
    return run


def idle_row(id, section, title, run, **options):
    return Row(id, section, title, run, READ_ONLY, unit="ms CPU/min", lower_is_better=True, fixed=1, runs=1, **options)


class IdleWorker:
    """A worker of a queue in which nothing is."""

    def __init__(self, driver, database, command=None, schedules=0, queues=0):
        self.driver, self.database = driver, database
        # Another program that works the queue, which does not say when it is ready.
        self.command = command
        self.schedules = schedules
        self.queues = queues

    def __enter__(self):
        call([self.driver, "fill", "--db", self.database])
        self.running = Running(
            self.command or [self.driver, "idle", "--keep", "--db", self.database, "--schedules", self.schedules,
                             "--queues", self.queues])
        if not self.command:
            self.running.wait_until_ready(120)
        return [self.running.pid]

    def __exit__(self, *_):
        self.running.process.terminate()
        self.running.end()


def idle(place):
    """What a worker costs that has nothing to do, and one that has a million messages."""
    class RedisPair:
        def __enter__(self):
            self.server = servers.Redis(place, "idle")
            self.server.__enter__()
            self.client = Running(
                [place.peers, "idle", "redis-streams", "--wait", 0, *self.server.options()])
            self.client.wait_until_ready()
            return [self.server.process.pid, self.client.pid]

        def __exit__(self, *_):
            self.client.end()
            self.server.__exit__()

    def library(schedules=0):
        return IdleWorker(place.driver, place.database("idle"), schedules=schedules)

    def command():
        place.need("penstock")
        database = place.database("idle-command")
        return IdleWorker(place.driver, database, [place.penstock, "work", "bench", "--db", database, "--", "true"])

    rows = [("worker", "Penstock: Worker that waits", library, True),
            ("schedules", "Penstock: Worker that waits, 1,000 schedules", lambda: library(1000), False),
            ("command", "Penstock: `penstock work` that waits", command, False),
            ("redis", "redis: client in XREADGROUP BLOCK 0, and server", RedisPair, True)]
    for name, title, start, quick in rows:
        yield idle_row(f"idle.{name}", "idle", title, watch(place, start), quick=quick)

    def resting(queues, kind):
        def run(count, trace=None):
            with IdleWorker(place.driver, place.database("resting"), queues=queues) as pids:
                time.sleep(1)
                return {"messages": 0, "seconds": 1, "value": sum(resident_bytes(pid, kind) for pid in pids) / 1e6}
        return run

    waiting = "Penstock: a Worker that waits"
    for name, title, queues, kind in (
            ("idle", f"{waiting}: memory of its own", 0, "RssAnon"),
            ("idle.all", f"{waiting}: with pages of the program", 0, "VmRSS"),
            ("queues", f"{waiting}, and 1,000 open queues: memory of its own", 1000, "RssAnon")):
        yield Row(f"memory.{name}", "idle", title, resting(queues, kind), READ_ONLY, unit="MB", fixed=1,
                  runs=1, lower_is_better=True, quick=True)

    def memory(count, trace=None):
        database = place.database("memory")
        call([place.driver, "fill", "--db", database, "--ready", count], timeout=600)
        result = call([place.driver, "drain", "--db", database, "--keep", "--concurrency", 64, "--count", count,
                       "--memory"], timeout=600)
        parts = [result[key] / 1e6 for key in sorted(
            (key for key in result if key.startswith("rss_") and key != "rss_peak"),
            key=lambda key: int(key.split("_")[1]))]
        return {**result, "value": result["rss_peak"] / 1e6, "course": parts}

    def files(count, trace=None):
        result = call([place.driver, "retention", "--db", place.database("retention"), "--producers", 4, "--batch", 100,
                       "--count", count], timeout=1800)
        return {**result, "value": result["file_most"] / 1e6}

    count = 1_000_000 // (10 if place.quick else 1)
    yield Row("memory.worker", "idle", f"Penstock: most memory of a worker, {count:,} messages", memory, READ_ONLY,
              unit="MB", fixed=count, runs=1, lower_is_better=True, quick=True)
    if not place.quick:
        yield Row("files.retention", "idle", "Penstock: largest file, ten million messages, 100,000 kept", files,
                  FLUSHED, unit="MB", fixed=10_000_000, runs=1, lower_is_better=True)
