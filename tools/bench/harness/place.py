"""Where things are, and how loudly to speak."""

import contextlib
import os
import pathlib
import shutil
import socket
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent.parent
ROOT = FOLDER.parent.parent


class Unavailable(Exception):
    """A row cannot be measured here; the text says why."""


class Place:
    """The folder that everything is built and measured in, and what was built."""

    def __init__(self, scratch, quick):
        self.scratch = pathlib.Path(scratch).resolve()
        self.quick = quick
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.peers = self.scratch / "peers"
        self.sqs_floor = self.scratch / "sqs-floor"
        self.slow_disk = self.scratch / "slowdisk.so"
        self.python = self.scratch / "venv" / "bin" / "python"
        self.driver = FOLDER / ".build" / "release" / "penstock-bench"
        self.postgres_driver = FOLDER / ".build" / "release" / "postgres-bench"
        self.streams = FOLDER / ".build" / "release" / "streams-bench"
        self.penstock = FOLDER / ".build" / "release" / "penstock"
        self.server = FOLDER / ".build" / "release" / "penstock-server"
        self.boto = FOLDER / "boto_messages.py"
        self.schema = ROOT / "Migrations" / "SQL"
        # Servers that rows of one section use in all their rounds.
        self.kept = contextlib.ExitStack()
        # Why a program or a package is not there, by its name.
        self.missing = {}

    def need(self, name):
        if name in self.missing:
            raise Unavailable(self.missing[name])

    def database(self, name="bench"):
        return self.scratch / f"{name}.db"

    def empty(self, name):
        """A folder of that name with nothing in it."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


STARTED = time.monotonic()


def say(text):
    """Progress, which is no part of the table."""
    seconds = int(time.monotonic() - STARTED)
    print(f"{seconds // 60:3}:{seconds % 60:02}  {text}", file=sys.stderr, flush=True)


def is_root():
    return os.geteuid() == 0
