"""The results as text: for the terminal, and as Markdown."""

from .targets import judged

HEADINGS = {
    "floor": "The floor: raw SQLite from C, one process",
    "penstock": "Penstock, through its public API",
    "shell": "The command, from a shell",
    "peers": "Peers: 8 producer and 4 consumer processes",
    "slow disk": "A flush takes 1 ms longer",
    "latency": "Wake-ups",
    "backlog": "Cost of a claim",
    "idle": "Idle workers, memory, files",
    "streams": "Operators in memory",
    "durable": "Streams and buses on a store",
    "http": "Over HTTP",
    "postgres": "In PostgreSQL",
    "postgres-backlog": "In PostgreSQL: cost of a claim",
}
COLUMNS = ["row", "durability", "median", "min", "max", "unit", "p50", "p99", "p99.9", "max us", "CPU us", "flushes"]


def number(value):
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def cells(row):
    if "skipped" in row:
        return [row["title"], row["durability"], f"skipped: {row['skipped']}"]
    latency = row.get("latency") or {}
    flushes = row.get("flushes")
    counted = ""
    if flushes:
        per_thousand = flushes["count"] * 1000 / flushes["messages"]
        counted = f"{number(per_thousand)}/1000 {'ok' if flushes['kept'] else 'NOT AS STATED'}"
    return [
        row["title"], row["durability"], number(row.get("median")), number(row.get("min")), number(row.get("max")),
        row["unit"], *(number(latency.get(part)) for part in ("p50", "p99", "p999", "max")),
        number(row.get("cpu_us")), counted]


def lines_of(row):
    """A row's line, and one more for a second latency of the same runs."""
    yield cells(row)
    if row.get("also"):
        also = row["also"]
        yield [f"... {row['also_title']}", "", number(also["p50"]), "", "", row["unit"],
               *(number(also[part]) for part in ("p50", "p99", "p999", "max")), "", ""]


def sections(rows):
    for section, heading in HEADINGS.items():
        mine = [row for row in rows.values() if row["section"] == section]
        if mine:
            yield heading, mine


def as_text(data):
    lines = [describe(data)]
    widths = [64, 33, 11, 11, 11, 11, 9, 9, 9, 10, 8, 14]
    for heading, rows in sections(data["rows"]):
        lines += ["", heading, _line(COLUMNS, widths)]
        lines += [_line(words, widths) for row in rows for words in lines_of(row)]
    lines += ["", "What to reach"]
    for target in judged(data["rows"]):
        if target["reached"] is None:
            continue
        mark = "reached" if target["reached"] else "NOT reached"
        lines.append(f"  {target['target']:<58} {target['wanted']:<40} {target['found']:<44} {mark}")
    return "\n".join(lines)


def _line(words, widths):
    if len(words) == 3:
        return f"{words[0]:<{widths[0]}} {words[1]:<{widths[1]}} {words[2]}"
    text = f"{words[0]:<{widths[0]}} {words[1]:<{widths[1]}}"
    for place, (word, width) in enumerate(zip(words[2:], widths[2:]), 2):
        text += f" {word:<{width}}" if place in (5, 11) else f" {word:>{width}}"
    return text.rstrip()


def describe(data):
    kind = "QUICK: short runs and small backlogs, for a first look and not to be quoted; " if data["quick"] else ""
    several = "" if len(data["parts"]) < 2 else f"; measured in {len(data['parts'])} parts"
    return (f"{data['machine']}\n{kind}commit {data['commit']}, {data['date']}{several}; medians of 5 runs after one "
            "to warm up, with the least and the most; payloads of 200 bytes unless a row says otherwise; "
            "latencies in us")


def as_markdown(data, commit):
    """The table, judged by the bounds of `commit`, which writes it: those of later ones may be others."""
    lines = [
        "# Results", "", "Written by `tools/bench/run --results`; [README.md](README.md) says what each row does.", "",
        describe(data).replace("\n", "  \n"), "", "## What to reach", "",
        f"The bounds are those of {commit}; those of today are in [harness/targets.py](harness/targets.py).", "",
        "| what | wanted | found | |", "|---|---|---|---|"]
    for target in judged(data["rows"]):
        mark = {True: "reached", False: "**not reached**", None: "not measured"}[target["reached"]]
        lines.append(f"| {target['target']} | {target['wanted']} | {target['found']} | {mark} |")
    for heading, rows in sections(data["rows"]):
        lines += ["", f"## {heading}", "", "| " + " | ".join(COLUMNS) + " |", "|---|---" + "|---:" * 3 + "|---"
                  + "|---:" * 5 + "|---|"]
        for words in (words for row in rows for words in lines_of(row)):
            lines.append("| " + " | ".join(words + [""] * (len(COLUMNS) - len(words))) + " |")
    lines += ["", "## Plots", ""]
    lines += [f"![{title}](plots/{name}.svg)" for name, title in data.get("plots", [])]
    return "\n".join(lines) + "\n"
