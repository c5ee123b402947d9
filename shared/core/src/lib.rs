//! The decisions of Belfry, as pure functions.
//!
//! Nothing here calls AWS or reads a clock, an environment variable or a random number. Every
//! function takes its inputs as arguments and returns data. The engine acts on that data.
//!
//! The rooms import in one direction: the words all others use (`id`, `instant`, `invalid`, `form`,
//! `encoding`, `page`, `words`), then `workflow`, `guard` and `schedule`, `run`, `fire`, then `tick`,
//! `recovery` and `ledger`, then `declare` and `vocabulary`.

pub mod declare;
pub mod encoding;
pub mod fire;
pub mod form;
pub mod guard;
pub mod id;
pub mod instant;
pub mod invalid;
pub mod ledger;
pub mod page;
pub mod recovery;
pub mod run;
pub mod schedule;
pub mod tick;
pub mod vocabulary;
pub mod words;
pub mod workflow;

pub use belfry_cron as cron;
