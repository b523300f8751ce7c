"""Reads /metrics of a server as Prometheus does, with its own tools, and sees whether the dashboard and the alerts ask for what is
there.

    metrics.py URL DASHBOARD ALERTS"""
import json
import re
import subprocess
import sys
import urllib.request

import packages

# Words of PromQL that look like names of metrics.
METRIC = re.compile(r"\b(?:penstock|process)_[a-z0-9_]+")
# What tells a sample's name from its family's.
SUFFIX = re.compile(r"_(?:bucket|sum|count)$")


def fetched(url):
    """The text, asked for twice, so that the first request is in it."""
    for _ in range(2):
        with urllib.request.urlopen(url + "metrics", timeout=60) as response:
            kind, text = response.headers["Content-Type"], response.read()
    if kind != "text/plain; version=0.0.4; charset=utf-8":
        sys.exit(f"metrics: the content type is {kind}.")
    return text


def families(text):
    """The families as the client library for Python reads them."""
    parser = packages.imported("prometheus_client.parser", "prometheus_client==0.26.0")
    return {each.name: each for each in parser.text_string_to_metric_families(text.decode())}


def well_formed(found):
    """Each family has a kind, a help and no series twice; buckets rise, and the last one has all."""
    for family in found.values():
        if family.type == "unknown" or not family.documentation:
            yield f"{family.name} has no TYPE or no HELP."
        series = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        if len(set(series)) != len(series):
            yield f"{family.name} has a series twice."
        if family.type != "histogram":
            continue
        groups, counts = {}, {}
        for sample in family.samples:
            key = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
            if sample.name.endswith("_bucket"):
                groups.setdefault(key, []).append((float(sample.labels["le"]), sample.value))
            elif sample.name.endswith("_count"):
                counts[key] = sample.value
        for key, buckets in groups.items():
            values = [value for _, value in buckets]
            if buckets != sorted(buckets) or values != sorted(values) or buckets[-1] != (float("inf"), counts[key]):
                yield f"{family.name}{dict(key)} does not add up."


def asked_for(dashboard, alerts):
    """Each name of a metric that the dashboard and the alerts have, with the place where it is."""
    with open(dashboard, encoding="utf-8") as file:
        board = json.load(file)
    for panel in board["panels"]:
        for target in panel["targets"]:
            for name in METRIC.findall(target["expr"]):
                yield name, f"the panel '{panel['title']}'"
    for variable in board["templating"]["list"]:
        for name in METRIC.findall(variable.get("definition", "")):
            yield name, f"the variable '{variable['name']}'"
    with open(alerts, encoding="utf-8") as file:
        for line in file:
            if not re.match(r"\s*(?:- alert|summary|description|- name)\b", line):
                for name in METRIC.findall(line):
                    yield name, f"the alert '{line.strip()}'"


def main(url, dashboard, alerts):
    text = fetched(url)
    subprocess.run(["promtool", "check", "metrics"], input=text, check=True)
    found = families(text)
    problems = list(well_formed(found))
    if "# EOF" in text.decode() or not text.endswith(b"\n"):
        problems.append("the text does not end with a line feed, or has an end of another format.")
    names = set(found) | {family.name + "_total" for family in found.values() if family.type == "counter"}
    asked = list(asked_for(dashboard, alerts))
    if len(asked) < 20:
        problems.append("the dashboard asks for next to nothing; is it read at all?")
    for name, place in asked:
        if name not in names and SUFFIX.sub("", name) not in names:
            problems.append(f"{place} asks for {name}, which is not there.")
    value = found["penstock_messages_done"].samples
    if [sample.value for sample in value if sample.labels == {"queue": "mail"}] != [1]:
        problems.append("one message of the queue mail is done, and the server says another number.")
    if not any(sample.labels["queue"] == 'we"ird\\ queue' for sample in found["penstock_queue_capacity"].samples):
        problems.append("a name with quotes and a backslash is not read back.")
    for problem in problems:
        print(f"metrics: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
