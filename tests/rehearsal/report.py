"""The report: one line for every check, and a summary at the end."""

import time
import traceback
from contextlib import contextmanager


class Unmet(Exception):
    """A check that failed. Later checks that depend on it are skipped."""


class Report:
    """Counts checks and prints their results."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.began = time.monotonic()

    def expect(self, claim, held, seen=""):
        """Records whether a check passed; raises if not, because the following steps depend on it."""
        if not held:
            raise Unmet(f"{claim}: {seen}" if seen != "" else claim)
        self.passed += 1
        print(f"ok    {claim}", flush=True)

    def equal(self, claim, seen, wanted):
        """Expects two values to be equal."""
        self.expect(claim, seen == wanted, f"saw {seen!r}, wanted {wanted!r}")

    def note(self, text):
        """Prints information that is not a check."""
        print(f"      {text}", flush=True)

    @contextmanager
    def subject(self, title):
        """A group of checks. The first failure ends it; the following groups still run."""
        print(f"\n{title} ({time.monotonic() - self.began:.0f} s)", flush=True)
        try:
            yield
        except Unmet as unmet:
            self.fail(str(unmet))
        except Exception as error:
            traceback.print_exc()
            self.fail(f"{title}: {error}")

    def fail(self, text):
        """Counts a failed check."""
        self.failed += 1
        print(f"FAIL  {text}", flush=True)

    def sum(self):
        """Prints the summary; returns the exit status of the rehearsal."""
        print(f"\n{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def until(what, seconds, ask):
    """Asks until the answer is true and returns it; raises `Unmet` when the time is over."""
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Unmet(f"{what}: not within {seconds} s, last answer {answer!r}")
        time.sleep(0.5)
