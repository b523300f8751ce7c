"""Operators in memory, beside the nearest ones of other packages; streams and buses on a store."""

from .programs import call
from .row import FLUSHED, NONE, Row

# Messages that one flush can make safe: as many values as a stream may have on their way, and as many events as go in one
# call of the store.
STAGED = 1024
HANDED_OVER = 1000


def streams(place):
    for line in call_list(place):
        name, title = line["name"], line["title"]

        def run(count, trace=None, name=name):
            return call([place.streams, name, count])

        yield Row(f"streams.{name}", "streams", title, run, NONE, unit="elements/s", first=20000,
                  quick=line["quick"])
    yield from durable(place)


def call_list(place):
    return call([place.streams, "list", 0])["rows"]


def durable(place):
    """Each way of a value through a queue beside the others at the same width; a bus with few and with many."""
    def driver(*words):
        def run(count, trace=None):
            return call([place.driver, *words, "--count", count, "--db", place.database("streams")], trace)
        return run

    ways = {"buffer": "buffer(in:) and flatMap", "deliveries": "deliveries(), each settled",
            "worker": "a worker that does the same"}
    for width in (1, 4, 64):
        for way, title in ways.items():
            yield Row(f"stream.{way}.{width}", "durable", f"{title}, {width} at a time",
                      driver("stream", way, "--width", width), FLUSHED, first=5000, together=STAGED,
                      quick=width == 64)
    for subscribers in (1, 8, 64):
        yield Row(f"bus.{subscribers}", "durable", f"bus << event, subscribers: {subscribers}",
                  driver("bus", "--subscribers", subscribers), FLUSHED, unit="events/s", first=10000,
                  together=HANDED_OVER, quick=subscribers != 8)
    yield Row("bus.senders", "durable", "await bus.send(event), 64 senders, subscribers: 1",
              driver("bus", "--senders", 64), FLUSHED, unit="events/s", first=5000, together=64, quick=True)
