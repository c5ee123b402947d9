//! What is the deployment's own: its queues, its bus and its functions are no targets. A message in
//! the launch queue would be poison, an event on the bus would come back as an event, and a function
//! would take a launch for an event of its own.

use crate::invalid::Invalid;
use crate::workflow::Target;

/// The parts of a deployment that runs must not be launched at.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// The URLs of its queues.
    pub queues: Vec<String>,
    /// The names of its functions.
    pub functions: Vec<String>,
    /// The name or ARN of its bus; empty if it has none.
    pub bus: String,
}

impl Own {
    /// Why a workflow must not have this target, if it is one of the deployment's own parts.
    pub fn problem(&self, target: &Target) -> Option<Invalid> {
        let (field, is_own) = match target {
            Target::Sqs { queue_url } => {
                let is_it = |own: &String| !own.is_empty() && queue(own) == queue(queue_url);
                ("target.queue_url", self.queues.iter().any(is_it))
            }
            Target::Lambda { function } => {
                let name = function_name(function);
                ("target.function", self.functions.iter().any(|own| own == name))
            }
            Target::EventBridge { bus, .. } => {
                let is_own = !self.bus.is_empty() && bus_name(bus) == bus_name(&self.bus);
                ("target.bus", is_own)
            }
            Target::Http { .. } | Target::StepFunctions { .. } => return None,
        };
        is_own.then(|| Invalid::new(field, "is a part of Belfry itself"))
    }
}

/// The account and the name of a queue. Its host has several spellings.
fn queue(url: &str) -> Vec<&str> {
    let address = url.split_once("://").map_or(url, |(_, address)| address);
    let address = address.split(['?', '#']).next().unwrap_or_default();
    address.split('/').skip(1).filter(|part| !part.is_empty()).collect()
}

/// The name of a function in its name or ARN, which may end with a version or an alias.
fn function_name(function: &str) -> &str {
    let name = function.split_once(":function:").map_or(function, |(_, name)| name);
    name.split(':').next().unwrap_or_default()
}

fn bus_name(bus: &str) -> &str {
    bus.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &Target, field: Option<&str>) {
        let own = Own {
            queues: vec![
                "https://sqs.eu-west-1.amazonaws.com/1234/b-Launch-X".to_owned(),
                String::new(),
            ],
            functions: vec!["b-tick".to_owned()],
            bus: "b".to_owned(),
        };
        let found = own.problem(target).map(|problem| problem.field);
        assert_eq!(found.as_deref(), field, "{target:?}");
    }

    #[test]
    fn a_part_of_the_deployment_is_recognised_in_every_spelling() {
        let sqs = |url: &str| Target::Sqs { queue_url: url.to_owned() };
        let lambda = |name: &str| Target::Lambda { function: name.to_owned() };
        let bus = |name: &str| Target::EventBridge {
            bus: name.to_owned(),
            source: "s".to_owned(),
            detail_type: "d".to_owned(),
        };
        for url in [
            "https://sqs.eu-west-1.amazonaws.com/1234/b-Launch-X",
            "https://eu-west-1.queue.amazonaws.com/1234/b-Launch-X/",
            "https://SQS.eu-west-1.amazonaws.com:443//1234/b-Launch-X?x=1",
        ] {
            check(&sqs(url), Some("target.queue_url"));
        }
        check(&sqs("https://sqs.eu-west-1.amazonaws.com/1234/b-Launch-Y"), None);
        check(&sqs("https://sqs.eu-west-1.amazonaws.com/9999/b-Launch-X"), None);
        check(&sqs("https://sqs.eu-west-1.amazonaws.com"), None);
        for name in [
            "b-tick",
            "b-tick:live",
            "1234:function:b-tick",
            "arn:aws:lambda:eu-west-1:1234:function:b-tick",
            "arn:aws:lambda:eu-west-1:1234:function:b-tick:7",
        ] {
            check(&lambda(name), Some("target.function"));
        }
        check(&lambda("b-ticks"), None);
        for name in ["b", "arn:aws:events:eu-west-1:1234:event-bus/b"] {
            check(&bus(name), Some("target.bus"));
        }
        check(&bus("default"), None);
    }
}
