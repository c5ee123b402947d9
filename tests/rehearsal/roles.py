"""Roles: tries with each role's own credentials the calls that differ between functions, and those that none may make. The
rest of the rehearsal shows that each function may make the calls it needs."""

import json
from functools import cache, partial

from botocore.exceptions import ClientError

from scene import Scene
from stack import NAME

DENIED = {"AccessDenied", "AccessDeniedException"}


def roles(scene: Scene):
    functions = scene.emulator.client("lambda")
    for name, may in MAY.items():
        role = functions.get_function_configuration(FunctionName=f"{NAME}-{name}")["Role"]
        credentials = scene.emulator.as_role(role)
        client = cache(partial(scene.emulator.client, credentials=credentials))
        did = {probe for probe, call in PROBES.items() if allowed(call, client, scene.stack.outputs)}
        may_not = len(PROBES) - len(may)
        claim = f"{name} may {', '.join(sorted(may))}; {may_not} other things are denied to it"
        scene.report.equal(claim, did, may)


def allowed(call, client, outputs):
    """Whether IAM allows a call. The service's own answer does not matter."""
    try:
        call(client, outputs)
    except ClientError as problem:
        return problem.response["Error"]["Code"] not in DENIED
    return True


NO_RUN = {"schedule_id": {"S": "#rehearsal"}, "run_at": {"S": "none"}}
NO_WORKFLOW = {"workflow_id": {"S": "#rehearsal"}, "version": {"N": "1"}}

PROBES = {
    "query due": lambda client, out: client("dynamodb").query(
        TableName=out["SchedulesTable"],
        IndexName="due",
        KeyConditionExpression="due_shard = :s",
        ExpressionAttributeValues={":s": {"S": "none"}},
    ),
    "query owner": lambda client, out: client("dynamodb").query(
        TableName=out["SchedulesTable"],
        IndexName="owner",
        KeyConditionExpression="user_id = :u",
        ExpressionAttributeValues={":u": {"S": "none"}},
    ),
    "query sweep": lambda client, out: client("dynamodb").query(
        TableName=out["RunsTable"],
        IndexName="sweep",
        KeyConditionExpression="sweep = :s",
        ExpressionAttributeValues={":s": {"S": "none"}},
    ),
    "scan schedules": lambda client, out: client("dynamodb").scan(TableName=out["SchedulesTable"], Limit=1),
    "scan runs": lambda client, out: client("dynamodb").scan(TableName=out["RunsTable"], Limit=1),
    "delete a run": lambda client, out: client("dynamodb").delete_item(
        TableName=out["RunsTable"], Key=NO_RUN
    ),
    "list versions": lambda client, out: client("dynamodb").query(
        TableName=out["WorkflowsTable"],
        KeyConditionExpression="workflow_id = :w",
        ExpressionAttributeValues={":w": {"S": "none"}},
    ),
    "publish a workflow": lambda client, out: client("dynamodb").put_item(
        TableName=out["WorkflowsTable"],
        Item=NO_WORKFLOW,
        ConditionExpression="attribute_exists(workflow_id)",
    ),
    "delete a workflow": lambda client, out: client("dynamodb").delete_item(
        TableName=out["WorkflowsTable"], Key=NO_WORKFLOW
    ),
    "delete a table": lambda client, out: client("dynamodb").delete_table(TableName=out["RunsTable"]),
    "stop expiry": lambda client, out: client("dynamodb").update_time_to_live(
        TableName=out["RunsTable"],
        TimeToLiveSpecification={"Enabled": False, "AttributeName": "expires_at"},
    ),
    "read the launch queue": lambda client, out: client("sqs").get_queue_attributes(
        QueueUrl=out["LaunchQueueUrl"], AttributeNames=["QueueArn"]
    ),
    "hide a message": lambda client, out: client("sqs").change_message_visibility(
        QueueUrl=out["LaunchQueueUrl"], ReceiptHandle="none", VisibilityTimeout=0
    ),
    "purge the launch queue": lambda client, out: client("sqs").purge_queue(QueueUrl=out["LaunchQueueUrl"]),
    # IAM allows the call; the service then refuses its delay.
    "send a fire": lambda client, out: client("sqs").send_message(
        QueueUrl=out["LaunchQueueUrl"], MessageBody="none", DelaySeconds=1000
    ),
    "send to a target": lambda client, out: client("sqs").send_message(
        QueueUrl=out["LaunchQueueUrl"].rsplit("/", 1)[0] + "/jobs", MessageBody="none", DelaySeconds=1000
    ),
    "open dead letters": lambda client, out: client("sqs").receive_message(
        QueueUrl=out["DeadLetterQueueUrl"], VisibilityTimeout=0
    ),
    "write a dead letter": lambda client, out: client("sqs").send_message(
        QueueUrl=out["DeadLetterQueueUrl"], MessageBody="none"
    ),
    "put an event on the default bus": lambda client, out: client("events").put_events(
        Entries=[{"Source": "rehearsal", "DetailType": "nothing", "Detail": json.dumps({})}]
    ),
    "stop the rule": lambda client, out: client("events").disable_rule(Name="none"),
    "invoke the tick": lambda client, out: client("lambda").invoke(
        FunctionName=out["TickFunction"], InvocationType="DryRun"
    ),
    "change a function": lambda client, out: client("lambda").update_function_configuration(
        FunctionName=out["TickFunction"], Description="none"
    ),
    "read the signing key": lambda client, out: client("secretsmanager").get_secret_value(
        SecretId=out["SigningKeyArn"]
    ),
    "start an execution": lambda client, out: client("stepfunctions").start_execution(
        stateMachineArn="arn:aws:states:eu-west-1:123456789012:stateMachine:none"
    ),
    "list the account's roles": lambda client, out: client("iam").list_roles(),
    "list the account's buckets": lambda client, out: client("s3").list_buckets(),
}

MAY = {
    "tick": {"send a fire", "query due"},
    "launcher": {"send a fire", "send to a target", "read the launch queue", "hide a message"},
    "recovery": {"send a fire", "query sweep", "open dead letters"},
    "api": {"send a fire", "query owner", "list versions", "publish a workflow"},
    "resource": {"send a fire", "list versions", "publish a workflow"},
}
