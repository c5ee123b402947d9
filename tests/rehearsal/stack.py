"""The stack: deployed, updated and deleted by the same commands as on AWS."""

import os
import platform
import re
import subprocess
from collections import Counter
from pathlib import Path

from botocore.exceptions import ClientError

from emulator import REGION
from issuer import AUDIENCE
from report import Unmet

ROOT = Path(__file__).resolve().parents[2]
NAME = "belfry"
# This machine's architecture.
ARCH = "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"


class Stack:
    """A deployment of what `make build` made of `infra/template.yaml`."""

    def __init__(self, emulator, issuer, **parameters):
        self.emulator = emulator
        self.issuer = issuer
        self.parameters = parameters
        self.cloudformation = emulator.client("cloudformation")
        self.outputs = {}

    def deploy(self):
        """Runs `make deploy`, which also updates an existing deployment; returns its output."""
        words = " ".join(f"{name}={value}" for name, value in self.parameters.items())
        printed = self.make(
            "deploy",
            f"JWT_ISSUER={self.issuer.url}",
            f"JWT_AUDIENCE={AUDIENCE}",
            f"ARCH={ARCH}",
            f"PARAMETERS={words}",
        )
        self.outputs = self.read_outputs()
        return printed

    def destroy(self):
        """Runs `make destroy`, which keeps the tables; returns its output."""
        return self.make("destroy")

    def make(self, goal, *variables):
        environment = self.emulator.environment | {"PATH": os.environ["PATH"]}
        done = subprocess.run(
            ["make", "--no-print-directory", goal, f"STACK={NAME}", f"REGION={REGION}", *variables],
            env=environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        if done.returncode:
            raise Unmet(f"make {goal} ended with {done.returncode}:\n{done.stdout[-4000:]}")
        return done.stdout

    def read_outputs(self):
        stack = self.cloudformation.describe_stacks(StackName=NAME)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def resources(self):
        """The stack's resources by logical id: type, name, status."""
        pages = self.cloudformation.get_paginator("list_stack_resources").paginate(StackName=NAME)
        return {
            resource["LogicalResourceId"]: (
                resource["ResourceType"],
                resource.get("PhysicalResourceId", ""),
                resource["ResourceStatus"],
            )
            for page in pages
            for resource in page["StackResourceSummaries"]
        }

    def exists(self):
        try:
            stack = self.cloudformation.describe_stacks(StackName=NAME)["Stacks"][0]
        except ClientError:
            return False
        return stack["StackStatus"] != "DELETE_COMPLETE"


def declared(text):
    """The number of resources of each type in a template, without conditional ones."""
    resources = text[text.index("\nResources:") : text.index("\nOutputs:")]
    blocks = re.findall(r"^  \w+:\n    Type: (\S+)\n(    Condition: )?", resources, re.M)
    kinds = (kind for kind, condition in blocks if not condition)
    return Counter(kind.replace("AWS::Serverless::", "AWS::Lambda::") for kind in kinds)
