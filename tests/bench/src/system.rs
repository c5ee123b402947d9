//! A system to measure: services and functions in processes of their own, the target in this one.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::child::Child;
use crate::executor::Executor;
use crate::functions::MAPPING;
use crate::machine;
use crate::services::SIGNING_KEY;

/// A second at which no schedule of a bench fires by itself.
const NEVER: &str = "0 0 29 2 *";

/// Three processes: services, functions, and this one with the target.
pub struct System {
    /// The embedded DynamoDB and SQS.
    pub services: Child,
    /// The handlers of the functions.
    pub functions: Child,
    /// The target of the runs.
    pub executor: Executor,
}

/// The environment through which functions find the services.
pub fn environment(services: &Child) -> Vec<(String, String)> {
    let mut environment: Vec<(String, String)> = services
        .hello
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    let fixed = [
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("SIGNING_KEY", SIGNING_KEY),
    ];
    environment.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    environment
}

impl System {
    /// Starts a system. `storage` and `functions` are arguments for the processes.
    pub async fn start(storage: &[&str], functions: &[&str]) -> System {
        System::with(storage, functions, &[]).await
    }

    /// The same with some settings of the functions changed.
    pub async fn with(storage: &[&str], functions: &[&str], settings: &[(&str, &str)]) -> System {
        let services = Child::of_ours(&[&["services"][..], storage].concat(), &[]).await;
        let mut known = environment(&services);
        known
            .extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let functions = Child::of_ours(&[&["functions"][..], functions].concat(), &known).await;
        let mut system = System { services, functions, executor: Executor::start().await };
        let target = json!({"kind": "http", "url": system.executor.url});
        let workflow = json!({"definition": {"steps": []}, "target": target});
        system.api("PUT", "/workflows/w/versions/1", workflow).await;
        system
    }

    /// The same services with their functions under another program, such as a profiler.
    pub async fn functions_under(&self, mut command: Command) -> Child {
        command.arg(std::env::current_exe().expect("this program")).arg("functions");
        command.envs(environment(&self.services));
        Child::start(command).await
    }

    /// Calls the API.
    pub async fn api(&mut self, method: &str, path: &str, body: Value) -> Value {
        let order = json!({"do": "api", "method": method, "path": path, "body": body});
        self.functions.ask(order).await
    }

    /// Creates `count` schedules `<name>-<number>` with the expression `cron`, whose next fire is
    /// at `next`.
    pub async fn schedules(&mut self, name: &str, count: usize, next: &str, cron: &str) {
        let body = json!({
            "workflow_id": "w", "version": 1, "cron_expr": NEVER, "overlap_policy": "allow",
            "payload": {"report": "daily", "region": "eu"},
        });
        self.api("PUT", &format!("/schedules/{name}"), body).await;
        let order = json!({
            "do": "schedules", "from": name, "count": count, "next": next, "cron": cron,
        });
        self.services.ask(order).await;
    }

    /// The CPU time used so far by the functions, and by the services, which include Lambda's
    /// poller.
    pub fn cpu(&self) -> (Duration, Duration) {
        let poller = machine::cpu_of_threads(self.functions.pid(), MAPPING);
        (self.functions.cpu().saturating_sub(poller), self.services.cpu() + poller)
    }

    /// One tick.
    pub async fn tick(&mut self) -> Value {
        self.functions.ask(json!({"do": "tick"})).await
    }
}

/// A time in the format of the records.
pub fn text(at: chrono::DateTime<chrono::Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The expression that fires at exactly this second of the year.
pub fn only(at: chrono::DateTime<chrono::Utc>) -> String {
    at.format("%-S %-M %-H %-d %-m *").to_string()
}
