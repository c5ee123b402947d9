"""Says which account the AWS credentials at hand are of, or what is wrong with them."""

import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

try:
    found = boto3.client("sts").get_caller_identity()
except (BotoCoreError, ClientError) as problem:
    sys.exit(f"make: AWS credentials are needed that work (aws configure, or AWS_PROFILE): {problem}")
print(f"account {found['Account']} as {found['Arn']}")
