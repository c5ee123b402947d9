"""A client of the deployed HTTP API."""

import json
import urllib.error
import urllib.request
from collections import namedtuple

Answer = namedtuple("Answer", "status body headers")


class Client:
    """Calls the API as one caller."""

    def __init__(self, emulator, host, token=None):
        self.emulator = emulator
        self.host = host
        self.token = token

    def bearing(self, token):
        """The same API, called with another token, or none."""
        return Client(self.emulator, self.host, token)

    def call(self, method, path, body=None, under="/api/v1", **headers):
        """Makes one call; returns the answer, whatever its status."""
        # The emulator tells APIs apart by host, and not every machine resolves names under
        # `localhost`.
        sent = {"Host": self.host, "Content-Type": "application/json"} | headers
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.emulator.url}{under}{path}"
        request = urllib.request.Request(url, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answer(answer.status, parsed(answer.read()), answer.headers)
        except urllib.error.HTTPError as refused:
            return Answer(refused.code, parsed(refused.read()), refused.headers)

    def get(self, path):
        return self.call("GET", path)

    def put(self, path, body):
        return self.call("PUT", path, body)

    def post(self, path, body=None, **headers):
        return self.call("POST", path, body or {}, **headers)

    def runs(self, schedule_id):
        """The runs of a schedule, newest first."""
        return self.get(f"/schedules/{schedule_id}/runs?limit=100").body["items"]


def parsed(body):
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode(errors="replace")
