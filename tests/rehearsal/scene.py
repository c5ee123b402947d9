"""The scene: the objects that every subject of the rehearsal uses."""

import time
from dataclasses import dataclass

from client import Client
from emulator import Emulator
from issuer import Issuer
from report import Report
from stack import Stack
from target import Target


@dataclass
class Scene:
    """A deployment on the emulator, its surroundings, and the report."""

    report: Report
    emulator: Emulator
    issuer: Issuer
    target: Target
    stack: Stack
    # A queue of the team's own, as an SQS target.
    jobs: str

    def api(self, token=None):
        """The deployed API, called by Ann unless another token is given."""
        host = self.stack.outputs["ApiUrl"].split("/")[2]
        return Client(self.emulator, host, token or self.ann())

    def ann(self):
        return self.issuer.token("ann", "schedules:read", "schedules:write", "runs:write")

    def messages(self, queue_url):
        """The number of messages in a queue: visible, in flight, delayed."""
        names = ["", "NotVisible", "Delayed"]
        wanted = [f"ApproximateNumberOfMessages{name}" for name in names]
        answer = self.emulator.client("sqs").get_queue_attributes(QueueUrl=queue_url, AttributeNames=wanted)
        return [int(answer["Attributes"][name]) for name in wanted]


def text(seconds):
    """An instant in the API's format."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
