//! Feedback: an executor's report about a run. It comes in the body of an API request, or in an
//! event that AWS sends when an execution ends.

use serde_json::Value;

use crate::encoding::{MAX_DEPTH, cut, is_shallow};
use crate::id::RunId;
use crate::invalid::Invalid;
use crate::run::{MAX_RESULT, Status};

/// The `detail-type` of an event with which an executor reports on a run.
pub const DETAIL_TYPE: &str = "Belfry Run Status";

/// The words of executors and targets for a status, in lower case. `skipped` is none of them: only
/// Belfry skips a run.
const WORDS: [(Status, &[&str]); 3] = [
    (
        Status::Started,
        &["started", "enqueued", "queued", "pending", "accepted", "running", "in_progress"],
    ),
    (
        Status::Success,
        &["success", "succeeded", "successful", "ok", "complete", "completed", "done"],
    ),
    (
        Status::Failed,
        &[
            "failed",
            "failure",
            "fail",
            "error",
            "errored",
            "timed_out",
            "timeout",
            "aborted",
            "cancelled",
            "canceled",
        ],
    ),
];

/// The status that a word of an executor means: STARTED, SUCCESS or FAILED. The case is ignored,
/// and so is the difference between `timed out`, `timed-out` and `timed_out`. `None`: the word is
/// unknown.
pub fn meaning(word: &str) -> Option<Status> {
    let word = word.trim().to_lowercase().replace([' ', '-'], "_");
    let known = WORDS.iter().find(|(_, words)| words.contains(&word.as_str()));
    known.map(|(status, _)| *status)
}

/// The report of an executor about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    /// The status of the run: STARTED, SUCCESS or FAILED.
    pub status: Status,
    /// The error message of a failed run.
    pub error: Option<String>,
    /// The result of the run.
    pub result: Option<Value>,
    /// The executor's own id for the run.
    pub external_run_id: Option<String>,
}

impl Feedback {
    /// Reads the report of an executor: `{status, error?, result?, external_run_id?}`.
    pub fn read(body: &Value) -> Result<Feedback, Vec<Invalid>> {
        let status = match body.get("status") {
            None | Some(Value::Null) => Err(Invalid::required("status")),
            Some(status) => status
                .as_str()
                .and_then(meaning)
                .ok_or_else(|| Invalid::new("status", "must be STARTED, SUCCESS or FAILED")),
        };
        let text = |field: &str| match body.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(cut(text))),
            Some(_) => Err(Invalid::new(field, "must be a text")),
        };
        let result = match body.get("result").filter(|result| !result.is_null()) {
            Some(result) if !fits(result) => {
                let message =
                    format!("must be at most {MAX_RESULT} bytes, nested at most {MAX_DEPTH} deep");
                Err(Invalid::new("result", message))
            }
            result => Ok(result.cloned()),
        };
        match (status, text("error"), result, text("external_run_id")) {
            (Ok(status), Ok(error), Ok(result), Ok(external_run_id)) => {
                Ok(Feedback { status, error, result, external_run_id })
            }
            (status, error, result, id) => {
                let problems = [status.err(), error.err(), result.err(), id.err()];
                Err(problems.into_iter().flatten().collect())
            }
        }
    }
}

/// The kinds of events that report the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A status change of a Step Functions execution.
    StepFunctions,
    /// The record that Lambda sends to the destination of an asynchronous invocation.
    Lambda,
    /// An event with the type [`DETAIL_TYPE`], from any executor.
    Executor,
}

impl Kind {
    /// The kind of an event. `None` if it is not a report.
    pub fn of(event: &Value) -> Option<Kind> {
        if event["source"] == "aws.states" {
            Some(Kind::StepFunctions)
        } else if event.get("requestPayload").is_some() && event.get("requestContext").is_some() {
            Some(Kind::Lambda)
        } else {
            (event["detail-type"] == DETAIL_TYPE).then_some(Kind::Executor)
        }
    }

    /// Reads the report from an event. `None` if the event does not report on a run of Belfry.
    pub fn read(self, event: &Value) -> Option<(RunId, Feedback)> {
        match self {
            Kind::StepFunctions => from_step_functions(&event["detail"]),
            Kind::Lambda => from_lambda(event),
            Kind::Executor => {
                let detail = &event["detail"];
                let id = detail["run_id"].as_str()?.parse().ok()?;
                // The sender of an event would not see a refusal. So the report is accepted without
                // a result that is too long.
                let mut detail = detail.clone();
                if !fits(&detail["result"]) {
                    detail["result"] = Value::Null;
                }
                Some((id, Feedback::read(&detail).ok()?))
            }
        }
    }
}

fn from_step_functions(detail: &Value) -> Option<(RunId, Feedback)> {
    let id = run_of(&serde_json::from_str(detail["input"].as_str()?).ok()?)?;
    // The execution of a run has the run's idempotency key as its name. An execution with another
    // name and the same input is not the run's, so its report is ignored.
    if detail["name"].as_str() != Some(&id.idempotency_key()) {
        return None;
    }
    let status = match detail["status"].as_str()? {
        "SUCCEEDED" => Status::Success,
        "FAILED" | "TIMED_OUT" | "ABORTED" => Status::Failed,
        _ => return None,
    };
    let output = detail["output"].as_str().and_then(|text| serde_json::from_str(text).ok());
    let error = (status == Status::Failed).then(|| {
        let parts = [&detail["status"], &detail["error"], &detail["cause"]];
        let parts: Vec<_> = parts.into_iter().filter_map(Value::as_str).collect();
        cut(&parts.join(": "))
    });
    let external_run_id = detail["executionArn"].as_str().map(cut);
    Some((id, Feedback { status, error, result: output.filter(fits), external_run_id }))
}

fn from_lambda(event: &Value) -> Option<(RunId, Feedback)> {
    let id = run_of(&event["requestPayload"])?;
    let condition = event["requestContext"]["condition"].as_str()?;
    let answer = &event["responsePayload"];
    let external_run_id = event["requestContext"]["requestId"].as_str().map(cut);
    let feedback = if condition == "Success" {
        let result = Some(answer.clone()).filter(|answer| !answer.is_null() && fits(answer));
        Feedback { status: Status::Success, error: None, result, external_run_id }
    } else {
        let message = answer["errorMessage"].as_str().unwrap_or_default();
        let error = Some(cut(format!("{condition}: {message}").trim_end_matches(": ")));
        Feedback { status: Status::Failed, error, result: None, external_run_id }
    };
    Some((id, feedback))
}

/// The run that a launch payload belongs to, read from its metadata.
fn run_of(launch: &Value) -> Option<RunId> {
    launch["metadata"]["run_id"].as_str()?.parse().ok()
}

/// Whether a record can keep a result.
pub fn fits(result: &Value) -> bool {
    result.to_string().len() <= MAX_RESULT && is_shallow(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const RUN: &str = "nightly@2026-01-01T02:00:00Z";

    fn launch() -> Value {
        json!({"dag": {}, "payload": {}, "metadata": {"run_id": RUN}})
    }

    fn step_functions(status: &str, more: &[(&str, Value)]) -> Value {
        let id: RunId = RUN.parse().unwrap();
        let mut detail = json!({
            "executionArn": "arn:aws:states:eu-west-1:1:execution:m:k",
            "name": id.idempotency_key(), "status": status, "input": launch().to_string(),
        });
        for (field, value) in more {
            detail[*field] = value.clone();
        }
        json!({
            "source": "aws.states", "detail-type": "Step Functions Execution Status Change",
            "detail": detail,
        })
    }

    #[track_caller]
    fn check(event: &Value, expected: Option<(Status, Option<&str>, Option<Value>)>) {
        let found = Kind::of(event).and_then(|kind| kind.read(event));
        assert!(found.iter().all(|(id, _)| id.to_string() == RUN));
        let found = found.map(|(_, said)| (said.status, said.error, said.result));
        let expected = expected.map(|(s, e, r)| (s, e.map(str::to_owned), r));
        assert_eq!(found, expected, "{event}");
    }

    #[test]
    fn an_execution_that_ended_ends_its_run() {
        let output = ("output", json!("{\"rows\": 3}"));
        let rows = Some(json!({"rows": 3}));
        check(&step_functions("SUCCEEDED", &[output]), Some((Status::Success, None, rows)));
        let why = [("error", json!("States.Timeout")), ("cause", json!("slow"))];
        let error = Some("FAILED: States.Timeout: slow");
        check(&step_functions("FAILED", &why), Some((Status::Failed, error, None)));
        check(&step_functions("ABORTED", &[]), Some((Status::Failed, Some("ABORTED"), None)));
        check(&step_functions("RUNNING", &[]), None);
    }

    #[test]
    fn an_execution_that_only_looks_like_a_runs_is_not_believed() {
        check(&step_functions("SUCCEEDED", &[("name", json!("by-hand"))]), None);
        check(&step_functions("SUCCEEDED", &[("input", json!("{}"))]), None);
        check(&step_functions("SUCCEEDED", &[("input", json!("not JSON"))]), None);
    }

    #[test]
    fn lambda_tells_its_destination_how_it_went() {
        let event = |condition: &str, answer: Value| {
            json!({
                "version": "1.0", "requestContext": {"requestId": "r", "condition": condition},
                "requestPayload": launch(), "responsePayload": answer,
            })
        };
        let done = json!({"rows": 3});
        check(&event("Success", done.clone()), Some((Status::Success, None, Some(done))));
        check(
            &event("RetriesExhausted", json!({"errorMessage": "out of memory"})),
            Some((Status::Failed, Some("RetriesExhausted: out of memory"), None)),
        );
        let long = json!("x".repeat(MAX_RESULT));
        check(&event("Success", long), Some((Status::Success, None, None)));
    }

    #[test]
    fn a_status_is_known_by_its_synonyms_and_in_any_case() {
        for (word, expected) in [
            ("SUCCESS", Some(Status::Success)),
            ("Completed", Some(Status::Success)),
            (" ok ", Some(Status::Success)),
            ("failed", Some(Status::Failed)),
            ("ERROR", Some(Status::Failed)),
            ("Failure", Some(Status::Failed)),
            ("timed out", Some(Status::Failed)),
            ("TIMED_OUT", Some(Status::Failed)),
            ("ENQUEUED", Some(Status::Started)),
            ("in-progress", Some(Status::Started)),
            ("SKIPPED", None),
            ("ABANDONED", None),
            ("fine", None),
            ("", None),
        ] {
            assert_eq!(meaning(word), expected, "{word}");
        }
    }

    #[test]
    fn any_executor_may_put_an_event() {
        let event = |detail: Value| json!({"source": "billing", "detail-type": DETAIL_TYPE, "detail": detail});
        check(
            &event(json!({"run_id": RUN, "status": "FAILED", "error": "no"})),
            Some((Status::Failed, Some("no"), None)),
        );
        let long = json!({"run_id": RUN, "status": "SUCCESS", "result": "x".repeat(MAX_RESULT)});
        check(&event(long), Some((Status::Success, None, None)));
        check(
            &event(json!({"run_id": RUN, "status": "done"})),
            Some((Status::Success, None, None)),
        );
        check(&event(json!({"run_id": RUN, "status": "HALF DONE"})), None);
        check(&event(json!({"status": "SUCCESS"})), None);
        check(&json!({"run_id": RUN, "revision": 1}), None);
    }
}
