//! Targets: the services that run workflows. Each launch is one real call that carries the
//! idempotency key.

mod alert;
mod aws;
mod guard;
mod http;

use std::error::Error;
use std::fmt;
use std::iter::successors;

use aws_config::SdkConfig;
use belfry_core::encoding::cut;
use belfry_core::instant;
use belfry_core::run::{Run, Status};
use belfry_core::schedule::Schedule;
use belfry_core::schedule::definition::object;
use belfry_core::schedule::view;
use belfry_core::workflow::{Completion, Target, Workflow};
use chrono::Duration;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

pub(crate) use alert::Alarm;
pub(crate) use guard::{Guard, problem as url_problem};

use crate::cloud::message::group;
use crate::cloud::run_token;
use crate::cloud::signed::{self, Client};
use crate::settings::{Secret, Settings};

/// What is escaped in the owner of a header, besides what is no ASCII.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// The clients of all kinds of targets.
pub struct Targets {
    http: http::Http,
    sqs: aws_sdk_sqs::Client,
    lambda: Client,
    step_functions: Client,
    events: Client,
    sns: Client,
    run_token_key: Secret,
}

/// The answer of a target that accepted a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accepted {
    /// The id that the executor gave the run.
    pub external_run_id: Option<String>,
    /// A terminal status, if the target has ended the run already.
    pub status: Option<Status>,
    /// The result of the run.
    pub result: Option<Value>,
    /// The error of the run.
    pub error: Option<String>,
}

/// Why a launch was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Whether another attempt may succeed.
    pub retryable: bool,
    /// Whether the target may have received the run all the same: the request was sent, and no
    /// answer came.
    pub unheard: bool,
    /// How long the target asks to wait before the next attempt.
    pub retry_after: Option<Duration>,
    /// What is wrong: the status of the answer, or why there is none.
    pub message: String,
    /// The body of the answer.
    pub answer: Option<String>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.answer {
            Some(answer) => write!(f, "{}: {answer}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Refused {
    fn for_now(message: impl AsRef<str>) -> Refused {
        let message = cut(message.as_ref());
        Refused { retryable: true, unheard: false, retry_after: None, message, answer: None }
    }

    fn unheard(message: impl AsRef<str>) -> Refused {
        Refused { unheard: true, ..Refused::for_now(message) }
    }

    fn for_good(message: impl AsRef<str>) -> Refused {
        Refused { retryable: false, ..Refused::for_now(message) }
    }
}

/// An error and what caused it, in the words that people read.
fn with_causes(error: &dyn Error) -> String {
    let causes = successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// What a target is called with.
pub struct Launch<'a> {
    /// The record of the run, just claimed.
    pub run: &'a Run,
    /// The schedule of the run.
    pub schedule: &'a Schedule,
    /// The workflow version that the run executes.
    pub workflow: &'a Workflow,
}

impl Launch<'_> {
    /// The body that the target receives.
    fn body(&self, token: Option<&str>) -> Value {
        let Schedule { clock, spec } = self.schedule;
        let id = &self.run.id;
        let payload = self.run.payload.as_ref().unwrap_or(&spec.payload);
        let mut body = json!({"dag": self.workflow.definition, "payload": payload});
        if spec.options.inject_metadata {
            let from = id.run_at.max(self.run.enqueued_at);
            body["metadata"] = json!({
                "triggered_by": self.run.trigger,
                "schedule_id": id.schedule_id,
                "run_id": id,
                "scheduled_time": instant::text(id.run_at),
                "source": "schedule",
                "scheduled_for": instant::text(id.run_at),
                "idempotency_key": id.idempotency_key(),
                "user_id": clock.owner,
                "workflow_id": clock.workflow_id,
                "version": clock.version,
                "attempt": self.run.attempt,
                "fence": self.run.attempt,
                "upcoming": view::upcoming(clock, from, 5),
            });
            body["metadata"]["next_execution_time"] = body["metadata"]["upcoming"][0].clone();
            if let Some(node) = &spec.options.trigger_node_id {
                body["metadata"]["trigger_node_id"] = json!(node);
            }
            if let Some(token) = token {
                body["metadata"]["run_token"] = json!(token);
            }
            if let Some(recovery) = self.run.recovery_view() {
                let (metadata, recovery) = (object(&body["metadata"]), object(&recovery));
                body["metadata"] = metadata.into_iter().chain(recovery).collect();
            }
        }
        body
    }
}

impl Launch<'_> {
    /// Who is launched and when, for headers and message attributes: they are there although the
    /// body may have no metadata.
    fn headers(&self) -> [(&'static str, String); 4] {
        let id = &self.run.id;
        let owner = escaped(&self.schedule.clock.owner);
        [
            ("Belfry-Schedule-Id", id.schedule_id.to_string()),
            ("Belfry-Run-Id", id.to_string()),
            ("Belfry-User-Id", owner),
            ("Belfry-Scheduled-For", instant::text(id.run_at)),
        ]
    }
}

/// An owner in a header: owners have any characters, and headers have not.
fn escaped(owner: &str) -> String {
    utf8_percent_encode(owner, ESCAPED).to_string()
}

impl Targets {
    /// The HTTP clients that connect only to allowed addresses.
    pub(crate) fn guard(&self) -> &Guard {
        &self.http.guard
    }

    /// Clients for all kinds of targets. They connect when they are first used.
    pub fn new(sdk: &SdkConfig, settings: &Settings) -> Targets {
        Targets {
            http: http::Http::new(settings),
            sqs: aws_sdk_sqs::Client::new(sdk),
            lambda: Client::new(&signed::INVOKE, sdk),
            step_functions: Client::new(&signed::START_EXECUTION, sdk),
            events: Client::new(&signed::PUT_EVENTS, sdk),
            sns: Client::new(&signed::PUBLISH, sdk),
            run_token_key: settings.run_token_key.clone(),
        }
    }

    /// Launches a run at its target.
    pub async fn launch(
        &self,
        launch: &Launch<'_>,
        now: instant::Instant,
    ) -> Result<Accepted, Refused> {
        let key = launch.run.id.idempotency_key();
        // Only an executor that must report the end gets a token to report with.
        let tracked = launch.workflow.completion == Completion::Tracked;
        let token = tracked.then(|| run_token::make(&self.run_token_key, &launch.run.id)).flatten();
        let body = launch.body(token.as_deref()).to_string();
        match &launch.workflow.target {
            Target::Http { url } => {
                let headers = launch.headers();
                self.http.post(url, &key, token.as_deref(), &headers, body, now).await
            }
            Target::Sqs { queue_url } => {
                let group = group(&launch.schedule.clock.owner);
                let headers = launch.headers();
                aws::send_message(&self.sqs, queue_url, &group, &key, &headers, body).await
            }
            Target::Lambda { function } => aws::invoke(&self.lambda, function, body).await,
            Target::StepFunctions { state_machine_arn } => {
                aws::start_execution(&self.step_functions, state_machine_arn, &key, body).await
            }
            Target::EventBridge { bus, source, detail_type } => {
                aws::put_event(&self.events, bus, source, detail_type, body).await
            }
        }
    }
}
