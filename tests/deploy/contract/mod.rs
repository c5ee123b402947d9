//! The contract between the template and the code, as a list of violations.

mod alarms;
mod feedback;
mod functions;
mod queues;
mod roles;
mod routes;
mod settings;
mod tables;

use belfry_tests::Template;
use serde_json::Value;

use crate::scenario::Seen;

/// What is wrong with a template. `seen` is what the functions did while they were observed.
pub(crate) fn problems(template: &Template, seen: &Seen) -> Vec<String> {
    let mut problems = Problems::default();
    functions::check(template, &mut problems);
    settings::check(template, &mut problems);
    tables::check(template, &mut problems);
    queues::check(template, &mut problems);
    feedback::check(template, &mut problems);
    routes::check(template, &mut problems);
    alarms::check(template, seen, &mut problems);
    roles::check(template, seen, &mut problems);
    problems.0
}

/// Problems found so far.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: String) {
        self.0.push(problem);
    }

    /// Records a condition that does not hold.
    fn unless(&mut self, holds: bool, problem: impl AsRef<str>) {
        if !holds {
            self.add(problem.as_ref().to_owned());
        }
    }

    /// Records a value that is not the wanted one.
    fn equal(&mut self, what: impl std::fmt::Display, found: &Value, wanted: &Value) {
        if found != wanted {
            self.add(format!("{what} is {found} and should be {wanted}"));
        }
    }

    /// Records elements that only one side has.
    fn same<T: Ord + std::fmt::Display>(
        &mut self,
        what: &str,
        found: &std::collections::BTreeSet<T>,
        wanted: &std::collections::BTreeSet<T>,
    ) {
        for lacking in wanted.difference(found) {
            self.add(format!("{what}: {lacking} is missing"));
        }
        for extra in found.difference(wanted) {
            self.add(format!("{what}: {extra} is too much"));
        }
    }
}

/// The default of a parameter, as a string.
fn default(template: &Template, parameter: &str) -> Option<String> {
    match template.at(&format!("/Parameters/{parameter}/Default")) {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The name that a value refers to, if it is a reference.
fn referred(value: &Value) -> &str {
    let name = value["Ref"].as_str().or_else(|| value["Fn::GetAtt"][0].as_str());
    name.unwrap_or_default()
}

/// A number; zero if the value is not one.
fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}
