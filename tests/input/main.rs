//! Bad input to the real handlers: no panic, no 5xx, and what cannot be parsed ends where an
//! operator sees it.

mod api;
mod cron;
mod odd;
mod queue;
mod resource;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tokio::runtime::Runtime;

/// Tries `cases` values of a strategy, the same ones every time, and shrinks one that fails.
fn check<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(failure) = runner.run(strategy, test) {
        panic!("{failure}");
    }
}

/// The runtime of a world.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
