"""Quirks: where MiniStack differs from AWS, and how the rehearsal works around it. The template is correct and unchanged."""

import json

# AWS has one permission for a call and its batch. MiniStack treats the batch as a separate action.
BATCHED = ("sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility")


def make_up(scene):
    """Applies the workarounds; call it after every deployment that created something."""
    allow_batches(scene)
    limit_in_numbers(scene)


def allow_batches(scene):
    """Allows a role the batch of each call it is allowed, on the same resource."""
    iam = scene.emulator.client("iam")
    for kind, role, _ in scene.stack.resources().values():
        if kind != "AWS::IAM::Role":
            continue
        for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
            document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
            for statement in document["Statement"]:
                actions = statement["Action"]
                actions = [actions] if isinstance(actions, str) else actions
                statement["Action"] = actions + [f"{name}Batch" for name in actions if name in BATCHED]
            iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=json.dumps(document))


def limit_in_numbers(scene):
    """CloudFormation converts a parameter to a number where the resource needs one. MiniStack keeps the string, and its
    poller fails on a mapping's limit."""
    functions = scene.emulator.client("lambda")
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        limit = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
        if limit is not None:
            functions.update_event_source_mapping(
                UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": int(limit)}
            )
