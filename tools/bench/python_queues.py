"""Queues for Python on SQLite, one message at a time: 8 producers and 4 consumers. Prints one line of JSON.

Each in the way its documentation shows, and told to flush every enqueue to the disk where it does not by itself.
"""

import time

import python_runs


class LiteQueue:
    def __init__(self, path):
        import litequeue
        self.queue = litequeue.LiteQueue(path, timeout=60)
        self.queue.conn.execute("PRAGMA synchronous = FULL")

    def put(self, payload):
        self.queue.put(payload)

    def work_one(self):
        message = self.queue.pop()
        if message is None:
            return False
        self.queue.done(message.message_id)
        return True


class PersistQueue:
    def __init__(self, path):
        import persistqueue
        # SQLite's own default, synchronous = FULL, holds.
        self.queue = persistqueue.SQLiteAckQueue(path, multithreading=True, db_file_name="queue.db", timeout=60)

    def put(self, payload):
        self.queue.put(payload)

    def work_one(self):
        import persistqueue
        try:
            message = self.queue.get(block=False, raw=True)
        except persistqueue.Empty:
            return False
        self.queue.ack(id=message["pqid"])
        return True


class Huey:
    def __init__(self, path):
        import huey
        self.huey = huey.SqliteHuey(filename=path, fsync=True, timeout=60, results=False)
        self.task = self.huey.task()(touch)

    def put(self, payload):
        self.task(payload)

    def work_one(self):
        task = self.huey.dequeue()
        if task is None:
            return False
        self.huey.execute(task)
        return True


def touch(payload):
    pass


KINDS = {"litequeue": LiteQueue, "persist-queue": PersistQueue, "huey": Huey}


def produce(make, options, start):
    queue, payload, latencies = make(), "x" * options.payload, []
    start()
    for _ in range(options.each):
        began = time.monotonic_ns()
        queue.put(payload)
        latencies.append(time.monotonic_ns() - began)
    return latencies


def consume(make, tally, start):
    queue = make()
    start()
    while not tally.is_reached():
        if queue.work_one():
            tally.note()
        else:
            time.sleep(0.001)


def main():
    options = python_runs.arguments(KINDS)
    kind = KINDS[options.kind]
    # persist-queue keeps its place in memory: of several processes each would give every message.
    is_threaded = options.kind == "persist-queue"
    # Made once before the others, so that they need not make the tables at the same time.
    shared = kind(options.db)
    make = (lambda: shared) if is_threaded else (lambda: kind(options.db))
    if not is_threaded:
        del shared
    python_runs.measure(
        options, lambda start: produce(make, options, start), lambda tally, start: consume(make, tally, start), is_threaded)


if __name__ == "__main__":
    main()
