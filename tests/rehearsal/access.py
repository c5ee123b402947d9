"""Access: the gateway accepts the issuer's tokens, and no others."""

from issuer import new_key
from scene import Scene


def access(scene: Scene):
    report, issuer = scene.report, scene.issuer
    api = scene.api()
    nobody = api.bearing(None)
    report.equal("the health check needs no token", nobody.get("/health").status, 200)
    console = nobody.call("GET", "/console", under="")
    report.expect(
        "the console loads without a token",
        console.status == 200 and "text/html" in console.headers["Content-Type"],
        console.status,
    )
    report.equal("a valid token is accepted", api.get("/schedules").status, 200)
    refused = {
        "no token": None,
        "a token with a foreign signature": issuer.token("ann", "schedules:read", key=new_key()),
        "an expired token": issuer.token("ann", "schedules:read", lasts=-60),
        "a token for another audience": issuer.token("ann", "schedules:read", aud="payroll"),
        "a token of another issuer": issuer.token("ann", "schedules:read", iss="https://127.0.0.1:1"),
        "a token that is not valid yet": issuer.token("ann", "schedules:read", nbf=4102444800),
        "a text that is not a token": "nonsense",
    }
    for what, token in refused.items():
        report.equal(f"{what}: refused at the gateway", api.bearing(token).get("/schedules").status, 401)
    reader = api.bearing(issuer.token("ann", "schedules:read"))
    refusal = reader.put("/schedules/nightly", {"workflow_id": "any", "cron_expr": "0 2 * * *"})
    report.equal("a read-only token cannot write", refusal.status, 403)
    unknown = api.get("/nowhere")
    report.equal("the function refuses a path that does not exist", unknown.status, 404)
