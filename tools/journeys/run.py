"""Runs the journeys, and says of each whether it was as it should be."""
import inspect
import os
import sys
import time
import traceback

import attention
import journeys
import looks
import stage


def main():
    bin_path, names = sys.argv[1], sys.argv[2:]
    if names[:1] == ["--looks"]:
        os.makedirs(names[1], exist_ok=True)
        looks.pages(bin_path, names[1])
        return 0
    known = {
        name: journey for module in (journeys, attention, looks) for name, journey in inspect.getmembers(module, inspect.isfunction)
        if journey.__module__ == module.__name__ and list(inspect.signature(journey).parameters) == ["bin_path"]}
    for name in names:
        if name not in known:
            print(f"browser: there is no journey {name}; these are there: {', '.join(known)}", file=sys.stderr)
            return 64
    failed = 0
    for name in names or known:
        start = time.monotonic()
        try:
            known[name](bin_path)
            print(f"✔ {name} ({time.monotonic() - start:.1f} s)", flush=True)
        except Exception as error:
            failed += 1
            print(f"✘ {name}: {error}", flush=True)
            if not isinstance(error, stage.Failure):
                traceback.print_exc()
    print(f"{len(names or known) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
