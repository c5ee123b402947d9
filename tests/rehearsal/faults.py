"""Faults: a launcher killed during a launch, a lost message, and a message that cannot be parsed."""

import os
import signal
import time

from report import until
from scene import Scene, text
from stack import NAME

# The template's visibility timeout is three minutes; this is short enough to wait for.
VISIBILITY_S = 5
POISON = "this is no fire"


class Faults:
    """Causes faults at the beginning, and checks at the end that the system recovered."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.sqs = scene.emulator.client("sqs")
        self.launch_queue = scene.stack.outputs["LaunchQueueUrl"]
        self.dead_letters = scene.stack.outputs["DeadLetterQueueUrl"]
        self.sqs.set_queue_attributes(
            QueueUrl=self.launch_queue, Attributes={"VisibilityTimeout": str(VISIBILITY_S)}
        )
        scene.report.note(f"the launch queue delivers a message again after {VISIBILITY_S} s, not 180")
        self.lost = self.lose()
        self.killed = self.kill()
        self.sqs.send_message(QueueUrl=self.launch_queue, MessageBody=POISON)
        scene.report.note("a message that cannot be parsed is sent to the launch queue")

    def publish(self, name, path):
        api = self.scene.api()
        url = f"{self.scene.target.url}{path}"
        published = api.put(f"/workflows/{name}/versions/1", {"target": {"kind": "http", "url": url}})
        assert published.status == 201, published

    def lose(self):
        """Lets a fire be recorded, and removes its message before it is due."""
        self.publish("lost", "/lost")
        at = int(time.time()) + 25
        once = time.strftime("%S %M %H %d %m * %Y", time.gmtime(at))
        made = self.scene.api().put("/schedules/lost", {"workflow_id": "lost", "cron_expr": once})
        assert made.status == 201, made
        run_id = f"lost@{text(at)}"
        self.sqs.purge_queue(QueueUrl=self.launch_queue)
        self.scene.report.equal(
            f"the message of {run_id} is lost", self.scene.messages(self.launch_queue), [0, 0, 0]
        )
        run = self.scene.api().get(f"/runs/{run_id}")
        self.scene.report.equal("its record exists", (run.status, run.body["status"]), (200, "ENQUEUED"))
        return run_id

    def kill(self):
        """Kills the launcher while it waits for its target."""
        self.publish("slow", "/slow")
        api, emulator = self.scene.api(), self.scene.emulator
        made = api.put("/schedules/killed", {"workflow_id": "slow", "cron_expr": "0 0 1 1 *"})
        assert made.status == 201, made
        run = api.post("/schedules/killed/trigger")
        assert run.status == 202, run
        run_id = run.body["run_id"]
        until("the target is called", 60, lambda: self.scene.target.seen("/slow"))
        launchers = emulator.functions(f"{NAME}-launcher")
        for pid in launchers:
            os.kill(pid, signal.SIGKILL)
        self.scene.report.expect(
            f"the launcher is killed in the middle of {run_id}", len(launchers) > 0, launchers
        )
        return run_id

    def finish(self):
        self.taken_over()
        self.recovered()
        self.dead()

    def taken_over(self):
        run = self.ended(self.killed)
        calls = self.scene.target.seen("/slow")
        self.scene.report.expect(
            f"another launcher took over {self.killed} after the lease expired",
            run["status"] == "SUCCESS" and run["attempt"] == 2 and len(calls) == 2,
            (run, len(calls)),
        )
        keys = {call["headers"]["idempotency-key"] for call in calls}
        fences = [call["body"]["metadata"]["fence"] for call in calls]
        self.scene.report.expect(
            "with the same key and a higher fence", len(keys) == 1 and fences == [1, 2], (keys, fences)
        )

    def recovered(self):
        run = self.ended(self.lost)
        self.scene.report.expect(
            f"recovery found {self.lost} and had it launched, {run['drift_ms'] // 1000} s after its time",
            run["status"] == "SUCCESS" and run["recovery"]["is_recovery"],
            run,
        )
        calls = self.scene.target.seen("/lost")
        told = [call["body"]["metadata"].get("is_recovery") for call in calls]
        self.scene.report.equal("its target was called once, with is_recovery set", told, [True])

    def dead(self):
        until(
            "the message that cannot be parsed is a dead letter",
            240,
            lambda: sum(self.scene.messages(self.dead_letters)) == 1,
        )
        self.scene.report.expect("the message that cannot be parsed is a dead letter", True)

    def ended(self, run_id):
        """Waits for the run to end and returns it."""
        return until(
            f"{run_id} ends",
            240,
            lambda: (run := self.scene.api().get(f"/runs/{run_id}").body)["finished_at"] and run,
        )
