"""An HTTP target on loopback: records the requests it receives, and can keep a caller waiting."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread


class Target:
    """Accepts every request at once. The first request to `/slow` is not answered until `stop`."""

    def __init__(self):
        self.lock = Lock()
        self.launches = []
        self.stopped = Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(target):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                launch = {
                    "path": self.path,
                    "at": time.time(),
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "raw": raw,
                    "body": json.loads(raw),
                }
                with target.lock:
                    first = all(seen["path"] != self.path for seen in target.launches)
                    target.launches.append(launch)
                if self.path == "/slow" and first:
                    target.stopped.wait(60)
                answer = b'{"accepted": true}'
                try:
                    self.send_response(202)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        return Handler

    def seen(self, path):
        """The requests to this path so far."""
        with self.lock:
            return [launch for launch in self.launches if launch["path"] == path]

    def stop(self):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()
