"""The issuer: OpenID Connect discovery and keys over TLS on loopback, and valid and invalid tokens."""

import base64
import datetime
import ipaddress
import json
import ssl
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

AUDIENCE = "belfry-rehearsal"


class Issuer:
    """Signs tokens with a key it publishes."""

    def __init__(self, folder: Path):
        self.key = new_key()
        self.trusted = folder / "issuer.pem"
        secret = folder / "issuer.key"
        certify(self.trusted, secret)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.trusted, secret)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(issuer):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                documents = {
                    "/.well-known/openid-configuration": {
                        "issuer": issuer.url,
                        "jwks_uri": f"{issuer.url}/keys",
                    },
                    "/keys": {"keys": [public(issuer.key)]},
                }
                document = documents.get(self.path)
                body = json.dumps(document or {}).encode()
                self.send_response(200 if document else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def token(self, sub, *scopes, key=None, lasts=3600, **claims):
        """A token; `key`, `lasts` and `claims` can make it invalid."""
        now = int(time.time())
        body = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": sub,
            "scope": " ".join(scopes),
            "iat": now - 10,
            "exp": now + lasts,
        } | claims
        head = {"alg": "RS256", "typ": "JWT", "kid": "rehearsal"}
        signed = f"{encode(json.dumps(head).encode())}.{encode(json.dumps(body).encode())}"
        signature = (key or self.key).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{encode(signature)}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def new_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public(key):
    numbers = key.public_key().public_numbers()
    text = {
        name: encode(number.to_bytes((number.bit_length() + 7) // 8, "big"))
        for name, number in (("n", numbers.n), ("e", numbers.e))
    }
    return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "rehearsal"} | text


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def certify(certificate_file, key_file):
    """A self-signed certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "belfry rehearsal")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
