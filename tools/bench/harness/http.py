"""Penstock's server: beside redis by the same generator of load, under workers and clients of Amazon SQS, idle, and full."""

import http.client
import json
import os
import statistics
import subprocess
import time

from . import servers
from .place import Unavailable
from .programs import call, cpu_seconds
from .row import EVERYTHING, FLUSHED, READ_ONLY, SETTLES, Row

CONNECTIONS = 64
# What claims, their batches and their workers' number are.
BATCH, WORKERS = 100, 2
POLLS, PAGES = 1000, 100
QUEUES = 500


def http_rows(place):
    full = Full(place)
    yield Row("http.enqueue.64", "http", f"penstock serve, POST of a message, {CONNECTIONS} connections",
              _connections(place, servers.PenstockServer, "http"), FLUSHED, first=2000, together=CONNECTIONS, quick=True,
              latency="latency")
    yield Row("http.redis.64", "http", f"redis streams, XADD, {CONNECTIONS} connections",
              _connections(place, servers.Redis, "redis"), EVERYTHING, first=5000, together=CONNECTIONS, latency="latency")
    yield Row("http.worker.100", "http", f"penstock serve, {WORKERS} connections settle and claim {BATCH} in one request",
              lambda count, trace=None: _worked(place, count, trace), SETTLES, first=20_000, quick=True)
    yield Row("http.sqs", "http", "a message through one boto3: send, receive, delete; the server's CPU",
              lambda count, trace=None: _through_boto(place, servers.PenstockServer), EVERYTHING, unit="ms CPU", fixed=1, runs=3,
              lower_is_better=True)
    yield Row("http.sqs.floor", "http", "a message through one boto3 to one thread in C that does nothing else; its CPU",
              lambda count, trace=None: _through_boto(place, servers.SQSFloor), EVERYTHING, unit="ms CPU", fixed=1, runs=3,
              lower_is_better=True)
    yield Row("http.idle.memory", "http", f"{POLLS} idle long polls and {PAGES} open dashboards: memory",
              lambda count, trace=None: {"value": _idle(place)[0]}, READ_ONLY, unit="MB", fixed=0, runs=1,
              lower_is_better=True)
    yield Row("http.idle.cpu", "http", f"{POLLS} idle long polls and {PAGES} open dashboards: processor",
              lambda count, trace=None: {"value": _idle(place)[1]}, READ_ONLY, unit="% of one", fixed=0, runs=1,
              lower_is_better=True)
    yield Row("http.overview", "http", f"GET of the overview, {QUEUES} queues with {full.count:,} messages",
              lambda count, trace=None: full.times("/"), READ_ONLY, unit="ms", fixed=0, runs=1, lower_is_better=True)
    yield Row("http.metrics", "http", f"GET of /metrics, {QUEUES} queues with {full.count:,} messages",
              lambda count, trace=None: full.times("/metrics"), READ_ONLY, unit="ms", fixed=0, runs=1, lower_is_better=True)


def _connections(place, server, protocol):
    def run(count, trace=None):
        with server(place, f"http-{protocol}", trace) as running:
            before = sum(map(cpu_seconds, running.server_pids()))
            measured = call([place.peers, "connections", protocol, "--producers", CONNECTIONS, "--count", count,
                             "--port", running.port])
            return {**measured, "server_cpu": sum(map(cpu_seconds, running.server_pids())) - before}
    return run


class Client:
    """One connection that stays open."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        bytes_ = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {bytes_[:200]}")
        return bytes_

    def enqueue(self, count):
        """Messages of 200 bytes."""
        line = json.dumps({"payload": "x" * 200}) + "\n"
        for begin in range(0, count, 50_000):
            self.ask("POST", "/v1/queues/bench/messages", line * min(50_000, count - begin),
                     {"Content-Type": "application/x-ndjson", "Penstock-Durability": "processCrash"})


def _worked(place, count, trace):
    """Workers of a process each, that have what they were given settled and are given more in the same request."""
    with servers.PenstockServer(place, "http-worker", trace) as running:
        Client(running.port).enqueue(count)
        before = sum(map(cpu_seconds, running.server_pids()))
        began = time.monotonic()
        workers = [os.fork() for _ in range(WORKERS)]
        if 0 in workers:
            try:
                _work(running.port)
            except BaseException:
                os._exit(1)
            os._exit(0)
        statuses = [os.waitpid(pid, 0)[1] for pid in workers]
        seconds = time.monotonic() - began
        if any(statuses):
            raise RuntimeError("a worker failed")
        state = json.loads(Client(running.port).ask("GET", "/v1/queues/bench"))
        if state["totals"]["done"] != count:
            raise RuntimeError(f"only {state['totals']['done']} of {count} messages are done")
        return {"messages": count, "seconds": seconds,
                "server_cpu": sum(map(cpu_seconds, running.server_pids())) - before}


def _work(port):
    client, verdicts = Client(port), []
    while True:
        body = {"settlements": verdicts, "claim": {"queues": ["bench"], "limit": BATCH}}
        answer = json.loads(client.ask("POST", "/v1/settlements", json.dumps(body)))
        verdicts = [{"sequence": message["sequence"], "token": message["token"], "verdict": "done"}
                    for message in answer["messages"]]
        if not verdicts:
            return


def _through_boto(place, server):
    count = 200 if place.quick else 2000
    place.need("boto3")
    if not place.python.exists():
        raise Unavailable("Python's packages could not be installed")
    with server(place, "http-sqs") as running:
        command = [place.python, place.boto, running.port]
        call([*command, 50])
        before = sum(map(cpu_seconds, running.server_pids()))
        call([*command, count])
        return {"value": (sum(map(cpu_seconds, running.server_pids())) - before) * 1000 / count}


def _idle(place):
    """What the server has of memory, in MB, and needs of a processor, in percent, while nothing happens."""
    with servers.PenstockServer(place, "http-idle") as running:
        clients = []
        for number in range(POLLS + PAGES):
            client = http.client.HTTPConnection("127.0.0.1", running.port)
            if number < POLLS:
                client.request("POST", "/v1/queues/bench/claims", '{"wait": 60}')
            else:
                client.request("GET", "/events")
            clients.append(client)
        time.sleep(5)
        [pid] = running.server_pids()
        before, began = cpu_seconds(pid), time.monotonic()
        time.sleep(3 if place.quick else 15)
        share = (cpu_seconds(pid) - before) / (time.monotonic() - began) * 100
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            megabytes = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        for client in clients:
            client.close()
        return megabytes, share


class Full:
    """A file with many queues and messages, made once and kept."""

    def __init__(self, place):
        self.place = place
        self.count = 100_000 if place.quick else 10_000_000
        self.folder = place.scratch / f"full-{self.count}"
        self.file = self.folder / "bench.db"

    def _make(self):
        if self.file.exists():
            return
        # The whole folder is renamed: what is in the write-ahead log belongs to the file.
        making = self.place.empty("full-making")
        lines = b"hello\n" * (self.count // QUEUES)
        for number in range(QUEUES):
            for words, given in ((["queue", "create", f"queue-{number}"], b""),
                                 (["enqueue", f"queue-{number}", "--lines", "--durability", "processCrash"], lines)):
                subprocess.run([str(self.place.penstock), *words, "--db", str(making / "bench.db")], input=given, check=True,
                               stdout=subprocess.DEVNULL)
        making.rename(self.folder)

    def times(self, path):
        """How long one client waits for that page, in milliseconds."""
        self._make()
        with servers.PenstockServer(self.place, "http-full", file=self.file) as running:
            client, times = Client(running.port), []
            for _ in range(25):
                began = time.perf_counter()
                client.ask("GET", path)
                times.append((time.perf_counter() - began) * 1000)
            return {"value": statistics.median(times[5:])}
