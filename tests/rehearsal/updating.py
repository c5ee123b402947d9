"""Updating and deleting: a deployment without a change changes nothing, and a deletion keeps the tables."""

from botocore.exceptions import ClientError

from deploying import FUNCTIONS
from scene import Scene
from stack import NAME

TABLES = ("SchedulesTable", "RunsTable", "WorkflowsTable")


def update(scene: Scene):
    report, stack = scene.report, scene.stack
    before = stack.resources()
    printed = stack.deploy()
    report.expect("sam finds nothing to change", "No changes to deploy" in printed, printed[-1000:])
    report.equal("every resource is the same as before", stack.resources(), before)


def destroy(scene: Scene):
    report, emulator, outputs = scene.report, scene.emulator, scene.stack.outputs
    dynamodb = emulator.client("dynamodb")
    printed = scene.stack.destroy()
    report.expect("the stack is deleted", not scene.stack.exists())
    left = [made["FunctionName"] for made in emulator.client("lambda").list_functions()["Functions"]]
    report.equal(f"the {len(FUNCTIONS)} functions are deleted", left, [])
    queues = emulator.client("sqs").list_queues(QueueNamePrefix=f"{NAME}-").get("QueueUrls", [])
    report.equal("the queues are deleted", queues, [])
    report.equal("the API is deleted", emulator.client("apigatewayv2").get_apis()["Items"], [])
    kept = [dynamodb.describe_table(TableName=outputs[name])["Table"] for name in TABLES]
    report.equal("the tables are kept", [table["TableStatus"] for table in kept], ["ACTIVE"] * 3)
    report.expect(
        "with their data", dynamodb.scan(TableName=outputs["RunsTable"], Select="COUNT")["Count"] > 0
    )
    report.expect(
        "and the output of make destroy says so", all(f"kept: table {outputs[name]}" in printed for name in TABLES)
    )
    try:
        dynamodb.delete_table(TableName=outputs["RunsTable"])
        protected = False
    except ClientError as problem:
        protected = problem.response["Error"]["Code"] == "ValidationException"
    report.expect("a kept table cannot be deleted by accident", protected)
