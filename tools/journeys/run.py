"""Runs the journeys, and says of each whether it was as it should be."""
import inspect
import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import attention
import journeys
import looks
import stage


# Journeys mostly wait, for the moments at which a page looks.
AT_ONCE = 2


def attempt(name, journey, bin_path):
    """Makes a journey, says how it went, and gives whether it was as it should be."""
    start = time.monotonic()
    try:
        journey(bin_path)
    except Exception as error:
        print(f"✘ {name}: {error}", flush=True)
        if not isinstance(error, stage.Failure):
            traceback.print_exc()
        return False
    print(f"✔ {name} ({time.monotonic() - start:.1f} s)", flush=True)
    return True


def main():
    bin_path, names = sys.argv[1], sys.argv[2:]
    if names[:1] == ["--looks"]:
        os.makedirs(names[1], exist_ok=True)
        looks.pages(bin_path, names[1])
        return 0
    known = {
        name: journey for module in (looks, journeys, attention) for name, journey in inspect.getmembers(module, inspect.isfunction)
        if journey.__module__ == module.__name__ and list(inspect.signature(journey).parameters) == ["bin_path"]}
    for name in names:
        if name not in known:
            print(f"browser: there is no journey {name}; these are there: {', '.join(known)}", file=sys.stderr)
            return 64
    # The longest one, which looks at every page, begins first.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        went_well = list(pool.map(lambda name: attempt(name, known[name], bin_path), names or known))
    failed = went_well.count(False)
    print(f"{len(names or known) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
