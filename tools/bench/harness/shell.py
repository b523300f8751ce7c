"""The command beside what a shell would use otherwise: lines into a queue, a process for each message, one INSERT."""

import shutil
import subprocess
import time

from .place import Unavailable
from .programs import call
from .row import FLUSHED, READ_ONLY, Row

# A line of 200 bytes, its end included.
LINE = b"a" * 199 + b"\n"


def shell(place):
    def timed(command, **options):
        began = time.perf_counter()
        subprocess.run([str(word) for word in command], check=True, **options)
        return time.perf_counter() - began

    def queue(name, *filled):
        place.need("penstock")
        database = place.database(name)
        call([place.driver, "fill", "--db", database, *filled])
        return database

    def in_line(count, trace=None):
        database = queue("shell-lines")
        lines = place.scratch / "lines"
        with open(lines, "wb") as file:
            for _ in range(count // 1000):
                file.write(LINE * 1000)
        with open(lines, "rb") as file:
            seconds = timed([place.penstock, "enqueue", "bench", "--lines", "--db", database], stdin=file,
                            stdout=subprocess.DEVNULL)
        return {"messages": count, "seconds": seconds, "value": seconds}

    def worked(count, trace=None):
        database = queue("shell-work", "--ready", count)
        seconds = timed([place.penstock, "work", "bench", "--drain", "--concurrency", 4, "--db", database, "--", "true"],
                        stdout=subprocess.DEVNULL)
        return {"messages": count, "seconds": seconds}

    def xargs(count, trace=None):
        words = "".join(f"{number}\n" for number in range(count)).encode()
        return {"messages": count, "seconds": timed(["xargs", "-P4", "-n1", "true"], input=words)}

    def insert(count, trace=None):
        if not shutil.which("sqlite3"):
            raise Unavailable("there is no sqlite3 here")
        database = place.database("shell-insert")
        for end in ("", "-wal", "-shm"):
            database.with_name(database.name + end).unlink(missing_ok=True)
        subprocess.run(["sqlite3", str(database), "PRAGMA journal_mode = WAL; CREATE TABLE line (payload BLOB)"], check=True,
                       stdout=subprocess.DEVNULL)
        statement = "INSERT INTO line VALUES ('hello')"
        times = sorted(timed(["sqlite3", database, statement]) for _ in range(count))
        return {"messages": count, "seconds": sum(times), "value": times[count // 2] * 1000}

    million = 1_000_000 // (10 if place.quick else 1)
    yield Row("shell.lines", "shell", f"`penstock enqueue --lines`, {million:,} lines", in_line, FLUSHED, unit="s",
              lower_is_better=True, fixed=million, quick=True)
    yield Row("shell.work", "shell", "`penstock work --concurrency 4 -- true`", worked, READ_ONLY, unit="commands/s", first=500,
              quick=True)
    yield Row("shell.xargs", "shell", "`xargs -P4 -n1 true`", xargs, READ_ONLY, unit="commands/s", first=500, quick=True)
    yield Row("shell.insert", "shell", "`sqlite3`, one INSERT, start to finish", insert, FLUSHED, unit="ms",
              lower_is_better=True, fixed=20, quick=True)
