"""Chords of Celery with redis: tasks, and one that waits for all of them. Prints one line of JSON.

As its documentation shows; redis writes each command to the disk. A task is acknowledged when it is done, so that one of a
worker that dies comes back.
"""

import argparse
import json
import os
import subprocess
import sys
import time

from celery import Celery, chord

app = Celery("chords", broker=os.environ.get("CHORDS_URL"), backend=os.environ.get("CHORDS_URL"))
app.conf.update(task_acks_late=True, worker_prefetch_multiplier=16, broker_connection_retry_on_startup=True)


@app.task(name="part")
def part(payload):
    return None


@app.task(name="join")
def join(results):
    return len(results)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--payload", type=int, default=200)
    options = parser.parse_args()
    url = f"redis://127.0.0.1:{options.port}/0"
    app.conf.update(broker_url=url, result_backend=url)
    folder = os.path.dirname(os.path.abspath(__file__))
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "celery_chords", "worker", "--pool", "prefork", "--concurrency",
         str(os.cpu_count()), "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"],
        cwd=folder, env=dict(os.environ, CHORDS_URL=url), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not app.control.ping(timeout=0.5):
            if time.monotonic() > until or worker.poll() is not None:
                raise SystemExit("Celery's worker did not start")
        rounds = max(1, options.count // options.tasks)
        payload = "x" * options.payload
        began = time.monotonic()
        for _ in range(rounds):
            # The callback is one of the tasks.
            result = chord([part.s(payload) for _ in range(options.tasks - 1)])(join.s())
            if result.get(timeout=240) != options.tasks - 1:
                raise SystemExit("a chord has lost a task")
        seconds = time.monotonic() - began
    finally:
        worker.terminate()
        worker.wait(timeout=30)
    print(json.dumps({"messages": rounds * options.tasks, "seconds": seconds, "cpu": 0}))


if __name__ == "__main__":
    main()
