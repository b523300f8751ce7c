"""Penstock's server beside redis, by the same generator of load: many connections, one request at a time on each."""

from . import servers
from .programs import call
from .row import EVERYTHING, FLUSHED, Row

CONNECTIONS = 64


def http(place):
    def connections(server, protocol):
        def run(count, trace=None):
            with server(place, f"http-{protocol}", trace) as running:
                return call([place.peers, "connections", protocol, "--producers", CONNECTIONS, "--count", count,
                             "--port", running.port])
        return run

    yield Row("http.enqueue.64", "http", f"penstock serve, POST of a message, {CONNECTIONS} connections",
              connections(servers.PenstockServer, "http"), FLUSHED, first=2000, together=CONNECTIONS, quick=True,
              latency="latency")
    yield Row("http.redis.64", "http", f"redis streams, XADD, {CONNECTIONS} connections",
              connections(servers.Redis, "redis"), EVERYTHING, first=5000, together=CONNECTIONS, latency="latency")
