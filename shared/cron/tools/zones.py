#!/usr/bin/env python3
"""Bring the time zones up to date: write src/zone/overlay.rs and tests/zones.txt.

chrono-tz is released less often than time zone laws change. This script compares the zone data in
chrono-tz (BASE) with the newest data (NEWEST), both from the PyPI package `tzdata`, from 1970 on. It
writes

  src/zone/overlay.rs  the differences, as patches to chrono-tz
  tests/zones.txt      for every zone, the number of clock changes up to the end of 2100 and a hash of
                       them; the test `zones` compares our zones with this file

To import a newer release: set NEWEST, run `python3 shared/cron/tools/zones.py`, run the tests, commit.
When a new chrono-tz contains newer data, set BASE to that release. Needs Python 3.9 and pip.
"""
import datetime
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

BASE = ("2025.2", "2025b")
NEWEST = ("2026.6", "2026f")
CRATE = pathlib.Path(__file__).resolve().parent.parent
DAY = 86400
EPOCH = datetime.date(1970, 1, 1)
LAST_YEAR = 2100
# East of Greenwich the local year 1970 begins while it is still 1969 in UTC.
START = -7 * DAY
# A patch with more changes than this is a rule. The patch then names a zone that has the same rule.
LONGEST_LIST = 24


def main():
    with tempfile.TemporaryDirectory() as folder:
        base = load_release(folder, *BASE)
        newest = load_release(folder, *NEWEST)
    missing = sorted(newest.keys() - base.keys())
    if missing:
        sys.exit(f"the overlay patches zones, it cannot add any: {missing}")
    patches = {}
    for name in sorted(newest):
        if newest[name] != base[name]:
            patches.setdefault(patch(name, base, newest), []).append(name)
    write_overlay(patches)
    write_fixture(newest)


def load_release(folder, version, iana):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                    "--dest", folder, f"tzdata=={version}"], check=True)
    with zipfile.ZipFile(next(pathlib.Path(folder).glob(f"tzdata-{version}-*.whl"))) as wheel:
        assert f'IANA_VERSION = "{iana}"' in wheel.read("tzdata/__init__.py").decode()
        # Factory is the zone of a machine that is not set up yet. chrono-tz does not have it.
        names = set(wheel.read("tzdata/zones").decode().split()) - {"Factory"}
        return {name: clock_changes(wheel.read(f"tzdata/zoneinfo/{name}")) for name in names}


def clock_changes(tzif):
    """[(instant, offset from then on)] from START to LAST_YEAR. The first entry is the offset at START."""
    instants, offsets, first, footer = read_tzif(tzif)
    changes = list(zip(instants, offsets))
    changes += [c for c in rule_changes(footer) if not instants or c[0] > instants[-1]]
    end = (datetime.date(LAST_YEAR + 1, 1, 1) - EPOCH).days * DAY
    before = [offset for instant, offset in changes if instant <= START]
    result = [(START, before[-1] if before else first)]
    for instant, offset in sorted(changes):
        if START < instant < end and offset != result[-1][1]:
            result.append((instant, offset))
    return result


def read_tzif(data):
    """The 64 bit block of a TZif file, RFC 8536."""
    def counts(at):
        assert data[at:at + 4] == b"TZif"
        return struct.unpack(">6I", data[at + 20:at + 44])

    isut, isstd, leap, times, types, chars = counts(0)
    at = 44 + times * 5 + types * 6 + chars + leap * 8 + isstd + isut
    isut, isstd, leap, times, types, chars = counts(at)
    at += 44
    instants = struct.unpack(f">{times}q", data[at:at + 8 * times])
    indices = data[at + 8 * times:at + 9 * times]
    at += 9 * times
    offsets = [struct.unpack(">i", data[at + 6 * n:at + 6 * n + 4])[0] for n in range(types)]
    at += 6 * types + chars + leap * 12 + isstd + isut
    return instants, [offsets[n] for n in indices], offsets[0], data[at:].decode().strip()


def rule_changes(footer):
    """The clock changes of a POSIX TZ rule (the footer of the file), year by year."""
    name = r"(?:<[^>]+>|[A-Za-z]+)"
    m = re.fullmatch(rf"{name}([-+:\d]+)(?:{name}([-+:\d]+)?,([^,/]+)(/[^,]+)?,([^,/]+)(/[^,]+)?)?", footer)
    if not m.group(3):
        return
    standard = -seconds(m.group(1))
    summer = -seconds(m.group(2)) if m.group(2) else standard + 3600
    for year in range(1970, LAST_YEAR + 1):
        for day, time, old, new in (
            (m.group(3), m.group(4), standard, summer),
            (m.group(5), m.group(6), summer, standard),
        ):
            yield rule_day(day, year) * DAY + seconds((time or "/2")[1:]) - old, new


def seconds(text):
    sign = -1 if text.startswith("-") else 1
    parts = [int(part) for part in text.lstrip("+-").split(":")] + [0, 0]
    return sign * (parts[0] * 3600 + parts[1] * 60 + parts[2])


def rule_day(text, year):
    """Days since 1970 of `Mm.w.d`, `Jn` or `n` in a year."""
    if text[0] == "M":
        month, week, weekday = map(int, text[1:].split("."))
        first = datetime.date(year, month, 1)
        day = first + datetime.timedelta((weekday - first.isoweekday()) % 7 + 7 * (week - 1))
        while day.month != month:
            day -= datetime.timedelta(7)
        return (day - EPOCH).days
    new_year = (datetime.date(year, 1, 1) - EPOCH).days
    if text[0] == "J":
        leap = (datetime.date(year, 3, 1) - datetime.date(year, 2, 1)).days == 29
        return new_year + int(text[1:]) - 1 + (leap and int(text[1:]) >= 60)
    return new_year + int(text)


def patch(name, base, newest):
    """(from, until, changes or a zone's name): between the two, `changes` replace the base's."""
    old, new = base[name], newest[name]
    head = next(n for n in range(len(old) + len(new)) if old[n:n + 1] != new[n:n + 1])
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-tail - 1] == new[-tail - 1]:
        tail += 1
    start = min(zone[head][0] for zone in (old, new) if head < len(zone))
    until = new[-tail][0] if tail else None
    changes = tuple(new[head:len(new) - tail])
    if len(changes) <= LONGEST_LIST:
        return start, until, changes

    def window(zone):
        return [change for change in zone if change[0] >= start and (until is None or change[0] < until)]

    def same_rule(other):
        return newest[other] == base[other] and window(base[other]) == window(new)

    def distance(other):
        return other.split("/")[0] != name.split("/")[0], other

    return start, until, next(other for other in sorted(base, key=distance) if same_rule(other))


def write_overlay(patches):
    lines = [
        "//! Zone rules that changed after chrono-tz was released. tools/zones.py writes this file: do not edit it.",
        "",
        "use super::patch::{Patch, Then};",
        "",
        "/// The release of the zone data that chrono-tz has with these patches.",
        f'pub(super) const VERSION: &str = "{NEWEST[1]}";',
        "",
        "/// The release that the patches were made against. chrono-tz must contain this release.",
        "#[cfg(test)]",
        f'pub(super) const BASE_VERSION: &str = "{BASE[1]}";',
        "",
        "/// Every difference between the two releases from 1970 on, for aliases too.",
        "pub(super) const PATCHES: &[Patch] = &[",
    ]
    for (start, until, then), names in sorted(patches.items(), key=lambda item: item[1]):
        lines.append("    Patch {")
        lines.append("        zones: &[" + ", ".join(f'"{name}"' for name in names) + "],")
        lines.append(f"        from: {number(start)}, // {utc(start)}")
        lines.append("        until: i64::MAX," if until is None else f"        until: {number(until)}, // {utc(until)}")
        if isinstance(then, str):
            lines.append(f'        then: Then::Like("{then}"),')
        elif then:
            lines.append("        then: Then::Changes(&[")
            lines += [f"            ({number(at)}, {number(offset)}), // {utc(at)}" for at, offset in then]
            lines.append("        ]),")
        else:
            lines.append("        then: Then::Changes(&[]),")
        lines.append("    },")
    lines.append("];")
    path = CRATE / "src/zone/overlay.rs"
    path.write_text("\n".join(lines) + "\n")
    subprocess.run(["rustfmt", "--edition", "2024", "--config-path", CRATE.parent.parent, path], check=True)


def write_fixture(newest):
    lines = [f"# zone, clock changes from 1970 to {LAST_YEAR}, FNV-1a 64 of them; tzdata {NEWEST[1]}, made by tools/zones.py"]
    for name, changes in sorted(newest.items()):
        hashed = 0xCBF29CE484222325
        for instant, offset in changes:
            for byte in struct.pack(">qi", instant, offset):
                hashed = (hashed ^ byte) * 0x100000001B3 % (1 << 64)
        lines.append(f"{name} {len(changes) - 1} {hashed:016x}")
    (CRATE / "tests/zones.txt").write_text("\n".join(lines) + "\n")


def number(value):
    return f"{value:_}"


def utc(instant):
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=instant)).isoformat() + "Z"


if __name__ == "__main__":
    main()
