"""The rehearsal: deploys the release binaries from the real template on an emulator of AWS, uses the deployment as a client
does, causes faults, and deletes it. It uses only loopback and a temporary folder, and stops everything at the end.
"""

import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from access import access
from declaring import Declaring
from deploying import deploy, inspect
from emulator import ACCOUNT, REGION, Emulator
from faults import Faults
from firing import Firing
from issuer import Issuer
from report import Report
from reporting import make_machine, reporting
from roles import roles
from scene import Scene
from stack import Stack
from target import Target
from updating import destroy, update

# A rehearsal takes five minutes. One that takes longer than this is stuck.
LONGEST_S = 20 * 60


def main():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("rehearsal: stopped"))
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"rehearsal: stuck after {LONGEST_S} s"))
    signal.alarm(LONGEST_S)
    report = Report()
    with ExitStack() as stage:
        folder = Path(stage.enter_context(tempfile.TemporaryDirectory(prefix="belfry-rehearsal-")))
        issuer = Issuer(folder)
        stage.callback(issuer.stop)
        target = Target()
        stage.callback(target.stop)
        emulator = Emulator(folder, issuer.trusted)
        stage.callback(emulator.stop)
        play(set_up(report, emulator, issuer, target))
        if report.failed:
            print(f"\nthe end of the emulator's log:\n{emulator.tail(100)}")
    return report.sum()


def set_up(report, emulator, issuer, target):
    jobs = emulator.client("sqs").create_queue(QueueName="jobs")["QueueUrl"]
    stack = Stack(
        emulator,
        issuer,
        TargetStateMachineArns=make_machine(emulator),
        TargetQueueArns=f"arn:aws:sqs:{REGION}:{ACCOUNT}:jobs",
        # The target's port, and the port where the emulator expects the results of custom
        # resources.
        AllowedTargetNetworks="127.0.0.0/8,::1/128",
        # The smallest value the template allows, so that recovery acts within minutes.
        LostAfterS=60,
        LaunchLeaseS=31,
    )
    return Scene(report, emulator, issuer, target, stack, jobs)


def play(scene):
    """Runs the subjects; what takes long is started first and checked last."""
    report = scene.report
    with report.subject("The template is deployed"):
        deploy(scene)
    if report.failed:
        return
    with report.subject("The services match the template"):
        inspect(scene)
    with report.subject("The gateway checks tokens"):
        access(scene)
    faults = firing = None
    with report.subject("Faults are caused"):
        faults = Faults(scene)
    with report.subject("Schedules are created"):
        firing = Firing(scene)
    with report.subject("Executors report"):
        reporting(scene)
    with report.subject("What each function may do"):
        roles(scene)
    with report.subject("An update without a change"):
        update(scene)
    with report.subject("Schedules as resources of another stack"):
        Declaring(scene).play()
    if firing:
        with report.subject("Schedules fire"):
            firing.finish()
    if faults:
        with report.subject("Faults are recovered"):
            faults.finish()
    with report.subject("The deployment is deleted"):
        destroy(scene)


if __name__ == "__main__":
    sys.exit(main())
