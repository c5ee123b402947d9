"""Tells schemathesis what a schema cannot express: notations, and refusals that depend on more than form."""

import re

import schemathesis
from hypothesis import strategies as st

NOTATIONS = {
    "cron": [
        "* * * * *", "*/5 * * * *", "0 9 * * MON-FRI", "@daily", "H H * * *", "0 0 L * *", "0 30 2 * * *",
        "0 0 1 1 *", "rate(5 minutes)", "cron(0 10 ? * MON-FRI *)", "at(2030-01-01T00:00:00)", "0 0 13 * FRI#2",
        "*/7 * * * * * 2030",
    ],
    "time-zone": ["UTC", "Europe/Zurich", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Africa/Casablanca"],
    "workflow-name": ["demo"],
    "http-url": ["https://example.com/run", "http://example.org:8080/x"],
    "function": ["launch-me", "arn:aws:lambda:eu-west-1:123456789012:function:f"],
    "arn": ["arn:aws:states:eu-west-1:123456789012:stateMachine:m"],
    "sns-topic-arn": ["arn:aws:sns:eu-west-1:123456789012:alerts"],
    "revision": ["*", "*", "*", "1", '"2"'],
    "user-id": ["local"],
    "idempotency-key": ["a", "b", "c-0123456789"],
    "run-id": ["nightly@2026-11-16T02:00:00Z", "nightly@2026-11-16T02:00:00Z~manual-0123456789ab"],
    "list-cursor": ["nightly", "s-0123456789abcdef0123"],
    "cursor": ["2026-11-16T02:00:00Z", "2026-11-16T02:00:00.000Z~00000001", "3"],
}
PLACE = re.compile(r"^(schedules|workflows)\[\d+\]\.")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")

for name, values in NOTATIONS.items():
    schemathesis.openapi.format(name, st.sampled_from(values))


@schemathesis.hook
def map_body(context, body):
    """Replaces well-formed versions and windows by existing ones: otherwise the API would refuse most schedules."""
    if isinstance(body, dict) and isinstance(body.get("schedules"), list):
        body["schedules"] = [mend(schedule) for schedule in body["schedules"]]
    return mend(body)


def mend(body):
    if isinstance(body, dict):
        version = body.get("version")
        if type(version) is int and 1 <= version <= 4294967295:
            body["version"] = 1
        start, end = body.get("start_at"), body.get("end_at")
        if isinstance(start, str) and isinstance(end, str) and TIME.fullmatch(start) and TIME.fullmatch(end):
            body["start_at"], body["end_at"] = "2026-01-01T00:00:00Z", "2100-01-01T00:00:00+01:00"
    return body


# Well-formed requests that are still refused, by field and message. Any other refusal of a request
# that fits the document is a fault of the document or of the API.
BEYOND_FORM = [
    ("version", "has no version"),
    ("workflow_id", "has no version"),
    ("user_id", "is not the owner of this"),
    ("trigger_node_id", "is another than the path's"),
    ("If-None-Match", "contradicts If-Match"),
    ("end_at", "must not be before start_at"),
    ("from", "must not be after to"),
    ("from", "the schedule has no fire"),
    ("to", "must not be in the future"),
    ("until", "must be in the future"),
    ("after_schedule_id", "does not exist"),
    ("after_schedule_id", "must be another schedule"),
    ("after_schedule_id", "leads back"),
    ("after_schedule_id", "schedules follow"),
    ("cron_expr", "is required"),
    ("to", "is too far"),
    ("cursor", "is not a cursor"),
    ("note", "is for pause"),
    ("catchup", "is for resume"),
    ("result", "must be at most"),
    ("schedule_id", "is a word of the API"),
    ("schedule_id", "is declared twice"),
    ("version", "is declared twice"),
    ("set", "must be the same as in the path"),
    ("planned", "must be an object of revisions"),
]


@schemathesis.check
def refused_for_a_reason(ctx, response, case):
    """A request that fits the document is refused only for reasons that no schema can express."""
    if response.status_code != 422 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    for error in response.json().get("errors", []):
        name = PLACE.sub("", error["field"])
        known = [field for field, message in BEYOND_FORM if field == name and message in error["message"]]
        assert known, f"{error['field']}: {error['message']}"


@schemathesis.check
def problems_name_their_field(ctx, response, case):
    """Every refusal is problem+json and contains its status, and a 422 names a field."""
    if response.status_code < 400:
        return
    problem = response.json()
    assert problem["status"] == response.status_code, problem
    assert response.status_code != 422 or problem["errors"], problem
