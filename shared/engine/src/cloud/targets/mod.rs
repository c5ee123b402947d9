//! Targets: the services that run workflows. Each launch is one real call that carries the
//! idempotency key.

mod aws;
mod guard;
mod http;

use aws_config::SdkConfig;
use belfry_core::encoding::cut;
use belfry_core::instant;
use belfry_core::run::{Run, Status};
use belfry_core::schedule::Schedule;
use belfry_core::schedule::definition::object;
use belfry_core::schedule::view;
use belfry_core::workflow::{Completion, Target, Workflow};
use serde_json::{Value, json};

pub(crate) use guard::{Guard, problem as url_problem};

use crate::cloud::message::group;
use crate::cloud::run_token;
use crate::cloud::signed::{self, Client};
use crate::settings::{Secret, Settings};

/// The clients of all kinds of targets.
pub struct Targets {
    http: http::Http,
    sqs: aws_sdk_sqs::Client,
    lambda: Client,
    step_functions: Client,
    events: Client,
    run_token_key: Secret,
}

/// The answer of a target that accepted a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accepted {
    /// The id that the executor gave the run.
    pub external_run_id: Option<String>,
    /// Whether the executor chose to report that id; only then is the id worth a write.
    pub told: bool,
    /// A terminal status, if the target has ended the run already.
    pub status: Option<Status>,
    /// The result of the run.
    pub result: Option<Value>,
    /// The error of the run.
    pub error: Option<String>,
}

/// Why a launch was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// Whether another attempt may succeed.
    pub retryable: bool,
    /// Whether the target may have received the run all the same: the request was sent, and no
    /// answer came.
    pub unheard: bool,
    /// What the target answered, or why it could not be called.
    pub message: String,
}

impl Refused {
    fn for_now(message: impl AsRef<str>) -> Refused {
        Refused { retryable: true, unheard: false, message: cut(message.as_ref()) }
    }

    fn unheard(message: impl AsRef<str>) -> Refused {
        Refused { unheard: true, ..Refused::for_now(message) }
    }

    fn for_good(message: impl AsRef<str>) -> Refused {
        Refused { retryable: false, unheard: false, message: cut(message.as_ref()) }
    }
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
                "idempotency_key": id.idempotency_key(),
                "user_id": clock.owner,
                "workflow_id": clock.workflow_id,
                "version": clock.version,
                "attempt": self.run.attempt,
                "fence": self.run.attempt,
                "upcoming": view::upcoming(clock, from, 5),
            });
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
            Target::Http { url } => self.http.post(url, &key, token.as_deref(), body, now).await,
            Target::Sqs { queue_url } => {
                let group = group(&launch.schedule.clock.owner);
                aws::send_message(&self.sqs, queue_url, &group, &key, body).await
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
