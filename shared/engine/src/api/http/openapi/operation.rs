//! An operation: a call of the API with everything that is said of it, and its handler.

use futures::future::BoxFuture;

use super::derived::Shape;
use super::kind::Kind::{self, Name, Notation, Whole};
use crate::api::http::gate::Gate;
use crate::api::http::input::{flag, number};
use crate::api::http::problem::{Problem, Routed};
use crate::api::http::request::Request;

use crate::app::App;

/// Answers a request of an operation. Boxed, so that every handler has the same type.
pub(in crate::api::http) type Handler = for<'a> fn(&'a App, &'a Request) -> BoxFuture<'a, Routed>;

/// A call.
pub struct Operation {
    /// Its method.
    pub method: &'static str,
    /// Below `/api/v1`, with its parameters in braces.
    pub path: &'static str,
    /// Its name for programs.
    pub(super) id: &'static str,
    /// What it does.
    pub(super) does: &'static str,
    /// Who may call it.
    pub gate: Gate,
    /// What answers a request of it.
    pub(in crate::api::http) handler: Handler,
    pub(super) query: &'static [Parameter],
    pub(super) headers: &'static [Parameter],
    pub(super) body: Option<Body>,
    /// Statuses of success and what they bring.
    pub(super) answers: Answers,
    /// Statuses of refusal, besides those that its path, body and token bring about.
    pub(super) refusals: &'static [u16],
}

/// Statuses of success and the schema of what they bring.
pub(super) type Answers = &'static [(u16, Option<Shape>)];

/// A parameter of the query, or a header.
#[derive(Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) note: &'static str,
}

/// What a call is given.
pub(super) struct Body {
    pub(super) schema: &'static str,
    pub(super) required: bool,
}

/// The parts of an operation, said one after the other where the table of operations needs them.
impl Operation {
    pub(super) const fn query(self, query: &'static [Parameter]) -> Operation {
        Operation { query, ..self }
    }

    pub(super) const fn headers(self, headers: &'static [Parameter]) -> Operation {
        Operation { headers, ..self }
    }

    /// It has a body.
    pub(super) const fn given(self, schema: &'static str) -> Operation {
        Operation { body: Some(Body { schema, required: true }), ..self }
    }

    /// It has a body, which may be left out.
    pub(super) const fn may_be_given(self, schema: &'static str) -> Operation {
        Operation { body: Some(Body { schema, required: false }), ..self }
    }

    pub(super) const fn refuses(self, refusals: &'static [u16]) -> Operation {
        Operation { refusals, ..self }
    }
}

/// What the parameters of paths hold.
pub(super) fn in_path(name: &str) -> (Kind, &'static str) {
    match name {
        "run_id" => (Notation("run-id"), "Name of the run, `<schedule_id>@<run_at>`."),
        "version" => (Whole(1, u32::MAX as u64), "Number of the version."),
        "workflow_id" => (Notation("workflow-name"), "Name of the workflow."),
        "node_id" => (Name, "Name of a trigger node of the workflow."),
        "set" => (Name, "Name of the set."),
        "backfill_id" => (Name, "Name of the backfill."),
        _ => (Name, "Name of the schedule."),
    }
}

/// The name in the braces of a part of a path.
fn braced(part: &'static str) -> Option<&'static str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

impl Operation {
    /// The names in braces.
    pub(super) fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(braced)
    }

    /// What a path of this pattern has in the place of each name in braces.
    pub(crate) fn path_values(&self, segments: &[String]) -> Vec<(&'static str, String)> {
        let parts = self.path.split('/').skip(1).zip(segments);
        parts.filter_map(|(part, segment)| Some((braced(part)?, segment.clone()))).collect()
    }

    /// Whether its query may have a parameter of this name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.query.iter().any(|parameter| parameter.name == name)
    }

    /// What is wrong with the flags and numbers of a query, if something is.
    pub(in crate::api::http) fn wrong_values(&self, request: &Request) -> Option<Problem> {
        let wrong = |parameter: &Parameter| match parameter.kind {
            Kind::Flag => flag(request, parameter.name).err(),
            Whole(from, to) => {
                number(request, parameter.name, from as usize..=to as usize, 0).err()
            }
            _ => None,
        };
        let problems: Vec<_> = self.query.iter().filter_map(wrong).collect();
        (!problems.is_empty()).then(|| Problem::merged(problems))
    }

    /// Every status it may answer with instead of success.
    pub(super) fn refused_with(&self) -> Vec<u16> {
        let mut statuses = vec![400, 422];
        statuses.extend(match self.gate {
            Gate::Open => &[][..],
            Gate::RunToken => &[401, 503],
            Gate::Token(_) => &[401, 403, 503],
        });
        statuses.extend(self.path.contains('{').then_some(404));
        statuses.extend(self.body.as_ref().map(|_| 413));
        statuses.extend(self.refusals);
        statuses.sort_unstable();
        statuses
    }
}
