"""Expands the SAM template into plain CloudFormation, offline.

usage: expand.py TEMPLATE OUTPUT. The result expects the functions' zips in the bucket CodeBucket, under CodePrefix.
"""

import json
import logging
import os
import sys

# The translator asks boto3 for a region, although it makes no call.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
# The translator also warns that it could not send usage statistics.
logging.getLogger("samtranslator").setLevel(logging.ERROR)

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402


class NoPolicies:
    """The template uses no SAM policy templates."""

    def load(self):
        return {}


def expand(text):
    """The plain CloudFormation template for the text of a SAM template."""
    template = yaml_parse(text)
    parameters = template.setdefault("Parameters", {})
    parameters["CodeBucket"] = {"Type": "String", "Description": "Bucket that contains the functions' zips"}
    parameters["CodePrefix"] = {
        "Type": "String",
        "Default": "",
        "Description": "Prefix of the zips' names in the bucket, such as belfry/1.0/",
    }
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            binary = resource["Metadata"]["BuildProperties"]["Binary"]
            key = {"Fn::Sub": "${CodePrefix}" + binary + ".zip"}
            resource["Properties"]["CodeUri"] = {"Bucket": {"Ref": "CodeBucket"}, "Key": key}
    return transform(template, {}, NoPolicies())


if __name__ == "__main__":
    with open(sys.argv[1]) as source:
        expanded = expand(source.read())
    with open(sys.argv[2], "w") as output:
        json.dump(expanded, output, indent=2)
        output.write("\n")
