"""Expands the SAM template into plain CloudFormation, offline.

usage: expand.py TEMPLATE OUTPUT. The functions' zips are then looked for in the bucket CodeBucket, under CodePrefix.
"""

import json
import logging
import os
import sys

# The translator asks boto3 for a region, though it calls nobody.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
# It also warns that it told nobody how it was used.
logging.getLogger("samtranslator").setLevel(logging.ERROR)

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402


class NoPolicies:
    """The template names no policy of SAM's."""

    def load(self):
        return {}


def expand(text):
    """The CloudFormation template that a SAM template's text stands for."""
    template = yaml_parse(text)
    parameters = template.setdefault("Parameters", {})
    parameters["CodeBucket"] = {"Type": "String", "Description": "The bucket the functions' zips are in"}
    parameters["CodePrefix"] = {
        "Type": "String",
        "Default": "",
        "Description": "What the zips' names begin with in the bucket, such as belfry/1.0/",
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
