"""Prints the account and region of the current AWS credentials, or what is wrong with the credentials."""

import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

region = boto3.session.Session().region_name
if not region:
    sys.exit("make: set REGION to the region to deploy to, such as REGION=eu-west-1")
try:
    found = boto3.client("sts").get_caller_identity()
except (BotoCoreError, ClientError) as problem:
    sys.exit(f"make: no working AWS credentials (run aws configure, or set AWS_PROFILE): {problem}")
print(f"{region}, account {found['Account']} as {found['Arn']}")
