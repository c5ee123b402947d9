"""Deletes a deployment. Its tables are kept, as the template says, unless their deletion is requested explicitly.

usage: destroy.py STACK keep|delete. CloudFormation retains the tables; `delete` removes their deletion protection
and deletes them, with all data, after the stack is deleted.
"""

import pathlib
import subprocess
import sys

import boto3
from botocore.exceptions import ClientError

TABLES = ["SchedulesTable", "RunsTable", "WorkflowsTable"]


def main(stack, tables):
    if tables not in ("keep", "delete"):
        sys.exit("make destroy: TABLES must be keep or delete")
    names = table_names(stack)
    sam = [pathlib.Path(sys.executable).with_name("sam"), "delete", "--stack-name", stack, "--no-prompts"]
    region = boto3.session.Session().region_name
    subprocess.run(sam + ["--region", region], check=True)
    dynamodb = boto3.client("dynamodb")
    for name in names:
        if tables == "keep":
            print(f"kept: table {name}")
        else:
            dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
            dynamodb.get_waiter("table_exists").wait(TableName=name)
            dynamodb.delete_table(TableName=name)
            print(f"deleted: table {name}")
    if tables == "keep" and names:
        print("To delete a kept table and everything in it:")
        for name in names:
            print(f"  aws dynamodb update-table --table-name {name} --no-deletion-protection-enabled")
            print(f"  aws dynamodb delete-table --table-name {name}")


def table_names(stack):
    """The tables of a stack, which must be read before it is deleted."""
    cloudformation = boto3.client("cloudformation")
    try:
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
        resources = [resource for page in pages for resource in page["StackResourceSummaries"]]
    except ClientError as problem:
        sys.exit(f"make destroy: {problem}")
    named = {resource["LogicalResourceId"]: resource for resource in resources}
    return [named[table]["PhysicalResourceId"] for table in TABLES if table in named]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
