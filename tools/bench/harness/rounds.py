"""Measures rows in turns: every row once, then every row again, so that a slow minute meets all of them."""

import os
import statistics
import subprocess

from .place import Unavailable, say
from .programs import Trace
from .row import NOT_FLUSHED, SETTLES, value_of

ROUNDS = 5


def measure(place, rows, seconds):
    """Fills in `row.result` of each."""
    alive = []
    for row in rows:
        row.result = {"title": row.title, "section": row.section, "unit": row.unit, "durability": row.durability,
                      "lower_is_better": row.lower_is_better}
        if row.also:
            row.result["also_title"] = "from enqueue called" if row.also == "called" else row.also
        if _try(row, lambda row=row: _warm_up(row, seconds)):
            alive.append(row)
    for number in range(ROUNDS):
        say(f"round {number + 1} of {ROUNDS}, {len(alive)} rows")
        for row in list(alive):
            if row.runs is not None and number >= row.runs:
                continue
            if not _try(row, lambda row=row: row.result["runs"].append(_once(row))):
                alive.remove(row)
    for row in alive:
        _sum_up(row)
        if row.together or row.durability in (NOT_FLUSHED, SETTLES):
            _try(row, lambda row=row: _count_flushes(place, row))


def _try(row, action):
    """Whether it went well; otherwise the row says why not."""
    try:
        action()
        return True
    except Unavailable as reason:
        row.result["skipped"] = str(reason)
    except (OSError, RuntimeError, subprocess.SubprocessError, KeyError, ValueError, ZeroDivisionError) as error:
        row.result.setdefault("skipped", f"failed: {error}")
    say(f"{row.id}: {row.result['skipped']}")
    return False


def _warm_up(row, seconds):
    if row.prepare:
        say(f"preparing {row.id}")
        row.prepare()
    row.result["runs"] = []
    if row.fixed is not None:
        row.count = row.fixed
        if row.runs is None and row.fixed:
            row.run(row.count)
        return
    say(f"warming up {row.id}")
    measured = row.run(row.first)
    rate = measured["messages"] / max(measured["seconds"], 1e-6)
    row.count = max(row.first, int(rate * seconds))


def _once(row):
    measured = dict(row.run(row.count))
    if not measured:
        return measured
    if "values" not in measured:
        measured["value"] = value_of(row, measured)
    return {key: (_without_histogram(part) if isinstance(part, dict) else part) for key, part in measured.items()}


def _without_histogram(part):
    return {key: value for key, value in part.items() if key != "histogram"}


def _sum_up(row):
    runs = [run for run in row.result["runs"] if run]
    values = [value for run in runs for value in run.get("values", [run.get("value")]) if value is not None]
    if not values:
        return
    row.result.update(median=statistics.median(values), min=min(values), max=max(values), count=row.count)
    for name, latency in (("latency", row.latency), ("also", row.also)):
        if latency and all(latency in run for run in runs):
            row.result[name] = {
                part: statistics.median(run[latency][part] for run in runs) for part in ("p50", "p99", "p999")}
            row.result[name]["max"] = max(run[latency]["max"] for run in runs)
    if all("cpu" in run and run.get("messages") for run in runs):
        row.result["cpu_us"] = statistics.median(run["cpu"] / run["messages"] * 1e6 for run in runs)


def _count_flushes(place, row):
    """A short run under strace: is the disk flushed as the row says?"""
    if "strace" in place.missing:
        return
    trace = Trace(place.scratch / "traces")
    measured = row.run(max(row.first if row.fixed is None else row.fixed, 5 * (row.together or 1)), trace)
    messages, flushes = measured["messages"], trace.flushes()
    if row.durability in (NOT_FLUSHED, SETTLES):
        # Opening, checkpoints and closing flush a few times.
        kept = flushes <= 40 + messages / 500
    else:
        kept = flushes * row.together >= messages
    row.result["flushes"] = {"messages": messages, "count": flushes, "together": row.together, "kept": kept}
