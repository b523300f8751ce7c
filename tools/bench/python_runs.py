"""A run of a queue for Python: producers and consumers that begin together, and the line of JSON about them."""

import argparse
import ctypes
import json
import multiprocessing
import queue
import signal
import sys
import threading
import time


def arguments(kinds):
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("--db", required=True, help="the file, or the server's address")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--payload", type=int, default=200)
    parser.add_argument("--producers", type=int, default=8)
    parser.add_argument("--consumers", type=int, default=4)
    options = parser.parse_args()
    options.each = max(1, options.count // options.producers)
    options.count = options.each * options.producers
    return options


class Tally:
    """How many messages all consumers have done, and when the last one was."""

    def __init__(self, context, goal):
        self.goal = goal
        self.done, self.end = context.Value("q", 0, lock=False), context.Value("q", 0, lock=False)
        self.lock = context.Lock()

    def note(self):
        with self.lock:
            self.done.value += 1
            if self.done.value == self.goal:
                self.end.value = time.monotonic_ns()

    def is_reached(self):
        return self.done.value >= self.goal


def end_with_parent():
    """A process of a run that was ended from outside does not stay behind and work on."""
    if sys.platform == "linux" and multiprocessing.parent_process():
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def measure(options, produce, consume, is_threaded=False):
    """`produce(start)` calls `start` when it could begin, enqueues, and gives its calls' latencies in nanoseconds;
    `consume(tally, start)` notes what it has done. Processes of consumers are ended when all messages are done."""
    context = multiprocessing.get_context("fork")
    tally = Tally(context, options.count)
    barrier = context.Barrier(options.producers + options.consumers + 1)
    results = context.Queue()
    make = threading.Thread if is_threaded else context.Process

    def producer():
        end_with_parent()
        results.put(produce(barrier.wait))

    def consumer():
        end_with_parent()
        consume(tally, barrier.wait)

    producers = [make(target=producer) for _ in range(options.producers)]
    consumers = [make(target=consumer) for _ in range(options.consumers)]
    for run in producers + consumers:
        run.start()

    def check():
        if not is_threaded and any(run.exitcode for run in producers + consumers):
            for run in producers + consumers:
                run.kill()
            sys.exit(f"{options.kind}: a process failed")

    while barrier.n_waiting < options.producers + options.consumers:
        check()
        time.sleep(0.001)
    barrier.wait()
    began = time.monotonic_ns()
    latencies = []
    while len(latencies) < options.count:
        try:
            latencies += results.get(timeout=0.5)
        except queue.Empty:
            check()
    while not tally.end.value:
        check()
        time.sleep(0.001)
    if not is_threaded:
        for run in consumers:
            run.kill()
    for run in producers + consumers:
        run.join()
    latencies.sort()

    def percentile(part):
        return latencies[min(len(latencies) - 1, int(part * len(latencies)))] / 1000

    print(json.dumps({
        "messages": options.count, "seconds": (tally.end.value - began) / 1e9,
        "latency": {"p50": percentile(0.5), "p99": percentile(0.99), "p999": percentile(0.999),
                    "max": percentile(1)}}))
