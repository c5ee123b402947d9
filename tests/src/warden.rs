//! A warden between the SDK and the services: lets requests through that the deploy template allows
//! the calling function's role, and refuses the others, as AWS would.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use belfry_local::functions::AT_WORK;
use serde_json::{Value, json};

use crate::aws::form;
use crate::line::{Between, Line, answer};
use crate::policy::{Demand, allowed, demands, functions};
use crate::{Meter, Template};

/// Lets requests through according to what each function may do. Callers that are not functions,
/// such as a story that reads a table, may do everything.
#[derive(Clone, Debug)]
pub struct Warden {
    inner: SharedHttpClient,
    bus: String,
    book: Arc<Book>,
}

/// The recorded requests. Dropping it with its world fails the story if a request was refused.
#[derive(Debug)]
struct Book {
    roles: BTreeMap<&'static str, BTreeSet<Demand>>,
    used: Mutex<BTreeSet<(&'static str, Demand)>>,
    refused: Mutex<BTreeSet<(&'static str, Demand)>>,
}

impl Warden {
    /// A warden over a meter, of a deployment with this event bus.
    pub fn new(meter: Meter, bus: &str) -> Warden {
        let template = Template::ours();
        let role = |(name, function)| (name, allowed(template, function));
        let roles = functions(template).map(role).collect();
        let book = Arc::new(Book { roles, used: Mutex::default(), refused: Mutex::default() });
        Warden { inner: SharedHttpClient::new(Line(meter)), bus: bus.to_owned(), book }
    }

    /// What each function has requested so far.
    pub fn used(&self) -> BTreeSet<(&'static str, Demand)> {
        self.book.used.lock().unwrap().clone()
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        let refused = self.refused.lock().unwrap();
        if !std::thread::panicking() && !refused.is_empty() {
            let lines: Vec<_> =
                refused.iter().map(|(function, demand)| format!("{function}: {demand}")).collect();
            panic!("infra/template.yaml does not allow\n{}", lines.join("\n"));
        }
    }
}

impl Between for Warden {
    fn inner(&self) -> &SharedHttpClient {
        &self.inner
    }

    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let Ok(function) = AT_WORK.try_with(|name| *name) else {
            return inner.call(request);
        };
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let path = request.uri().split('?').next().unwrap_or_default();
        let body = request.body().bytes().unwrap_or_default();
        let body: Value = match body.starts_with(b"Action=") {
            true => form(body),
            false => serde_json::from_slice(body).unwrap_or_default(),
        };
        for demand in demands(target, path, &body, &self.bus) {
            let asked = (function, demand);
            if !self.book.roles[function].contains(&asked.1) {
                let message = format!("{function} is not authorized: {}", asked.1);
                self.book.refused.lock().unwrap().insert(asked);
                let body = json!({"__type": "AccessDeniedException", "message": message});
                return HttpConnectorFuture::ready(Ok(answer(400, &body)));
            }
            self.book.used.lock().unwrap().insert(asked);
        }
        inner.call(request)
    }
}
