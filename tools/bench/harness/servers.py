"""The peers that are servers: each on loopback, in an empty folder of its own, for one run."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from .place import free_port, is_root
from .prepare import postgres_folder, rabbitmq_program
from .programs import call, command_line


class Server:
    """Started on entry, stopped on exit: by its own process number, never by a name."""

    # How many seconds it may take to start.
    patience = 20

    def __init__(self, place, name, trace=None, preload=None):
        place.need(self.program)
        self.place = place
        self.port = free_port()
        self.folder = place.empty(f"server-{name}")
        self.trace, self.preload = trace, preload

    def __enter__(self):
        self.prepare()
        words, environment = command_line(self.command(), self.trace, self.preload)
        environment.update(self.environment())
        environment["PATH"] += ":/usr/sbin:/usr/local/sbin"
        self.log = open(self.folder.parent / f"{self.program}.log", "w")
        self.process = subprocess.Popen(
            words, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=subprocess.STDOUT)
        until = time.monotonic() + self.patience
        while not self.answers():
            if time.monotonic() > until or self.process.poll() is not None:
                self.__exit__()
                raise RuntimeError(f"{self.program} did not start; see {self.log.name}")
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        for pid in self.server_pids():
            try:
                os.kill(pid, self.stop_signal)
            except ProcessLookupError:
                pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    stop_signal = signal.SIGTERM

    def prepare(self):
        pass

    def environment(self):
        return {}

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def server_pids(self):
        """Under strace the server is its child."""
        if not self.trace:
            return [self.process.pid]
        path = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in path.read_text().split()] if path.exists() else []

    def options(self):
        return ["--port", self.port]


class PenstockServer(Server):
    program = "penstock-server"

    def __init__(self, place, name, trace=None, file=None):
        super().__init__(place, name, trace)
        # One that is there, or a new one.
        self.file = file

    def prepare(self):
        if self.file:
            return
        self.file = self.folder / "bench.db"
        call([self.place.penstock, "queue", "create", "bench", "--db", self.file])

    def command(self):
        return [self.place.server, "--db", self.file, "--listen", f"127.0.0.1:{self.port}"]


class SQSFloor(Server):
    program = "sqs-floor"

    def command(self):
        return [self.place.sqs_floor, self.port, self.folder / "bench.db"]


class Redis(Server):
    program = "redis-server"

    def command(self):
        return ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--save", "",
                "--appendonly", "yes", "--appendfsync", "always"]


class Beanstalkd(Server):
    program = "beanstalkd"

    def command(self):
        return ["beanstalkd", "-l", "127.0.0.1", "-p", self.port, "-b", self.folder, "-f0"]


class Nats(Server):
    program = "nats-server"

    def command(self):
        return ["nats-server", "-js", "-sd", self.folder, "-a", "127.0.0.1", "-p", self.port]


class Postgres(Server):
    program = "postgres"
    # Stop at once, without waiting for clients.
    stop_signal = signal.SIGINT

    def prepare(self):
        self.data = self.folder / "data"
        if is_root():
            shutil.chown(self.folder, "postgres", "postgres")
        template = self.place.scratch / "postgres-template"
        if not (template / "PG_VERSION").exists():
            shutil.rmtree(template, ignore_errors=True)
            self._run("initdb", "-D", self.data, "-A", "trust", "-U", "bench", "-N")
            shutil.copytree(self.data, template)
        else:
            shutil.copytree(template, self.data)
            if is_root():
                for path in [self.data, *self.data.rglob("*")]:
                    shutil.chown(path, "postgres", "postgres")

    def _as_its_user(self, command):
        # PostgreSQL does not run as root.
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command] if is_root() else command

    def _run(self, program, *words):
        command = self._as_its_user([f"{postgres_folder()}/{program}", *map(str, words)])
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.strip()[-300:]}")

    def command(self):
        return self._as_its_user([
            f"{postgres_folder()}/postgres", "-D", self.data, "-p", self.port, "-c", "listen_addresses=127.0.0.1",
            "-c", "unix_socket_directories="])

    def answers(self):
        return "ready to accept" in pathlib.Path(self.log.name).read_text()

    def server_pids(self):
        path = self.data / "postmaster.pid"
        return [int(path.read_text().split()[0])] if path.exists() else []

    def options(self):
        return ["--conninfo", f"host=127.0.0.1 port={self.port} user=bench dbname=postgres"]

    def address(self):
        return f"postgres://bench@127.0.0.1:{self.port}/postgres"

    def _psql(self, *words):
        return [f"{postgres_folder()}/psql", "-XqAt", *words, self.address()]

    def vacuum(self):
        """Removes dead rows, counts the living ones, and writes everything to its place."""
        subprocess.run(self._psql("-c", "VACUUM ANALYZE", "-c", "CHECKPOINT"), check=True, stdout=subprocess.DEVNULL)

    @contextlib.contextmanager
    def snapshot(self):
        """A transaction that somebody has left open: all that it may see stays."""
        program = subprocess.Popen(self._psql(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            program.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'seen';\n")
            program.stdin.flush()
            if program.stdout.readline() != "seen\n":
                raise RuntimeError("psql: the transaction did not begin")
            yield
        finally:
            program.kill()
            program.wait()


class RabbitMQ(Server):
    """One node without plugins, and the daemon by which Erlang's nodes find each other."""

    program = "rabbitmq"
    patience = 60

    def prepare(self):
        self.daemon_port, self.node_port = free_port(), free_port()
        (self.folder / "plugins").write_text("[].\n")
        self.daemon = subprocess.Popen(
            ["epmd", "-port", str(self.daemon_port), "-address", "127.0.0.1"], cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def environment(self):
        return {
            "HOME": str(self.folder), "ERL_EPMD_PORT": str(self.daemon_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": "bench@localhost", "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port), "RABBITMQ_DIST_PORT": str(self.node_port),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"), "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_LOGS": "-", "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "none"), "RABBITMQ_PID_FILE": str(self.folder / "pid")}

    def command(self):
        return [rabbitmq_program()]

    def answers(self):
        return "Server startup complete" in pathlib.Path(self.log.name).read_text()

    def server_pids(self):
        path = self.folder / "pid"
        return [int(path.read_text())] if path.exists() else []

    def __exit__(self, *_):
        super().__exit__()
        self.daemon.terminate()
        self.daemon.wait()
