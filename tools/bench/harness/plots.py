"""Plots of the results as SVG, readable on light and on dark ground. Plain Python."""

import math
from html import escape

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .quiet { fill: #57606a; font-size: 12px; }
  .title { font-size: 15px; font-weight: 600; }
  .bar { fill: #8c959f; } .own { fill: #0969da; } .floor { fill: #bf8700; }
  .line { stroke: #d0d7de; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #8b949e; }
    .bar { fill: #6e7681; } .own { fill: #4493f8; } .floor { fill: #d29922; }
    .line { stroke: #30363d; }
  }
"""
LEFT, WIDTH, STEP = 290, 760, 26

PLOTS = {
    "life": ("Full lives a second, one message at a time", "messages a second, on disk before an enqueue returns", [
        ("penstock.life.64", "Penstock, 64 + 64 tasks, one process"),
        ("penstock.two.64", "Penstock, 64 + 64 tasks, two processes"),
        ("penstock.eight", "Penstock, 8 + 4 processes"), ("redis-streams.1", "redis streams, 8 + 4"),
        ("redis-lists.1", "redis lists, 8 + 4"), ("beanstalkd.1", "beanstalkd, 8 + 4"),
        ("nats.1", "JetStream, 8 + 4 (never synced)"), ("postgres.1", "PostgreSQL, 8 + 4"),
        ("raw.eight", "raw SQLite, 8 + 4"), ("litequeue.1", "litequeue, 8 + 4"),
        ("persist-queue.1", "persist-queue, 8 + 4 threads"), ("huey.1", "huey on SQLite, 8 + 4")]),
    "batches": ("Full lives a second, in batches of 100", "messages a second", [
        ("floor.life.100", "floor: raw SQLite, one process"), ("penstock.life.batches", "Penstock, one process"),
        ("penstock.two.batches", "Penstock, two processes"), ("redis-streams.100", "redis streams, 8 + 4"),
        ("redis-lists.100", "redis lists, 8 + 4"), ("nats.100", "JetStream, 8 + 4 (never synced)"),
        ("postgres.100", "PostgreSQL, 8 + 4"), ("beanstalkd.100", "beanstalkd, 8 + 4")]),
    "slow": ("The same on a disk whose flush takes 1 ms longer", "messages a second, one at a time", [
        ("slow.life.64", "Penstock, 64 + 64 tasks"), ("slow.eight", "Penstock, 8 + 4 processes"),
        ("slow.redis", "redis streams, 8 + 4"), ("slow.raw", "raw SQLite, 8 + 4")]),
    "backlog": ("One claim, by what else is in the file", "microseconds, median", [
        ("backlog.thousand.1", None), ("backlog.million.1", None), ("backlog.many.1", None),
        ("backlog.scheduled.1", None), ("backlog.finished.1", None)]),
}


def bars(title, unit, values):
    """One bar for each of (name, value, class)."""
    most = max(value for _, value, _ in values)
    height = 70 + STEP * len(values)
    parts = [_head(title, unit, height)]
    for place, (name, value, kind) in enumerate(values):
        y = 56 + STEP * place
        length = max(1, (WIDTH - LEFT - 90) * value / most)
        parts.append(f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y + 2}" width="{length:.1f}" height="17" rx="2"/>')
        parts.append(f'<text x="{LEFT + length + 6:.1f}" y="{y + 14}">{value:,.0f}</text>')
    return "\n".join(parts + ["</svg>\n"])


def latencies(title, unit, values):
    """From p50 to the slowest, on a logarithmic scale: (name, {p50, p99, p999, max} in us, class)."""
    least = min(latency["p50"] for _, latency, _ in values)
    most = max(latency["max"] for _, latency, _ in values)
    low, high = math.floor(math.log10(max(least, 1))), math.ceil(math.log10(most))
    height = 90 + STEP * len(values)
    span = WIDTH - LEFT - 30

    def x(microseconds):
        return LEFT + span * (math.log10(max(microseconds, 1)) - low) / max(1, high - low)

    parts = [_head(title, unit, height)]
    for power in range(low, high + 1):
        at = x(10 ** power)
        name = f"{10 ** (power % 3)} {['us', 'ms', 's'][power // 3]}"
        parts.append(f'<line class="line" x1="{at:.1f}" x2="{at:.1f}" y1="54" y2="{height - 30}"/>')
        parts.append(f'<text class="quiet" x="{at:.1f}" y="{height - 12}" text-anchor="middle">{name}</text>')
    for place, (name, latency, kind) in enumerate(values):
        y = 56 + STEP * place
        begin, end = x(latency["p50"]), x(latency["max"])
        parts.append(f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect class="{kind}" x="{begin:.1f}" y="{y + 9}" width="{max(1, end - begin):.1f}" height="3"/>')
        for part, radius in (("p50", 6), ("p99", 5), ("p999", 4), ("max", 3)):
            parts.append(f'<circle class="{kind}" cx="{x(latency[part]):.1f}" cy="{y + 10.5}" r="{radius}"/>')
    return "\n".join(parts + ["</svg>\n"])


def _head(title, unit, height):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'role="img" aria-label="{escape(title)}">\n<style>{STYLE}</style>\n'
            f'<text class="title" x="12" y="24">{escape(title)}</text>\n'
            f'<text class="quiet" x="12" y="43">{escape(unit)}</text>')


def _kind(id):
    if id.startswith("floor"):
        return "floor"
    return "own" if id.startswith(("penstock", "backlog", "slow.life", "slow.eight", "wake.penstock")) else "bar"


def write(data, folder):
    """Writes the plots for which there are rows; gives their names and titles."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, written = data["rows"], []
    for name, (title, unit, lines) in PLOTS.items():
        values = [(text or rows[id]["title"].split(", ", 1)[1], rows[id]["median"], _kind(id))
                  for id, text in lines if "median" in rows.get(id, {})]
        if values:
            (folder / f"{name}.svg").write_text(bars(title, unit, values))
            written.append((name, title))
    lines = [("penstock.enqueue.1", "Penstock, one producer alone"), ("penstock.eight", "Penstock, 8 + 4 processes"),
             ("raw.eight", "raw SQLite, 8 + 4"), ("redis-streams.1", "redis streams, 8 + 4"),
             ("wake.penstock", "Penstock: to another's handler"), ("wake.redis", "redis: to another's hands")]
    # A wake-up counts from the call: when that returns, redis has handed the message over already.
    values = [(text, rows[id].get("also") or rows[id]["latency"], _kind(id))
              for id, text in lines if rows.get(id, {}).get("latency")]
    if values:
        title = "How long an enqueue takes, and how soon another process has the message"
        (folder / "latency.svg").write_text(latencies(title, "p50, p99, p99.9 and the slowest", values))
        written.append(("latency", title))
    return written
