"""What a claim costs in PostgreSQL beside very many other messages: one server for all of it, filled once."""

from . import servers
from .place import Unavailable
from .programs import call
from .row import READ_ONLY, Row
from .waits import backlogs


def postgres_backlog(place):
    filled = Filled(place)
    for name, title, messages in backlogs():
        # Between a thousand and five million.
        if name == "million":
            continue
        for batch in (1, 100):
            def prepare(name=name, messages=messages):
                filled.fill(name, messages)

            def run(count, trace=None, name=name, batch=batch):
                return call([place.postgres_driver, "claims", "--db", filled.address(name), "--count", count, "--batch", batch])

            yield Row(f"postgres-backlog.{name}.{batch}", "postgres-backlog", f"claim of {batch}, {title}", run, READ_ONLY,
                      unit="us", fixed=500 if batch == 1 else 8, latency="claim", lower_is_better=True, prepare=prepare)


class Filled:
    """A server with a schema for each backlog, kept until the last row is measured."""

    def __init__(self, place):
        self.place = place
        self.server = None
        self.begun, self.complete = set(), set()

    def address(self, schema):
        return self.server.address() + f"?schema={schema}"

    def fill(self, schema, messages):
        """Puts the messages in line, unless a row before has done so."""
        if schema in self.complete:
            return
        if not self.server:
            self.server = self.place.kept.enter_context(servers.Postgres(self.place, "postgres-backlog"))
        if schema in self.begun:
            raise Unavailable("its messages could not be put in line")
        self.begun.add(schema)
        words = [word for state, count in messages.items() for word in (f"--{state}", count)]
        call([self.place.postgres_driver, "fill", "--db", self.address(schema), *words], timeout=1800)
        # As it is a while later: what autovacuum does within minutes is done before the first claim.
        self.server.vacuum()
        self.complete.add(schema)
