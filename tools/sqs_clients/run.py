"""Runs all of it, or the parts that are named; ends with 1 when something is not as it has to be."""
import sys
import time

import clients
import compare
import place

PARTS = {
    "compare": lambda program: compare_with_moto(program),
    "handles": clients.handles,
    "awscli": clients.awscli,
    "signatures": clients.signatures,
    "celery": clients.celery,
    "dramatiq": clients.dramatiq,
}


def compare_with_moto(program):
    with place.penstock(program) as url, place.moto() as other:
        found = compare.run(place.client(url), place.client(other))
    if found:
        sys.exit(f"sqs: nobody has decided these differences: {', '.join(found)}")


def main(program, *names):
    for name in names or PARTS:
        began = time.monotonic()
        PARTS[name](program)
        print(f"sqs: {name} is well ({time.monotonic() - began:.1f} s)")


main(*sys.argv[1:])
