"""Queues for Python on SQLite, one message at a time: 8 producers and 4 consumers. Prints one line of JSON.

Each in the way its documentation shows, and told to flush every enqueue to the disk where it does not by itself.
"""

import argparse
import json
import multiprocessing
import os
import threading
import time


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


def produce(queue, count, payload, latencies):
    for _ in range(count):
        began = time.monotonic_ns()
        queue.put(payload)
        latencies.append(time.monotonic_ns() - began)


def consume(queue, count, done, lock, end):
    while done.value < count:
        if not queue.work_one():
            time.sleep(0.001)
            continue
        with lock:
            done.value += 1
            if done.value == count:
                end.value = time.monotonic_ns()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--db", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--payload", type=int, default=200)
    parser.add_argument("--producers", type=int, default=8)
    parser.add_argument("--consumers", type=int, default=4)
    options = parser.parse_args()
    kind = KINDS[options.kind]
    each = max(1, options.count // options.producers)
    count = each * options.producers
    payload = "x" * options.payload

    # persist-queue keeps its place in memory: of several processes each would give every message.
    is_threaded = options.kind == "persist-queue"
    shared = kind(options.db)
    context = multiprocessing.get_context("fork")
    done, end = context.Value("q", 0, lock=False), context.Value("q", 0, lock=False)
    lock = context.Lock()
    start = context.Barrier(options.producers + options.consumers + 1)
    results = context.SimpleQueue()

    def producer():
        queue = shared if is_threaded else kind(options.db)
        latencies = []
        start.wait()
        produce(queue, each, payload, latencies)
        results.put(latencies)

    def consumer():
        queue = shared if is_threaded else kind(options.db)
        start.wait()
        consume(queue, count, done, lock, end)
        results.put([])

    if not is_threaded:
        del shared
    make = (lambda run: threading.Thread(target=run)) if is_threaded else (lambda run: context.Process(target=run))
    runs = [make(producer) for _ in range(options.producers)] + [make(consumer) for _ in range(options.consumers)]
    for run in runs:
        run.start()
    start.wait()
    began = time.monotonic_ns()
    latencies = sorted(value for _ in runs for value in results.get())
    for run in runs:
        run.join()

    def percentile(part):
        return latencies[min(len(latencies) - 1, int(part * len(latencies)))] / 1000

    print(json.dumps({
        "messages": count, "seconds": (end.value - began) / 1e9,
        "latency": {"p50": percentile(0.5), "p99": percentile(0.99), "p999": percentile(0.999),
                    "max": percentile(1)}}))


if __name__ == "__main__":
    main()
