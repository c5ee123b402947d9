//! The response to CloudFormation: success or failure with a reason, within the size that
//! CloudFormation accepts.

use serde_json::{Map, Value, json};

use super::{Request, property};
use crate::invalid::Invalid;

/// The largest response in bytes. CloudFormation ignores a longer one and waits for an hour.
const MAX_ANSWER: usize = 4096;

/// The response to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The request succeeded.
    Done {
        /// The physical id of the resource from now on. If it differs from the earlier one,
        /// CloudFormation treats the resource as replaced.
        physical_id: String,
        /// The attributes that `Fn::GetAtt` returns.
        attributes: Map<String, Value>,
    },
    /// The request failed.
    Failed {
        /// The reason, for the person who deploys.
        reason: String,
    },
}

impl Answer {
    /// The body of the response for CloudFormation. A reason that does not fit is cut.
    pub fn body(&self, request: &Request) -> String {
        let mut body = json!({
            "StackId": request.stack_id,
            "RequestId": request.request_id,
            "LogicalResourceId": request.logical_id,
        });
        match self {
            Answer::Done { physical_id, attributes } => {
                body["Status"] = json!("SUCCESS");
                body["PhysicalResourceId"] = json!(physical_id);
                body["Data"] = json!(attributes);
            }
            Answer::Failed { reason } => {
                body["Status"] = json!("FAILED");
                body["PhysicalResourceId"] = json!(request.name_if_failed());
                body["Reason"] = json!("");
                let room = MAX_ANSWER.saturating_sub(body.to_string().len());
                body["Reason"] = json!(fitting(reason, room));
            }
        }
        body.to_string()
    }
}

/// Cuts a text so that it needs at most `room` bytes when it is written as JSON.
fn fitting(text: &str, room: usize) -> String {
    const CUT: &str = " ...";
    let written = |text: &str| json!(text).to_string().len() - 2;
    if written(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(CUT.len());
    let fits = |c: &char| {
        let needed = written(c.encode_utf8(&mut [0; 4]));
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    };
    text.chars().take_while(fits).chain(CUT.chars()).collect()
}

/// The problems in one line, with field names as in a template.
pub fn reason(problems: &[Invalid]) -> String {
    let told = |problem: &Invalid| match problem.field.as_str() {
        "" => problem.message.clone(),
        field => format!("{}: {}", property(field), problem.message),
    };
    problems.iter().map(told).collect::<Vec<_>>().join("; ")
}

/// Whether a host belongs to AWS, as the hosts do that receive responses for CloudFormation.
///
/// ```
/// use belfry_core::declare::resource::is_aws_host;
/// assert!(is_aws_host("cloudformation-custom-resource-response-useast1.s3.amazonaws.com"));
/// assert!(!is_aws_host("s3.amazonaws.com.example.org"));
/// ```
pub fn is_aws_host(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    [".amazonaws.com", ".amazonaws.com.cn"].iter().any(|end| host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        let event = json!({
            "ResponseURL": "u", "StackId": "arn:aws:cloudformation:r:1:stack/s/u",
            "RequestId": "r", "LogicalResourceId": "L", "PhysicalResourceId": "p",
        });
        Request::read(&event).unwrap()
    }

    #[test]
    fn a_reason_is_cut_to_what_cloudformation_takes_however_it_is_written() {
        for text in ["a", "\"", "\u{1}", "é", "🕰", "\\\n"] {
            let answer = Answer::Failed { reason: text.repeat(5000) };
            let body = answer.body(&request());
            assert!((4000..=MAX_ANSWER).contains(&body.len()), "{text:?}: {}", body.len());
            let read: Value = serde_json::from_str(&body).unwrap();
            let reason = read["Reason"].as_str().unwrap();
            assert!(reason.starts_with(text) && reason.ends_with(" ..."), "{text:?}");
            assert_eq!(read["PhysicalResourceId"], "p");
        }
        let whole = Answer::Failed { reason: "as it is".to_owned() };
        let read: Value = serde_json::from_str(&whole.body(&request())).unwrap();
        assert_eq!(read["Reason"], "as it is");
    }

    #[test]
    fn problems_are_told_all_at_once_by_the_names_of_properties() {
        let problems = [
            Invalid::new("cron_expr", "is required"),
            Invalid::new("target.queue_url", "must not be empty"),
            Invalid::new("Colour", "is not a property of this resource"),
            Invalid::new("", "must be a JSON object"),
        ];
        assert_eq!(
            reason(&problems),
            "CronExpr: is required; Target.QueueUrl: must not be empty; \
             Colour: is not a property of this resource; must be a JSON object"
        );
    }

    #[test]
    fn only_hosts_of_aws_are() {
        for host in ["x.s3.amazonaws.com", "x.s3.eu-west-1.amazonaws.com", "X.AmazonAWS.com.cn"] {
            assert!(is_aws_host(host), "{host}");
        }
        for host in ["amazonaws.com", "evilamazonaws.com", "x.amazonaws.com.", "x.amazonaws.co", ""]
        {
            assert!(!is_aws_host(host), "{host}");
        }
    }
}
