"""Conflicts that a trigger of a file settles by what SQLite puts something else in the place of.

What the outer statement says (`INSERT OR FAIL INTO penstock_messages`) replaces what those of its triggers say, and not an ON CONFLICT at
their end. Steps never change, so this reads the baseline: it has each trigger as the last step made it."""
import os
import re

import source

TRIGGER = re.compile(r"^CREATE TRIGGER (\w+).*?^END;", re.M | re.S)
COMMENT = re.compile(r"--[^\n]*")
REPLACED = re.compile(r"\b(?:(?:INSERT|UPDATE)\s+OR\s+\w+|REPLACE\s+INTO)\b", re.I)


def broken(repository):
    """A text for each such statement."""
    path = os.path.join("Migrations", "Baseline", "baseline.sql")
    for trigger in TRIGGER.finditer(source.read(os.path.join(repository, path))):
        # What it is of stands before BEGIN, as `BEFORE INSERT ON`.
        for found in REPLACED.finditer(COMMENT.sub("", trigger[0])):
            statement = " ".join(found[0].split())
            yield f"{path}: {trigger[1]} has '{statement}', which the outer statement replaces; end it with ON CONFLICT, in a new step"
