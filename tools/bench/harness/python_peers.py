"""The peers that are Python's: on SQLite, on redis and in PostgreSQL."""

from . import servers
from .place import FOLDER
from .programs import call
from .row import EVERYTHING, FLUSHED, Row

# What is in PostgreSQL, by the package that it needs.
IN_POSTGRES = {"procrastinate": "procrastinate", "pgqueuer": "pgqueuer[asyncpg]", "pgmq": "pgmq"}


def python_peers(place):
    yield Row("celery.chord", "peers", "Celery with redis: chord of 999 tasks and one after them", celery(place),
              EVERYTHING, first=1000)
    for name in ("litequeue", "persist-queue", "huey"):
        how = "8 + 4 threads of one process" if name == "persist-queue" else "one at a time"
        yield Row(f"{name}.1", "peers", f"{name} (Python, SQLite), {how}", on_sqlite(place, name), FLUSHED,
                  first=400, together=8, latency="latency")
    for name in IN_POSTGRES:
        yield Row(f"{name}.1", "peers", f"{name} (Python, PostgreSQL), one at a time", in_postgres(place, name), FLUSHED,
                  first=400, together=8, latency="latency")


def celery(place):
    def run(count, trace=None):
        place.need("celery[redis]")
        with servers.Redis(place, "celery", trace) as running:
            return call([place.python, FOLDER / "celery_chords.py", "--port", running.port, "--count", count])
    return run


def on_sqlite(place, name):
    def run(count, trace=None):
        place.need(name)
        folder = place.empty("python")
        command = [place.python, FOLDER / "python_queues.py", name, "--db", folder / "queue.db", "--count", count]
        return call(command, trace)
    return run


def in_postgres(place, name):
    def run(count, trace=None):
        for package in ("psycopg[binary]", IN_POSTGRES[name]):
            place.need(package)
        with servers.Postgres(place, name, trace) as running:
            return call([place.python, FOLDER / "python_postgres_queues.py", name, "--db", running.address(), "--count", count])
    return run
