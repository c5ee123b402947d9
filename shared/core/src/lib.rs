//! What Belfry decides, without touching anything.
//!
//! Nothing here knows AWS, reads a clock, an environment or a random number: every function takes
//! what it needs and answers with data. The engine acts on those answers.
//!
//! The rooms import in one direction: the words all others use (`id`, `instant`, `invalid`, `form`,
//! `encoding`, `words`), then `workflow`, `guard` and `schedule`, `run`, `fire`, then `tick`, `recovery` and
//! `ledger`, then `declare` and `vocabulary`.

pub mod declare;
pub mod encoding;
pub mod fire;
pub mod form;
pub mod guard;
pub mod id;
pub mod instant;
pub mod invalid;
pub mod ledger;
pub mod recovery;
pub mod run;
pub mod schedule;
pub mod tick;
pub mod vocabulary;
pub mod words;
pub mod workflow;

pub use belfry_cron as cron;
