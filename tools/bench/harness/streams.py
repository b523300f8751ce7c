"""Operators in memory, beside the nearest ones of other packages."""

from .programs import call
from .row import NONE, Row

def streams(place):
    for line in call_list(place):
        name, title = line["name"], line["title"]

        def run(count, trace=None, name=name):
            return call([place.streams, name, count])

        yield Row(f"streams.{name}", "streams", title, run, NONE, unit="elements/s", first=20000,
                  quick=line["quick"])

def call_list(place):
    return call([place.streams, "list", 0])["rows"]
