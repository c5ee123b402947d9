"""APScheduler on PostgreSQL: COUNT jobs that are due in the same second, each fire a call and a row.

The same protocol as the other children: answers on standard error.
"""

import http.client
import json
import sys
import threading
import time
from datetime import datetime, timezone
from importlib.metadata import version
from urllib.parse import urlsplit

import psycopg
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

COUNT, DUE_MS, PORT = (int(argument) for argument in sys.argv[1:4])
DUE = datetime.fromtimestamp(DUE_MS / 1000, timezone.utc)
TARGET = urlsplit(sys.argv[4])
HEADERS = {"Content-Type": "application/json"}
SERVER = f"postgresql://bench@127.0.0.1:{PORT}/postgres"
local = threading.local()
lock = threading.Lock()
late = []
done = threading.Event()


def answer(value):
    print(f"answer: {json.dumps(value)}", file=sys.stderr, flush=True)


def fire(number):
    at = time.time() * 1000 - DUE_MS
    if not hasattr(local, "connection"):
        local.connection = psycopg.connect(SERVER, autocommit=True)
        local.target = http.client.HTTPConnection(TARGET.hostname, TARGET.port)
    metadata = {"run_id": f"schedule-{number}@{DUE.isoformat()}"}
    body = {"payload": {"report": "daily", "region": "eu"}, "metadata": metadata}
    local.target.request("POST", TARGET.path, json.dumps(body), HEADERS)
    local.target.getresponse().read()
    local.connection.execute("INSERT INTO fires VALUES (%s, %s)", (number, DUE))
    with lock:
        late.append(at)
        if len(late) == COUNT:
            done.set()


def main():
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute("CREATE TABLE fires (schedule int, run_at timestamptz)")
    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=SERVER.replace("://", "+psycopg://"))},
        executors={"default": ThreadPoolExecutor(16)},
        job_defaults={"misfire_grace_time": None, "max_instances": 1},
        timezone="UTC",
    )
    trigger = CronTrigger(
        second=DUE.second, minute=DUE.minute, hour=DUE.hour, day=DUE.day, month=DUE.month,
        timezone="UTC",
    )
    scheduler.start(paused=True)
    for number in range(COUNT):
        scheduler.add_job(fire, trigger, args=[number], id=f"schedule-{number}")
    scheduler.resume()
    answer({"version": version("apscheduler"), "spare_ms": DUE_MS - time.time() * 1000})
    done.wait(300)
    # The scheduler stores each job's next time after it has dispatched the fires.
    store = scheduler._jobstores["default"]
    while store.get_due_jobs(datetime.now(timezone.utc)):
        time.sleep(0.01)
    seconds = time.time() - DUE_MS / 1000
    late.sort()
    rank = lambda percent: late[max(0, -(-len(late) * percent // 100) - 1)]
    answer({"seconds": seconds, "p50": rank(50), "p99": rank(99), "max": rank(100)})
    sys.stdin.read()


main()
