"""The emulator: MiniStack on a free loopback port, with IAM enforced, and the function processes it starts."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import boto3
from botocore.config import Config

from report import until

REGION = "eu-west-1"
ACCOUNT = "123456789012"
# The account's root user: MiniStack reads its key from the environment.
ROOT = {"aws_access_key_id": "AKIAREHEARSALROOT000", "aws_secret_access_key": "rehearsal-root-secret"}


class Emulator:
    """A running MiniStack."""

    def __init__(self, folder: Path, trusted: Path):
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "ministack.log"
        home = folder / "home"
        scratch = folder / "tmp"
        home.mkdir()
        scratch.mkdir()
        # Nothing of the caller's environment: a rehearsal must use neither profiles nor proxies.
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "TMPDIR": str(scratch),
            "AWS_ACCESS_KEY_ID": ROOT["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": ROOT["aws_secret_access_key"],
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ministack"],
                env=self.environment
                | {
                    "AUTH": "true",
                    # Otherwise it would listen on a fixed port.
                    "IOT_MTLS_ENABLED": "0",
                    "BIND_HOST": "127.0.0.1",
                    "GATEWAY_PORT": str(self.port),
                    "MINISTACK_ACCOUNT_ID": ACCOUNT,
                    "MINISTACK_REGION": REGION,
                    # The gateway fetches the issuer's keys over TLS, as Amazon's does.
                    "SSL_CERT_FILE": str(trusted),
                },
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until("the emulator answers", 120, self.answers)

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the emulator ended: {self.tail()}")
        try:
            with urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def client(self, service, credentials=None):
        """A client of one service, as root or with the credentials of an assumed role."""
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            config=Config(retries={"total_max_attempts": 2}, read_timeout=120),
            **(credentials or ROOT),
        )

    def as_role(self, role_arn):
        """The credentials of a session of this role."""
        session = self.client("sts").assume_role(RoleArn=role_arn, RoleSessionName="rehearsal")
        given = session["Credentials"]
        return {
            "aws_access_key_id": given["AccessKeyId"],
            "aws_secret_access_key": given["SecretAccessKey"],
            "aws_session_token": given["SessionToken"],
        }

    def functions(self, name):
        """The processes that run this function now."""
        wanted = f"AWS_LAMBDA_FUNCTION_NAME={name}".encode()
        return [pid for pid in members(self.process.pid) if wanted in environment(pid)]

    def tail(self, lines=40):
        """The end of its log, without the functions' metrics."""
        text = [line for line in self.log.read_text(errors="replace").splitlines() if '"_aws"' not in line]
        return "\n".join(line[:400] for line in text[-lines:])

    def stop(self):
        """Stops the emulator and every function it started."""
        try:
            self.process.terminate()
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def members(group):
    """The processes of a process group."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getpgid(int(entry.name)) == group:
                    yield int(entry.name)
            except ProcessLookupError:
                continue


def environment(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
