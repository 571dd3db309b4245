"""Checks of a test of this folder, and its end."""

import sys

failures = []


def check(what, *said):
    """Prints what was said, unless `what` holds."""
    if not what:
        failures.append(said)
        print("FAILED:", *said, flush=True)


def end():
    """Ends the test, with status 1 if a check failed."""
    print("failed" if failures else "good")
    sys.exit(bool(failures))
