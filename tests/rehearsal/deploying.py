"""Deploying: the template becomes resources that match it."""

import json
from collections import Counter

from quirks import make_up
from scene import Scene
from stack import NAME, ROOT, declared

FUNCTIONS = ["tick", "launcher", "recovery", "api", "resource"]


def deploy(scene: Scene):
    report, stack = scene.report, scene.stack
    printed = stack.deploy()
    report.expect("sam deploys the template", f"Successfully created/updated stack - {NAME}" in printed)
    resources = stack.resources()
    for name, (kind, identity, status) in sorted(resources.items()):
        report.note(f"{status:<16} {kind:<34} {name:<28} {identity}")
    unfinished = [name for name, (_, _, status) in resources.items() if status != "CREATE_COMPLETE"]
    report.equal(f"{len(resources)} resources are created", unfinished, [])
    wanted = declared((ROOT / "infra/template.yaml").read_text())
    made = Counter(kind for kind, _, _ in resources.values())
    report.equal("every resource of the template exists", wanted - made, Counter())
    make_up(scene)


def inspect(scene: Scene):
    """Asks the services themselves, not CloudFormation, for their resources."""
    report, emulator, outputs = scene.report, scene.emulator, scene.stack.outputs
    dynamodb = emulator.client("dynamodb")
    tables = {
        "SchedulesTable": {"due", "owner", "workflow"},
        "RunsTable": {"sweep"},
        "WorkflowsTable": {"owner"},
    }
    for name, indexes in tables.items():
        table = dynamodb.describe_table(TableName=outputs[name])["Table"]
        report.equal(
            f"{name} is on demand and protected",
            (table["BillingModeSummary"]["BillingMode"], str(table["DeletionProtectionEnabled"]).lower()),
            ("PAY_PER_REQUEST", "true"),
        )
        found = {index["IndexName"] for index in table.get("GlobalSecondaryIndexes", [])}
        report.equal(f"its indexes are {', '.join(sorted(indexes)) or 'none'}", found, indexes)
    configurations = {
        name: emulator.client("lambda").get_function_configuration(FunctionName=f"{NAME}-{name}")
        for name in FUNCTIONS
    }
    report.equal(
        "each function is a bootstrap on provided.al2023",
        {(made["Runtime"], made["Handler"]) for made in configurations.values()},
        {("provided.al2023", "bootstrap")},
    )
    roles = {made["Role"] for made in configurations.values()}
    report.equal("each function has a role of its own", len(roles), len(FUNCTIONS))
    alarms = emulator.client("cloudwatch").describe_alarms(AlarmNamePrefix=f"{NAME}-", MaxRecords=100)
    wanted = declared((ROOT / "infra/template.yaml").read_text())["AWS::CloudWatch::Alarm"]
    report.equal(f"{wanted} alarms are set", len(alarms["MetricAlarms"]), wanted)
    board = emulator.client("cloudwatch").get_dashboard(DashboardName=NAME)
    widgets = json.loads(board["DashboardBody"])["widgets"]
    report.expect(f"the dashboard has {len(widgets)} widgets", len(widgets) > 0)
