"""Queues for Python in PostgreSQL, one message at a time: 8 producers and 4 consumers. Prints one line of JSON.

Each in the way its documentation shows. Producers wait for the disk; consumers log in as a role whose commits do not, since
losing a claim or a settle means working again.
"""

import asyncio
import time

import python_runs

CONSUMER = "consumer"


def as_consumer(address):
    return address.replace("://bench@", f"://{CONSUMER}@")


class Procrastinate:
    """Its worker, one job at a time, listening; done jobs stay in the table, which is its default."""

    def __init__(self, address):
        self.address = address

    def _app(self, address):
        import procrastinate
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=address))
        return app

    def prepare(self):
        with self._app(self.address).open() as app:
            app.schema_manager.apply_schema()

    def produce(self, options, start):
        app, payload, latencies = self._app(self.address), "x" * options.payload, []

        @app.task(name="touch")
        def touch(payload):
            pass

        with app.open():
            app.check_connection()
            start()
            for _ in range(options.each):
                began = time.monotonic_ns()
                touch.defer(payload=payload)
                latencies.append(time.monotonic_ns() - began)
        return latencies

    def consume(self, tally, start):
        app = self._app(as_consumer(self.address))

        @app.task(name="touch")
        async def touch(payload):
            tally.note()

        start()
        app.run_worker(install_signal_handlers=False)


class PgQueuer:
    """Its runner with the default of 10 jobs a claim, on asyncpg and uvloop as its command has it."""

    def __init__(self, address):
        self.address = address

    def prepare(self):
        async def install():
            import asyncpg
            from pgqueuer.db import AsyncpgDriver
            from pgqueuer.queries import Queries
            await Queries(AsyncpgDriver(await asyncpg.connect(self.address))).install()
        asyncio.run(install())

    def produce(self, options, start):
        async def run():
            import asyncpg
            from pgqueuer.db import AsyncpgDriver
            from pgqueuer.queries import Queries
            queries = Queries(AsyncpgDriver(await asyncpg.connect(self.address)))
            payload, latencies = b"x" * options.payload, []
            start()
            for _ in range(options.each):
                began = time.monotonic_ns()
                await queries.enqueue("touch", payload)
                latencies.append(time.monotonic_ns() - began)
            return latencies
        import uvloop
        return uvloop.run(run())

    def consume(self, tally, start):
        async def run():
            import asyncpg
            import pgqueuer
            from pgqueuer.db import AsyncpgDriver
            runner = pgqueuer.PgQueuer(AsyncpgDriver(await asyncpg.connect(as_consumer(self.address))))

            @runner.entrypoint("touch")
            async def touch(job):
                tally.note()

            start()
            await runner.run()
        import uvloop
        uvloop.run(run())


class Pgmq:
    """The extension's SQL as its package for Python brings it: send, read with 30 s, delete. Nothing wakes a reader."""

    def __init__(self, address):
        self.address = address

    def _queue(self, address):
        import pgmq
        return pgmq.PGMQueue(conn_string=address, init_extension=False)

    def prepare(self):
        import pgmq
        pgmq.install_pgmq_from_sql(dsn=self.address)
        self._queue(self.address).create_queue("bench")

    def produce(self, options, start):
        queue, payload, latencies = self._queue(self.address), {"payload": "x" * options.payload}, []
        queue.metrics("bench")
        start()
        for _ in range(options.each):
            began = time.monotonic_ns()
            queue.send("bench", payload)
            latencies.append(time.monotonic_ns() - began)
        return latencies

    def consume(self, tally, start):
        queue = self._queue(as_consumer(self.address))
        queue.metrics("bench")
        start()
        while not tally.is_reached():
            message = queue.read("bench", vt=30)
            if message is None:
                time.sleep(0.001)
                continue
            queue.delete("bench", message.msg_id)
            tally.note()


KINDS = {"procrastinate": Procrastinate, "pgqueuer": PgQueuer, "pgmq": Pgmq}


def main():
    import psycopg
    options = python_runs.arguments(KINDS)
    with psycopg.connect(options.db, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {CONSUMER} SUPERUSER LOGIN")
        connection.execute(f"ALTER ROLE {CONSUMER} SET synchronous_commit = off")
    kind = KINDS[options.kind](options.db)
    kind.prepare()
    python_runs.measure(options, lambda start: kind.produce(options, start), kind.consume)


if __name__ == "__main__":
    main()
