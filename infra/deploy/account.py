"""Says which account and region the AWS credentials at hand are for, or what is wrong with them."""

import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

region = boto3.session.Session().region_name
if not region:
    sys.exit("make: REGION says where, such as REGION=eu-west-1")
try:
    found = boto3.client("sts").get_caller_identity()
except (BotoCoreError, ClientError) as problem:
    sys.exit(f"make: AWS credentials are needed that work (aws configure, or AWS_PROFILE): {problem}")
print(f"{region}, account {found['Account']} as {found['Arn']}")
