//! A door to a world: the local gateway on a real socket, and tokens for it.

use std::sync::Arc;

use belfry_core::instant::Instant;
use belfry_local::gateway;
use belfry_local::tokens::{AUDIENCE, ISSUER, Issuer};
use belfry_time::Time;
use chrono::Duration;
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::World;

/// The gateway of a world.
pub struct Door {
    /// Its URL, without `/api/v1`.
    pub url: String,
    /// Signs tokens that the gateway accepts.
    pub issuer: Issuer,
    http: Client,
    now: Instant,
}

impl Door {
    /// Starts a gateway.
    pub async fn of(world: &World) -> Door {
        let key = Issuer::new_key().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let time: Arc<dyn Time> = Arc::new(world.time.clone());
        let issuer = Issuer::of_key(&key).unwrap();
        tokio::spawn(gateway::serve(listener, world.functions(), time, issuer));
        let issuer = Issuer::of_key(&key).unwrap();
        Door { url, issuer, http: Client::new(), now: world.now() }
    }

    /// A valid token; `change` modifies its claims.
    pub fn token(&self, sub: &str, scope: &str, change: impl Fn(&mut Value)) -> String {
        let hour = Duration::hours(1);
        let mut claims = json!({
            "iss": ISSUER, "aud": AUDIENCE, "sub": sub, "scope": scope,
            "iat": self.now.timestamp(), "exp": (self.now + hour).timestamp(),
        });
        change(&mut claims);
        self.issuer.sign(&claims).unwrap()
    }

    /// Sends a request, with a token if one is given.
    pub async fn ask(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Response {
        let url = format!("{}/api/v1{path}", self.url);
        let mut request = self.http.request(method.parse().unwrap(), url);
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    }
}

/// The status of an answer and its body.
pub async fn read(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}
