"""Reporting: executors report how tracked runs ended, each in a different way."""

import json

from report import until
from scene import Scene

MACHINE = "work"


def make_machine(emulator):
    """Creates a state machine that succeeds at once; returns its ARN."""
    role = emulator.client("iam").create_role(
        RoleName=MACHINE,
        AssumeRolePolicyDocument=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Service": "states.amazonaws.com"},
                        "Action": "sts:AssumeRole",
                    }
                ],
            }
        ),
    )["Role"]["Arn"]
    states = {"Done": {"Type": "Pass", "Result": {"rows": 42}, "End": True}}
    made = emulator.client("stepfunctions").create_state_machine(
        name=MACHINE, roleArn=role, definition=json.dumps({"StartAt": "Done", "States": states})
    )
    return made["stateMachineArn"]


def reporting(scene: Scene):
    report, api, target = scene.report, scene.api(), scene.target
    http = {"kind": "http", "url": f"{target.url}/tracked"}

    run_id = launch(scene, "by-token", http)
    token = metadata(scene, run_id)["run_token"]
    nobody = api.bearing(None)
    word = {"status": "SUCCESS", "result": {"rows": 7}}
    forged = nobody.post(f"/runs/{run_id}/feedback", word, **{"Belfry-Run-Token": "forged"})
    report.equal("a forged run token is refused", forged.status, 401)
    heard = nobody.post(f"/runs/{run_id}/feedback", word, **{"Belfry-Run-Token": token})
    report.equal(
        "an executor reports with only its run token", (heard.status, ended(scene, run_id)), (200, "SUCCESS")
    )

    run_id = launch(scene, "by-event", http)
    metadata(scene, run_id)
    scene.emulator.client("events").put_events(
        Entries=[
            {
                "EventBusName": scene.stack.outputs["EventBusName"],
                "Source": "executor",
                "DetailType": "Belfry Run Status",
                "Detail": json.dumps({"run_id": run_id, "status": "FAILED", "error": "out of paper"}),
            }
        ]
    )
    report.equal("an executor reports by an event on the bus", ended(scene, run_id), "FAILED")

    machine = scene.stack.parameters["TargetStateMachineArns"]
    run_id = launch(scene, "by-machine", {"kind": "step_functions", "state_machine_arn": machine})
    report.equal("Step Functions' own event ends the run it executed", ended(scene, run_id), "SUCCESS")
    run = api.get(f"/runs/{run_id}").body
    report.equal(
        "with the execution and its output",
        (MACHINE in run["external_run_id"], run["result"]),
        (True, {"rows": 42}),
    )


def launch(scene, name, target):
    """Publishes a tracked workflow and runs it by hand."""
    api = scene.api()
    published = api.put(f"/workflows/{name}/versions/1", {"target": target, "completion": "tracked"})
    assert published.status == 201, published
    made = api.put(f"/schedules/{name}", {"workflow_id": name, "cron_expr": "0 0 1 1 *"})
    assert made.status == 201, made
    run = api.post(f"/schedules/{name}/trigger")
    assert run.status == 202, run
    return run.body["run_id"]


def metadata(scene, run_id):
    """The metadata that the target received for the run."""

    def told():
        known = (launch["body"]["metadata"] for launch in scene.target.seen("/tracked"))
        return next((each for each in known if each["run_id"] == run_id), None)

    return until(f"the target is called for {run_id}", 90, told)


def ended(scene, run_id):
    """Waits for the run to end and returns its status."""
    return until(
        f"{run_id} ends",
        120,
        lambda: (run := scene.api().get(f"/runs/{run_id}").body)["finished_at"] and run["status"],
    )
