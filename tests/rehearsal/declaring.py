"""Declaring: another stack has ten schedules among its resources, and the API shows the same at every step."""

from botocore.exceptions import ClientError

from report import until
from scene import Scene
from stack import ROOT

NAME = "jobs"
# The example's schedules: name, expression, zone, overlap policy.
DECLARED = {
    "backlog": ("*/15 * * * *", "UTC", "skip"),
    "campaign": ("0 12 * * *", "Europe/Zurich", "skip"),
    "clock-change": ("15 2 * * *", "Europe/Zurich", "skip"),
    "digest": ("0 9 * * MON-FRI", "Europe/Zurich", "skip"),
    "heartbeat": ("rate(5 minutes)", "UTC", "allow"),
    "hourly": ("H * * * *", "UTC", "queue"),
    "month-end": ("0 22 L * *", "Europe/Zurich", "skip"),
    "nightly": ("30 2 * * *", "Europe/Zurich", "skip"),
    "once": ("at(2031-01-01T00:00:00)", "UTC", "skip"),
    "publish": (None, "UTC", "skip"),
}


class Declaring:
    """The example stack, owned by Ann."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.cloudformation = scene.emulator.client("cloudformation")
        self.template = (ROOT / "infra/examples/schedules.yaml").read_text()

    def play(self):
        self.create()
        self.update()
        self.refuse()
        self.repeat()
        self.delete()

    def create(self):
        report = self.scene.report
        self.cloudformation.create_stack(**self.call())
        report.equal("a stack with ten schedules is created", self.settled(), "CREATE_COMPLETE")
        made = self.cloudformation.list_stack_resources(StackName=NAME)["StackResourceSummaries"]
        for resource in made:
            if resource["ResourceType"].startswith("Custom::"):
                report.note(
                    f"{resource['ResourceStatus']:<16} {resource['ResourceType']:<34} "
                    f"{resource['LogicalResourceId']:<28} {resource['PhysicalResourceId']}"
                )
        shown = self.shown()
        report.equal("the API shows the ten as declared", look(shown), DECLARED)
        report.equal(
            "bound to the version the stack published", {made["version"] for made in shown.values()}, {1}
        )
        report.equal("publish follows nightly", shown["publish"]["after_schedule_id"], f"{NAME}-nightly")
        report.equal(
            "the digest has its payload", shown["digest"]["payload"], {"recipients": 12, "html": True}
        )

    def update(self):
        report, before = self.scene.report, self.shown()
        changes = {"NightHour": "3", "Steps": "extract,check,load", "DigestPaused": "true"}
        self.cloudformation.update_stack(**self.call(**changes))
        report.equal("the stack is updated", self.settled(), "UPDATE_COMPLETE")
        shown = self.shown()
        moved = DECLARED | {"nightly": ("30 3 * * *", "Europe/Zurich", "skip")}
        report.equal("the API shows the new hour, and the rest unchanged", look(shown), moved)
        report.equal("all are bound to the next version", {made["version"] for made in shown.values()}, {2})
        paused = [name for name, made in shown.items() if made["paused"]]
        report.equal("the digest is paused, no other", paused, ["digest"])
        report.expect(
            "every schedule is at a new revision",
            all(made["revision"] > before[name]["revision"] for name, made in shown.items()),
        )
        self.changes = changes

    def refuse(self):
        report, before = self.scene.report, self.shown()
        self.cloudformation.update_stack(**self.call(**self.changes, Timezone="Mars/Base"))
        report.equal(
            "an update to a zone that does not exist is rolled back",
            self.settled(),
            "UPDATE_ROLLBACK_COMPLETE",
        )
        events = self.cloudformation.describe_stack_events(StackName=NAME)["StackEvents"]
        reasons = [event.get("ResourceStatusReason", "") for event in events]
        report.expect(
            "the stack's events say why",
            any("Mars/Base" in reason for reason in reasons),
            sorted(set(reasons)),
        )
        report.equal("the API shows the same as before", look(self.shown()), look(before))

    def repeat(self):
        try:
            self.cloudformation.update_stack(**self.call(**self.changes))
            said = "the schedule was updated"
        except ClientError as problem:
            said = problem.response["Error"]["Message"]
        self.scene.report.expect("an update without a change does nothing", "No updates" in said, said)

    def delete(self):
        stack = self.cloudformation.describe_stacks(StackName=NAME)["Stacks"][0]["StackId"]
        self.cloudformation.delete_stack(StackName=NAME)
        self.scene.report.equal("the stack is deleted", self.settled(stack), "DELETE_COMPLETE")
        self.scene.report.equal("the API shows none of the ten", self.shown(), {})

    def call(self, **parameters):
        outputs = self.scene.stack.outputs
        given = {
            "ServiceToken": outputs["ResourceFunctionArn"],
            "LauncherRoleArn": outputs["LauncherRoleArn"],
            "Owner": "ann",
        } | parameters
        return {
            "StackName": NAME,
            "TemplateBody": self.template,
            "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in given.items()],
        }

    def settled(self, stack=NAME):
        """Waits until no operation is in progress; returns the stack's status."""

        def status():
            described = self.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
            return "IN_PROGRESS" not in described["StackStatus"] and described["StackStatus"]

        return until(f"the stack {NAME} settles", 180, status)

    def shown(self):
        """What the API shows of the stack's schedules, by name."""
        items = self.scene.api().get("/schedules?limit=200").body["items"]
        prefix = f"{NAME}-"
        named = {
            item["schedule_id"].removeprefix(prefix): item
            for item in items
            if item["schedule_id"].startswith(prefix)
        }
        # A list leaves some fields out, so each schedule is read by itself.
        return {name: self.scene.api().get(f"/schedules/{prefix}{name}").body for name in named}


def look(shown):
    """The fields that are compared with the declaration."""
    return {
        name: (made["cron_expr"], made["timezone"], made["overlap_policy"]) for name, made in shown.items()
    }
