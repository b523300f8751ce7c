"""What Penstock is to reach, judged by ratios of rows of the same run."""


def _median(rows, id):
    row = rows.get(id, {})
    return row.get("median")


def _ratio(above, below, least, text, unit=""):
    def judge(rows):
        a, b = _median(rows, above), _median(rows, below)
        if a is None or b is None:
            return None
        return f"{a / b:.2f} x", a / b >= least
    return text, f"at least {least:g} x", judge


def _at_most(value, most, unit, text):
    def judge(rows):
        found = value(rows)
        if found is None:
            return None
        return f"{found:.3g} {unit}", found <= most
    return text, f"at most {most:g} {unit}", judge


def _latency(id, part, kind="latency"):
    def value(rows):
        latency = rows.get(id, {}).get(kind)
        return None if latency is None else latency[part] / 1000
    return value


def _ahead(own, peers):
    def judge(rows):
        found, others = _median(rows, own), {id: _median(rows, id) for id in peers}
        others = {id: value for id, value in others.items() if value}
        if found is None or not others:
            return None
        best = max(others, key=others.get)
        return f"{found / others[best]:.2f} x {best}, the best of {len(others)}", found >= others[best]
    return judge


# A list of redis gives nothing back when its consumer dies, so streams are what is compared.
_IN_BATCHES = ["redis-streams.100", "beanstalkd.100", "nats.100", "postgres.100", "litequeue.1", "persist-queue.1", "huey.1"]
_IN_POSTGRES = ["postgres-jobs.1", "procrastinate.1", "pgqueuer.1", "pgmq.1"]


_FLUSHED_PEERS = ["redis-streams.1", "beanstalkd.1", "postgres.1", "postgres-jobs.1", "litequeue.1", "persist-queue.1", "huey.1"]


def _ahead_of_each(own, peers, least):
    """So many times the fastest of those that were measured."""
    def judge(rows):
        verdict = _ahead(own, peers)(rows)
        if verdict is None:
            return None
        best = max(_median(rows, id) or 0 for id in peers)
        return verdict[0], _median(rows, own) >= least * best
    return judge


def _drain(rows):
    own, least = _median(rows, "penstock.drain.64"), _median(rows, "floor.settle.100")
    if own is None or least is None:
        return None
    return f"{own:,.0f}/s, {own / least:.2f} x", own >= 100_000 or own >= 0.6 * least


def _claims(other, section="backlog"):
    def value(rows):
        a, b = _median(rows, f"{section}.{other}.1"), _median(rows, f"{section}.thousand.1")
        return None if a is None or b is None else a / b
    return value


def _remote_worker(rows):
    own, inside = _median(rows, "http.worker.100"), _median(rows, "penstock.settle.100")
    if own is None:
        return None
    share = f", {own / inside:.2f} x" if inside else ""
    return f"{own:,.0f}/s{share}", own >= 50_000 or (inside is not None and own >= 0.25 * inside)


def _flat_memory(rows):
    runs = rows.get("memory.worker", {}).get("runs") or []
    if not runs or "course" not in runs[0]:
        return None
    course, peak = runs[0]["course"], runs[0]["value"]
    # From the second tenth to the last; the first has the caches still to fill.
    growth = course[-1] / course[1] if len(course) > 2 else 1
    return f"{peak:.0f} MB, x {growth:.2f} from a fifth to the end", peak < 60 and growth < 1.1


def _quotient(rows, above, below):
    a, b = _median(rows, above), _median(rows, below)
    return None if a is None or b is None else a / b


def _whole_run(rows, id, count):
    """The median of a row that a quick run makes shorter."""
    return _median(rows, id) if rows.get(id, {}).get("count") == count else None


# Where the other does less (OpenCombine's buffer asks for less, its multicast remembers nothing), 0.7 times its rate.
_OPERATORS = [
    _ratio(f"streams.{own}", f"streams.{other}", least, text) for own, other, least, text in [
        ("buffer.penstock", "buffer.algorithms", 1, "buffer, nothing dropped, to swift-async-algorithms"),
        ("buffer.drop.penstock", "buffer.drop.algorithms", 1, "buffer that drops the oldest, to the same"),
        ("share.1.penstock", "share.1.algorithms", 1, "shareReplay, one subscriber, to its share"),
        ("share.8.penstock", "share.8.algorithms", 1, "shareReplay, 8 subscribers, to its share"),
        ("buffer.exact", "buffer.combine", 0.7, "buffer as a publisher, to OpenCombine"),
        ("delay.exact", "delay.combine", 1, "delay as a publisher, to OpenCombine"),
        ("multicast.8.exact", "multicast.8.combine", 0.7, "ReplaySubject under multicast, 8 subscribers, to OpenCombine's without replay"),
    ]
] + [
    _ratio(f"stream.{way}.64", "stream.worker.64", 0.9, f"{text}, 64 at a time, to a worker")
    for way, text in [("buffer", "buffer(in:) and flatMap"), ("deliveries", "deliveries()")]
] + [
    _at_most(lambda rows: _quotient(rows, "bus.1", "bus.64"), 1.5, "x", "bus <<, 64 subscribers: the time of one with 1"),
]


TARGETS = [
    _ratio("penstock-postgres.eight", "postgres.1", 1, "in PostgreSQL, 8 + 4 processes one at a time, to a table with SKIP LOCKED"),
    _ratio("penstock-postgres.life.64", "postgres.1", 2, "in PostgreSQL, 64 + 64 one at a time, to the same"),
    _ratio("penstock-postgres.life.batches", "postgres.100", 0.4, "in PostgreSQL, batches of 100, to SKIP LOCKED in batches"),
    _ratio("penstock-postgres.life.64.snapshot", "penstock-postgres.life.64", 0.8,
           "in PostgreSQL, beside a transaction that was left open, to without"),
    _at_most(_claims("many", "postgres-backlog"), 1.2, "x", "in PostgreSQL, claim beside 5 million ready, to 1 thousand"),
    _at_most(_claims("scheduled", "postgres-backlog"), 1.2, "x", "in PostgreSQL, claim beside a million scheduled, to none"),
    _at_most(_claims("finished", "postgres-backlog"), 1.2, "x", "in PostgreSQL, claim beside a million finished, to none"),
    _at_most(_latency("penstock-postgres.wake", "p50"), 1.5, "ms", "in PostgreSQL, enqueue returned to handler elsewhere, p50"),
    _at_most(lambda rows: _median(rows, "penstock-postgres.idle"), 20, "ms CPU/min", "in PostgreSQL, idle worker, client alone"),
    ("in PostgreSQL, 8 + 4 processes one at a time", "ahead of every queue on it", _ahead("penstock-postgres.eight", _IN_POSTGRES)),
    ("in PostgreSQL, 64 + 64 one at a time", "ahead of every queue on it", _ahead("penstock-postgres.life.64", _IN_POSTGRES)),
    _ratio("penstock.enqueue.b1000", "floor.enqueue.1000", 0.8, "batch enqueue, 1000 a transaction, to the floor"),
    _ratio("penstock.settle.100", "floor.settle.100", 0.7, "claim + settle in batches of 100, to the floor"),
    _ratio("penstock.enqueue.64", "floor.enqueue.1", 7, "64 producers that wait, to the floor at one a transaction"),
    _ratio("penstock.enqueue.1", "floor.enqueue.1", 0.85, "one producer that waits, to the floor"),
    _ratio("penstock.life.64", "redis-streams.1", 8, "full life, 64 + 64 one at a time, to redis streams 8 + 4"),
    _ratio("slow.life.64", "slow.redis", 8, "the same where a flush takes 1 ms longer"),
    _ratio("http.enqueue.64", "http.redis.64", 0.5, "enqueue over HTTP, 64 connections, to redis XADD"),
    ("worker over HTTP in batches of 100", "at least 50,000/s or 0.25 x in process", _remote_worker),
    _at_most(lambda rows: _median(rows, "http.sqs"), 0.3, "ms CPU", "a message by boto3: CPU of the server"),
    _at_most(lambda rows: _median(rows, "http.idle.memory"), 100, "MB", "1,000 idle polls and 100 dashboards: memory"),
    _at_most(lambda rows: _median(rows, "http.idle.cpu"), 2, "% of one", "1,000 idle polls and 100 dashboards: processor"),
    _at_most(lambda rows: _median(rows, "http.overview"), 50, "ms", "overview, 500 queues and 10 million messages"),
    _at_most(lambda rows: _median(rows, "http.metrics"), 20, "ms", "/metrics, 500 queues"),
    ("full life in batches, one process", "ahead of every peer in batches", _ahead("penstock.life.batches", _IN_BATCHES)),
    _ratio("penstock.life.batches", "redis-streams.100", 1.3, "the same, to redis streams"),
    _ratio("penstock.eight", "raw.eight", 2, "8 + 4 processes one at a time, to raw SQLite"),
    ("8 + 4 processes one at a time, to each flushed peer", "at least 1.3 x", _ahead_of_each("penstock.eight", _FLUSHED_PEERS, 1.3)),
    _at_most(_latency("penstock.eight", "max"), 50, "ms", "slowest enqueue of these"),
    ("worker drain, concurrency 64", "at least 100,000/s or 0.6 x the floor", _drain),
    _at_most(_claims("many"), 1.2, "x", "claim beside 5 million ready, to 1 thousand"),
    _at_most(_claims("scheduled"), 1.2, "x", "claim beside a million scheduled, to none"),
    _at_most(_claims("finished"), 1.2, "x", "claim beside a million finished, to none"),
    _at_most(_latency("wake.penstock", "p50"), 0.5, "ms", "enqueue returned to handler elsewhere, p50"),
    _at_most(_latency("wake.penstock", "p99"), 0.3, "ms", "enqueue returned to handler elsewhere, p99"),
    _at_most(lambda rows: _median(rows, "idle.worker"), 10, "ms CPU/min", "idle worker"),
    ("worker memory over a million messages", "flat, under 60 MB", _flat_memory),
    _at_most(lambda rows: _median(rows, "memory.idle"), 15, "MB", "an idle worker: memory of its own"),
    _at_most(lambda rows: _median(rows, "memory.queues"), 20, "MB", "the same with 1,000 open queues"),
    _at_most(lambda rows: _median(rows, "penstock.cli"), 15, "ms", "`penstock enqueue` of one message"),
    _at_most(lambda rows: _quotient(rows, "penstock.cli", "shell.insert"), 2.5, "x", "the same, to `sqlite3` with one INSERT"),
    _at_most(lambda rows: _whole_run(rows, "shell.lines", 1_000_000), 1, "s", "a million lines from a shell"),
    _ratio("shell.work", "shell.xargs", 0.9, "`penstock work --concurrency 4 -- true`, to `xargs -P4 -n1 true`"),
    *_OPERATORS,
]


class _Watched(dict):
    """Rows that remember which of the calls that measured them were asked for."""

    def get(self, id, default=None):
        row = super().get(id, default)
        if id in self:
            self.parts.add(row.get("part"))
        return row


def judged(rows):
    """For each target: what it is, what is wanted, what was found, and whether that is enough (None: not measured)."""
    result = []
    for text, wanted, judge in TARGETS:
        watched = _Watched(rows)
        watched.parts = set()
        verdict = judge(watched)
        found, reached = verdict if verdict else ("not measured", None)
        if verdict and len(watched.parts) > 1:
            found += " (of two calls)"
        result.append({"target": text, "wanted": wanted, "found": found, "reached": reached})
    return result
