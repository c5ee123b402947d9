"""Access: the gateway lets in whom the issuer vouches for, and nobody else."""

from issuer import new_key
from scene import Scene


def access(scene: Scene):
    report, issuer = scene.report, scene.issuer
    api = scene.api()
    nobody = api.bearing(None)
    report.equal("anybody may ask whether it runs", nobody.get("/health").status, 200)
    console = nobody.call("GET", "/console", under="")
    report.expect(
        "anybody may load the console",
        console.status == 200 and "text/html" in console.headers["Content-Type"],
        console.status,
    )
    report.equal("a good token is let in", api.get("/schedules").status, 200)
    refused = {
        "no token": None,
        "a token signed by somebody else": issuer.token("ann", "schedules:read", key=new_key()),
        "an expired token": issuer.token("ann", "schedules:read", lasts=-60),
        "a token for another audience": issuer.token("ann", "schedules:read", aud="payroll"),
        "a token of another issuer": issuer.token("ann", "schedules:read", iss="https://127.0.0.1:1"),
        "a token that is not valid yet": issuer.token("ann", "schedules:read", nbf=4102444800),
        "what is no token": "nonsense",
    }
    for what, token in refused.items():
        report.equal(f"{what}: refused at the gateway", api.bearing(token).get("/schedules").status, 401)
    reader = api.bearing(issuer.token("ann", "schedules:read"))
    refusal = reader.put("/schedules/nightly", {"workflow_id": "any", "cron_expr": "0 2 * * *"})
    report.equal("a token that may only read cannot write", refusal.status, 403)
    unknown = api.get("/nowhere")
    report.equal("a path that does not exist is the function's to refuse", unknown.status, 404)
