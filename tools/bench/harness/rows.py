"""All throughput rows: the floor, Penstock, the peers, and the slow disk."""

import subprocess
import time

from . import servers
from .programs import Board, Running, call, merged
from .python_peers import python_peers
from .row import EVERYTHING, FLUSHED, NEVER, NOT_FLUSHED, SETTLES, Row


# How many groups the rows with groups have, of each of which one message is worked on at a time.
GROUPS = (10, 1000, 100_000)


def floor(place):
    """Raw SQLite from C: the least that the same work on the same tables costs."""
    def alone(work, batch, payload=200, durable=1):
        def run(count, trace=None):
            return call(
                [place.peers, "alone", "sqlite", "--work", work, "--batch", batch, "--count", count, "--payload",
                 payload, "--durable", durable, "--db", place.database("floor"), "--schema", place.schema], trace)
        return run

    def sync(count, trace=None):
        return call([place.peers, "sync", "disk", "--db", place.scratch / "sync", "--count", count], trace)

    yield Row("floor.sync", "floor", "write 4 KiB and fdatasync", sync, unit="flushes/s", first=300, together=1,
              quick=True, durability="each on disk")
    names = {"enqueue": "enqueue", "settle": "claim + settle", "life": "full life"}
    for work, name in names.items():
        for batch in (1, 10, 100, 1000):
            flushed = SETTLES if work == "settle" else FLUSHED
            yield Row(
                f"floor.{work}.{batch}", "floor", f"{name}, {batch} a transaction", alone(work, batch), flushed,
                first={1: 400, 10: 4000}.get(batch, 20000), together=None if work == "settle" else batch,
                quick=(work, batch) in {("enqueue", 1), ("enqueue", 1000), ("settle", 100), ("life", 100)})
    yield Row("floor.enqueue.1.crash", "floor", "enqueue, 1 a transaction", alone("enqueue", 1, durable=0),
              NOT_FLUSHED, first=2000)
    yield Row("floor.enqueue.1000.crash", "floor", "enqueue, 1000 a transaction", alone("enqueue", 1000, durable=0),
              NOT_FLUSHED, first=20000)
    yield Row("floor.enqueue.100.p20", "floor", "enqueue, 100 a transaction, 20 bytes", alone("enqueue", 100, 20),
              first=20000, together=100)
    yield Row("floor.enqueue.100.p20k", "floor", "enqueue, 100 a transaction, 20 kB", alone("enqueue", 100, 20000),
              first=1000, together=100)


def penstock(place):
    """The public API, from Swift."""
    database = place.database("penstock")

    def driver(*words, preload=None):
        def run(count, trace=None):
            return call([place.driver, *words, "--count", count, "--db", database], trace, preload)
        return run

    def row(name, title, words, **options):
        return Row(f"penstock.{name}", "penstock", title, driver(*words), **options)

    crash = ["--durability", "processCrash"]
    one = ["enqueue", "--producers", 1]
    yield row("enqueue.1", "enqueue, one producer that waits", one, first=400, together=1, quick=True,
              latency="latency")
    yield row("enqueue.1.crash", "enqueue, one producer that waits", one + crash, first=1000, latency="latency",
              durability=NOT_FLUSHED)
    for producers in (64, 256):
        words = ["enqueue", "--producers", producers]
        yield row(f"enqueue.{producers}", f"enqueue, {producers} producers that wait", words, first=10000,
                  together=producers, quick=True, latency="latency")
    yield row("enqueue.64.crash", "enqueue, 64 producers that wait", ["enqueue", "--producers", 64] + crash,
              first=10000, durability=NOT_FLUSHED, latency="latency")
    for batch in (10, 100, 1000):
        yield row(f"enqueue.b{batch}", f"enqueue, batches of {batch}", one + ["--batch", batch],
                  first=4000 if batch == 10 else 20000, together=batch, quick=batch == 1000)
    yield row("enqueue.b1000.crash", "enqueue, batches of 1000", one + ["--batch", 1000] + crash, first=20000,
              durability=NOT_FLUSHED)
    for size, name in ((20, "20 bytes"), (20000, "20 kB")):
        short = "20k" if size == 20000 else size
        yield row(f"enqueue.b100.p{short}", f"enqueue, batches of 100, {name}",
                  one + ["--batch", 100, "--payload", size], first=1000 if size == 20000 else 20000, together=100)
        yield row(f"life.64.p{short}", f"full life, 64 producers and handlers, {name}",
                  ["life", "--producers", 64, "--handlers", 64, "--payload", size], first=5000, together=64)
    for batch in (1, 10, 100, 1000):
        yield row(f"settle.{batch}", f"claim + settle, batches of {batch}", ["settle", "--batch", batch],
                  first={1: 1000, 10: 4000}.get(batch, 20000), durability=SETTLES, quick=batch == 100)
    for concurrency in (1, 8, 64):
        yield row(f"drain.{concurrency}", f"worker, empty handlers, concurrency {concurrency}",
                  ["drain", "--concurrency", concurrency], first={1: 1000, 8: 5000}.get(concurrency, 20000),
                  durability=SETTLES, quick=concurrency == 64)
    life = ["life", "--producers", 64, "--handlers", 64]
    yield row("life.64", "full life, 64 producers and 64 handlers, one at a time", life, first=5000, together=64,
              quick=True, latency="latency")
    yield row("life.64.crash", "full life, 64 producers and 64 handlers, one at a time", life + crash, first=5000,
              durability=NOT_FLUSHED, latency="latency")
    batches = ["life", "--producers", 4, "--batch", 100]
    yield row("life.batches", "full life, 4 producers of 100, 2 tasks claim and settle 100",
              batches + ["--consumers", 2, "--claim", 100], first=20000, together=400, quick=True)
    yield row("life.batches.worker", "full life, 4 producers of 100, worker with 256 handlers",
              batches + ["--handlers", 256], first=20000, together=400)
    yield Row("penstock.two.64", "penstock", "full life, 64 producers | 64 handlers, two processes",
              processes(place, 1, 64, 1, 1, ["--handlers", 64]), first=5000, together=64)
    yield Row("penstock.two.batches", "penstock", "full life, 4 producers of 100 | 4 tasks of 100, two processes",
              processes(place, 1, 4, 100, 1, ["--consumers", 4, "--claim", 100]), first=20000, together=400)
    yield Row("penstock.eight", "penstock", "full life, 8 producer and 4 worker processes, one at a time",
              processes(place, 8, 1, 1, 4, ["--handlers", 1]), first=1000, together=8, quick=True, latency="latency")
    graphs = {
        "plain": "1,000 messages in one enqueue", "fan": "workflow of 1,000: one, 998 after it, one after those",
        "layers": "workflow of 1,000: ten layers, each task after two", "chain": "workflow of 1,000: a chain"}
    for shape, title in graphs.items():
        yield row(f"graph.{shape}", f"full life, 64 handlers, {title}", ["graph", "--shape", shape], first=5000,
                  together=1000, quick=shape in ("plain", "fan"))
    gates = {
        ("none", 1): "no groups", ("fifo", 10): "10 groups in order", ("fifo", 1000): "1,000 groups in order",
        ("fifo", 100_000): "100,000 groups in order", ("limit", 1000): "1,000 groups, four of each at a time",
        ("rate", 1): "a rate for the queue", ("key-rate", 1000): "1,000 groups, a rate for each",
        ("fair", 1000): "1,000 groups that share the queue fairly"}
    for (gate, groups), title in gates.items():
        yield row(f"grouped.{gate}.{groups}", f"full life in batches of 1,000, 64 handlers, {title}",
                  ["grouped", "--gate", gate, "--groups", groups], first=5000, together=1000)
    for groups in GROUPS:
        for batch in (1, 100):
            handlers = 1 if batch == 1 else 64
            how = "one at a time" if batch == 1 else "batches of 100, workers with 64 handlers"
            yield Row(f"penstock.eight.fifo.{groups}.{batch}", "penstock",
                      f"8 producer and 4 worker processes, {groups:,} groups in order, {how}",
                      processes(place, 8, 1, batch, 4, ["--handlers", handlers], groups=groups),
                      first=1000 if batch == 1 else 20000, together=8 * batch, latency="latency")
    yield Row("penstock.cli", "penstock", "`penstock enqueue` of one message, start to finish", cli(place), unit="ms",
              lower_is_better=True, fixed=20, together=1, quick=True)


def processes(place, producers, tasks, batch, workers, work, preload=None, groups=0, driver=None, database=None):
    """Producers and workers in processes of their own, on one store. With groups one of each is worked on at a time."""
    def run(count, trace=None):
        program, store = driver or place.driver, database or place.database("processes")
        call([program, "fill", "--db", store, "--gate", "fifo" if groups else "none"])
        each = tasks * batch
        calls = max(1, -(-count // (each * producers)))
        goal = calls * each * producers
        board = Board(place.scratch / "board")
        common = ["--db", store, "--keep"]
        making, working = [], []
        try:
            for _ in range(workers):
                working.append(Running(
                    [program, "work", *common, *work, "--board", board.path, "--goal", goal], trace, preload))
            for _ in range(producers):
                making.append(Running(
                    [program, "produce", *common, "--producers", tasks, "--batch", batch, "--count",
                     calls * each, "--groups", groups], trace, preload))
            for one in working + making:
                one.wait_until_ready()
            began = time.monotonic_ns()
            for one in working + making:
                one.go_on()
            results = [one.result() for one in making]
            end = board.wait(goal, 240)
            for one in working:
                one.go_on()
            worked = [one.result() for one in working]
        finally:
            for one in making + working:
                one.end()
        return {
            "messages": goal, "seconds": (end - began) / 1e9, "cpu": sum(each["cpu"] for each in results + worked),
            "latency": merged([result["latency"] for result in results])}
    return run


# The first starts after other work find the program's pages and the processor's caches full of something else.
COLD_STARTS = 10


def cli(place):
    """Whole runs of the command, one after the other, when the first are through."""
    def run(count, trace=None):
        database = place.database("cli")
        place.need("penstock")
        call([place.driver, "fill", "--db", database])
        command = [str(place.penstock), "enqueue", "bench", "hello", "--db", str(database)]
        if trace:
            for _ in range(count):
                call(command, trace)
            return {"messages": count, "seconds": 1}
        times = []
        for _ in range(COLD_STARTS + count):
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - began)
        times = times[COLD_STARTS:]
        return {"messages": count, "seconds": sum(times), "value": sorted(times)[count // 2] * 1000}
    return run


def peers(place):
    """What a user might pick instead: 8 producer and 4 consumer processes, from C but for queues that are Python's."""
    def raw(count, trace=None):
        return call([place.peers, "processes", "sqlite", "--count", count, "--db", place.database("floor"),
                     "--schema", place.schema], trace)

    yield Row("raw.eight", "peers", "raw SQLite with a busy timeout, one at a time", raw, first=1000, together=8,
              quick=True, latency="latency")
    served = [
        ("redis-streams", "redis streams", servers.Redis, EVERYTHING),
        ("redis-lists", "redis lists", servers.Redis, EVERYTHING),
        ("beanstalkd", "beanstalkd -f0", servers.Beanstalkd, EVERYTHING),
        ("nats", "NATS JetStream on files", servers.Nats, NEVER),
        ("postgres", "PostgreSQL, SKIP LOCKED", servers.Postgres, FLUSHED),
        ("postgres-jobs", "PostgreSQL, jobs locked by an update, NOTIFY", servers.Postgres, FLUSHED),
    ]
    for name, title, server, durability in served:
        for batch in (1, 100):
            how = "one at a time" if batch == 1 else "batches of 100"
            yield Row(
                f"{name}.{batch}", "peers", f"{title}, {how}", with_server(place, server, name, batch), durability,
                first=1000 if batch == 1 else 20000, together=None if durability == NEVER else 8 * batch,
                quick=name == "redis-streams" or (name, batch) == ("nats", 100), latency="latency")
    keyed = [("postgres-groups", "PostgreSQL, advisory locks by key", servers.Postgres),
             ("rabbitmq-groups", "RabbitMQ, quorum queues with a single active consumer", servers.RabbitMQ)]
    for name, title, server in keyed:
        for groups in GROUPS:
            # A group is a queue of the broker, which takes minutes to make so many.
            if name == "rabbitmq-groups" and groups > 1000:
                continue
            for batch in (1, 100):
                how = "one at a time" if batch == 1 else "batches of 100"
                yield Row(
                    f"{name}.{groups}.{batch}", "peers", f"{title}, {groups:,} groups, {how}",
                    with_server(place, server, name, batch, groups=groups), FLUSHED,
                    first=1000 if batch == 1 else 20000, together=8 * batch, latency="latency")
    yield from python_peers(place)


def with_server(place, server, name, batch, preload=None, groups=0):
    def run(count, trace=None):
        with server(place, name, trace, preload) as running:
            return call([place.peers, "processes", name, "--batch", batch, "--count", count, "--groups", groups,
                         *running.options()])
    return run


def slow(place):
    """Again where each flush takes a millisecond longer."""
    shim = place.slow_disk

    def guarded(run):
        def checked(count, trace=None):
            place.need("slow disk")
            return run(count, trace)
        return checked

    def penstock_life(count, trace=None):
        return call([place.driver, "life", "--producers", 64, "--handlers", 64, "--count", count, "--db",
                     place.database("penstock")], trace, shim)

    def sync(count, trace=None):
        return call([place.peers, "sync", "disk", "--db", place.scratch / "sync", "--count", count], trace, shim)

    def raw(count, trace=None):
        return call([place.peers, "processes", "sqlite", "--count", count, "--db", place.database("floor"),
                     "--schema", place.schema], trace, shim)

    rows = [
        ("slow.sync", "write 4 KiB and fdatasync", sync, 
         dict(unit="flushes/s", first=100, together=1, durability="each on disk")),
        ("slow.life.64", "Penstock, 64 producers and 64 handlers, one at a time", penstock_life,
         dict(first=2000, together=64, latency="latency")),
        ("slow.eight", "Penstock, 8 producer and 4 worker processes",
         processes(place, 8, 1, 1, 4, ["--handlers", 1], shim), dict(first=400, together=8, latency="latency")),
        ("slow.raw", "raw SQLite with a busy timeout, 8 + 4 processes", raw,
         dict(first=200, together=8, latency="latency")),
        ("slow.redis", "redis streams, 8 + 4 processes",
         with_server(place, servers.Redis, "redis-streams", 1, shim),
         dict(first=300, together=8, durability=EVERYTHING, latency="latency")),
    ]
    for id, title, run, options in rows:
        yield Row(id, "slow disk", title, guarded(run), quick=id in ("slow.life.64", "slow.redis"), **options)
