"""The report: one line for every claim that was tried, and a sum at the end."""

import time
import traceback
from contextlib import contextmanager


class Unmet(Exception):
    """A claim that did not hold. What depends on it is not tried."""


class Report:
    """Counts claims and prints them as they are tried."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.began = time.monotonic()

    def expect(self, claim, held, seen=""):
        """Says whether a claim held; raises if it did not, because what follows builds on it."""
        if not held:
            raise Unmet(f"{claim}: {seen}" if seen != "" else claim)
        self.passed += 1
        print(f"ok    {claim}", flush=True)

    def equal(self, claim, seen, wanted):
        """Expects two values to be equal."""
        self.expect(claim, seen == wanted, f"saw {seen!r}, wanted {wanted!r}")

    def note(self, text):
        """Prints what is worth seeing and is no claim."""
        print(f"      {text}", flush=True)

    @contextmanager
    def subject(self, title):
        """A group of claims. The first that does not hold ends it; the subjects after it are tried."""
        print(f"\n{title} ({time.monotonic() - self.began:.0f} s)", flush=True)
        try:
            yield
        except Unmet as unmet:
            self.fail(str(unmet))
        except Exception as error:
            traceback.print_exc()
            self.fail(f"{title}: {error}")

    def fail(self, text):
        """Counts a claim that did not hold."""
        self.failed += 1
        print(f"FAIL  {text}", flush=True)

    def sum(self):
        """Prints the last line; the exit status of the rehearsal."""
        print(f"\n{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def until(what, seconds, ask):
    """Asks until the answer is true and gives it back; `Unmet` when the time is over."""
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Unmet(f"{what}: not within {seconds} s, last answer {answer!r}")
        time.sleep(0.5)
