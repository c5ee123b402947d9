"""Firing: schedules created over the API, ticks by the rule, launches at an HTTP and an SQS target, and the records."""

import hashlib
import hmac
import json
import time
from datetime import datetime

from report import until
from scene import Scene, text
from stack import NAME

# After a change the API sends the fires up to here; the tick sends those beyond.
LOOKAHEAD_S = 90
CRON = "*/20 * * * * *"


class Firing:
    """Two schedules that fire every twenty seconds, observed from their creation."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.listener = listen(scene)
        report, api, target = scene.report, scene.api(), scene.target
        published = api.put(
            "/workflows/report/versions/1",
            {"definition": {"steps": ["load"]}, "target": {"kind": "http", "url": f"{target.url}/launch"}},
        )
        report.equal("a workflow with an HTTP target is published", published.status, 201)
        published = api.put(
            "/workflows/invoice/versions/1",
            {"definition": {"steps": ["print"]}, "target": {"kind": "sqs", "queue_url": scene.jobs}},
        )
        report.equal("a workflow with an SQS target is published", published.status, 201)
        self.began = int(time.time())
        for schedule_id, workflow_id in (("by-http", "report"), ("by-queue", "invoice")):
            made = api.put(
                f"/schedules/{schedule_id}",
                {"workflow_id": workflow_id, "cron_expr": CRON, "payload": {"month": 11}},
            )
            report.equal(
                f"schedule {schedule_id} is created", (made.status, made.body["status"]), (201, "active")
            )
        stranger = api.bearing(scene.issuer.token("bob", "schedules:read"))
        report.equal("other users do not see it", stranger.get("/schedules/by-http").status, 404)

    def finish(self):
        """Waits for fires that only the minute rule can have recorded."""
        ticked = text(self.began + LOOKAHEAD_S + 5)
        for schedule_id in ("by-http", "by-queue"):
            done = until(
                f"a fire of {schedule_id} that the tick recorded is launched",
                240,
                lambda: [run for run in self.launched(schedule_id) if run["run_at"] > ticked],
            )
            run = self.scene.api().get(f"/runs/{done[-1]['run_id']}").body
            for seen in reversed(self.launched(schedule_id)):
                by = "the tick" if seen["run_at"] > ticked else "the api"
                self.scene.report.note(
                    f"fire {seen['run_id']} {seen['status']}, {seen['drift_ms']} ms from its second, recorded by {by}"
                )
            self.scene.report.equal(
                f"the minute rule's tick recorded {run['run_id']}, and it was launched once",
                (run["status"], run["attempt"], run["trigger"]),
                ("SUCCESS", 1, f"schedule:{CRON}"),
            )
        self.http()
        self.queue()
        self.ledger()
        self.events()

    def launched(self, schedule_id):
        return [run for run in self.scene.api().runs(schedule_id) if run["status"] == "SUCCESS"]

    def http(self):
        report, launches = self.scene.report, self.scene.target.seen("/launch")
        last = launches[-1]
        body = last["body"]
        report.equal(
            "the HTTP target receives the definition, the payload and the metadata",
            (body["dag"], body["payload"], body["metadata"]["schedule_id"], body["metadata"]["user_id"]),
            ({"steps": ["load"]}, {"month": 11}, "by-http", "ann"),
        )
        fire = body["metadata"]["scheduled_time"]
        second = int(datetime.fromisoformat(fire.replace("Z", "+00:00")).timestamp())
        key = hashlib.sha256(f"by-http:{second}".encode()).hexdigest()
        report.equal("its key consists of schedule and second", last["headers"]["idempotency-key"], key)
        secret = self.scene.emulator.client("secretsmanager").get_secret_value(
            SecretId=self.scene.stack.outputs["SigningKeyArn"]
        )["SecretString"]
        signed = last["headers"]["belfry-timestamp"].encode() + b"." + last["raw"]
        signature = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        report.equal(
            "its signature is made with the deployment's secret",
            last["headers"]["belfry-signature"],
            f"v1={signature}",
        )
        keys = [launch["headers"]["idempotency-key"] for launch in launches]
        report.equal("no fire came twice", len(keys), len(set(keys)))

    def queue(self):
        launched = {run["run_id"]: run["external_run_id"] for run in self.launched("by-queue")}
        messages = [
            (json.loads(message["Body"])["metadata"]["run_id"], message["MessageId"])
            for message in drain(self.scene, self.scene.jobs)
        ]
        sent = dict(messages)
        self.scene.report.equal("the SQS target got no fire twice", len(messages), len(sent))
        self.scene.report.equal(
            f"it got all {len(launched)} that were launched, and the records name its messages",
            {run_id: sent.get(run_id) for run_id in launched},
            launched,
        )

    def ledger(self):
        now = text(time.time() - 30)
        for schedule_id in ("by-http", "by-queue"):
            ledger = self.scene.api().get(f"/schedules/{schedule_id}/ledger?from={text(self.began)}&to={now}")
            expected = ledger.body["expected"]
            self.scene.report.expect(
                f"the ledger of {schedule_id} explains all of its {expected} fires",
                expected > 0 and ledger.body["unexplained"] == [],
                ledger.body,
            )

    def events(self):
        told = [json.loads(message["Body"]) for message in drain(self.scene, self.listener)]
        kinds = {event["detail-type"] for event in told if event["detail"]["schedule_id"] == "by-http"}
        self.scene.report.expect(
            "the bus received events of started and succeeded runs",
            {"run.started", "run.succeeded"} <= kinds,
            kinds,
        )


def listen(scene):
    """A queue that receives every event of the deployment's bus."""
    sqs, events = scene.emulator.client("sqs"), scene.emulator.client("events")
    queue = sqs.create_queue(QueueName="listener")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": arn,
            }
        ],
    }
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": json.dumps(policy)})
    bus = scene.stack.outputs["EventBusName"]
    events.put_rule(
        Name=f"{NAME}-listener", EventBusName=bus, EventPattern=json.dumps({"source": ["belfry"]})
    )
    events.put_targets(Rule=f"{NAME}-listener", EventBusName=bus, Targets=[{"Id": "listener", "Arn": arn}])
    return queue


def drain(scene, queue):
    """Receives and deletes every message of a queue."""
    sqs = scene.emulator.client("sqs")
    taken = []
    for _ in range(100):
        batch = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        if not batch:
            break
        taken += batch
        for message in batch:
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return taken
