//! Schedules as code: files that declare sets, compared with the deployment and applied to it.

mod apply;
mod file;
mod import;
mod schema;
mod sets;
mod show;
mod validate;
mod write;

pub(crate) use apply::{Apply, Plan};
pub(crate) use import::Import;
pub(crate) use schema::Schema;
pub(crate) use sets::{Adopt, Export, Release};
pub(crate) use validate::Validate;
