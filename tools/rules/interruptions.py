"""Calls on files and processes that a signal may interrupt.

A program may handle a signal so that the call ends in which it meets a thread, and then a store would not open, a sound disk would be
blamed, or a command taken for dead. `SystemCall.uninterrupted` makes the call again. `read` and `write` are left out, as too much has these names."""
import os
import re

import source

CALL = re.compile(
    r"(?:\bFoundation\.|(?<![\w.]))"
    r"(open(?:at)?(?=\([^{}\n]*\bO_[A-Z])|(?:pread|pwrite|mkdir|posix_fallocate|ftruncate|fsync|fdatasync|penstock_open_path|waitid|waitpid)(?=\())")


def broken(repository):
    """A text for each such call that is made by itself."""
    for path, text in source.texts(os.path.join(repository, "Sources")):
        code = source.code(text)
        for found in CALL.finditer(code):
            if re.search(r"\buninterrupted\(?\s*$", code[:_beginning(code, found.start())]):
                continue
            place = f"{os.path.relpath(path, repository)}:{code.count(chr(10), 0, found.start()) + 1}"
            yield f"{place}: a signal may interrupt {found[1]}; make the call through SystemCall.uninterrupted"


def _beginning(code, place):
    """Where the block begins that the place is in."""
    depth = 0
    while place > 0:
        place -= 1
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        if depth > 0:
            return place
    return 0
