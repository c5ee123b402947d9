//! Lives of the whole system, one per seed, each judged by the checker; then the protocol broken on
//! purpose, to show that the checker notices.
//!
//! `make sim SEEDS=20000` runs more of them, `make sim SEED=1234` one, with its trace.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use belfry_tests::checker::{Kind, Violation};
use belfry_tests::sim::{self, Mutation, Outcome};

/// Lives in `make test`.
const SEEDS: u64 = 500;
/// A mutation must be noticed within this many lives.
const SEEDS_OF_A_MUTATION: u64 = 150;
/// Lives between two progress lines of a long run.
const PROGRESS: u64 = 1000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1)
    };
    let number = |name: &str| given(name).and_then(|text| text.parse::<u64>().ok());
    // The test harness was called with a filter for other tests, or to list the tests.
    let ours = ["--seed", "--seeds", "--mutations", "--mutation", "sim"];
    let is_ours = |argument: &String| ours.contains(&argument.as_str());
    if !arguments.is_empty() && !arguments.iter().any(is_ours) {
        let harmless = ["--nocapture", "--quiet", "-q", "--test-threads"];
        if !arguments.iter().all(|a| harmless.contains(&a.as_str()) || a.parse::<u64>().is_ok()) {
            return ExitCode::SUCCESS;
        }
    }
    let mutation = given("--mutation").and_then(|name| Mutation::named(name));
    if let Some(seed) = number("--seed") {
        return replay(seed, mutation);
    }
    let all = arguments.iter().any(|argument| argument == "--mutations");
    if all || mutation.is_some() {
        let broken = mutation.map_or(Mutation::ALL.to_vec(), |one| vec![one]);
        return if notices(&broken) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let seeds = number("--seeds").unwrap_or(SEEDS);
    let from = number("--from").unwrap_or(1);
    let is_same = lives_alike(from);
    let is_kept = explore(from, seeds);
    let is_noticed = number("--seeds").is_some() || notices(&Mutation::ALL);
    if is_same && is_kept && is_noticed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One life, with its trace.
fn replay(seed: u64, mutation: Option<Mutation>) -> ExitCode {
    let outcome = sim::run(seed, mutation, true);
    for line in &outcome.trace {
        println!("{line}");
    }
    for violation in &outcome.violations {
        println!("{violation}");
    }
    println!("seed {seed}, fires {}, faults {}", outcome.fires, outcome.faults);
    if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The same seed must give the same life twice, or a failure could not be replayed.
fn lives_alike(seed: u64) -> bool {
    let (one, other) = (sim::run(seed, None, true), sim::run(seed, None, true));
    let same = one.trace == other.trace;
    if !same {
        let differs = one.trace.iter().zip(&other.trace).find(|(one, other)| one != other);
        println!("seed {seed} gave two different lives: {differs:?}");
    }
    same
}

/// The totals over all lives.
#[derive(Default)]
struct Sums {
    lives: u64,
    fires: u64,
    faults: u64,
    failed: Vec<(u64, Vec<Violation>)>,
}

fn explore(from: u64, seeds: u64) -> bool {
    let began = Instant::now();
    let next = AtomicU64::new(from);
    let sums = Mutex::new(Sums::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= from + seeds {
                break;
            }
            let outcome = live(seed, None);
            let mut sums = sums.lock().unwrap();
            sums.lives += 1;
            sums.fires += outcome.fires as u64;
            sums.faults += outcome.faults;
            if !outcome.violations.is_empty() {
                for violation in &outcome.violations {
                    println!("seed {seed}: {violation}");
                }
                println!("replay it with: make sim SEED={seed}");
                sums.failed.push((seed, outcome.violations));
            }
            if sums.lives % PROGRESS == 0 {
                tell(&sums, began);
            }
        }
    };
    in_parallel(&work);
    let sums = sums.into_inner().unwrap();
    tell(&sums, began);
    sums.failed.is_empty()
}

fn tell(sums: &Sums, began: Instant) {
    let count = |kind: Kind| {
        let all = sums.failed.iter().flat_map(|(_, violations)| violations);
        all.filter(|violation| violation.kind == kind).count()
    };
    let all: usize = sums.failed.iter().map(|(_, violations)| violations.len()).sum();
    let (lost, duplicate) = (count(Kind::Lost), count(Kind::Duplicate));
    let unexplained = count(Kind::Unexplained);
    println!(
        "seeds {}, fires {}, faults {}, lost {lost}, duplicate {duplicate}, \
         unexplained {unexplained}, other violations {} ({} s)",
        sums.lives,
        sums.fires,
        sums.faults,
        all - lost - duplicate - unexplained,
        began.elapsed().as_secs()
    );
}

/// Whether each of these mutations is noticed.
fn notices(mutations: &[Mutation]) -> bool {
    let noticed = mutations.iter().map(|&mutation| {
        let noticed = notice(mutation);
        match &noticed {
            Some((seed, violation)) => {
                println!("mutation {}: noticed by seed {seed}: {violation}", mutation.name());
            }
            None => println!("mutation {}: not noticed", mutation.name()),
        }
        noticed.is_some()
    });
    let noticed: Vec<bool> = noticed.collect();
    noticed.iter().all(|noticed| *noticed)
}

/// The first seed at which a mutation causes a violation, and the violation.
fn notice(mutation: Mutation) -> Option<(u64, Violation)> {
    let next = AtomicU64::new(1);
    let is_found = AtomicBool::new(false);
    let found = Mutex::new(None::<(u64, Violation)>);
    let work = || {
        while !is_found.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > SEEDS_OF_A_MUTATION {
                break;
            }
            if let Some(violation) = live(seed, Some(mutation)).violations.into_iter().next() {
                let mut found = found.lock().unwrap();
                if found.as_ref().is_none_or(|(known, _)| seed < *known) {
                    *found = Some((seed, violation));
                }
                is_found.store(true, Ordering::Relaxed);
            }
        }
    };
    in_parallel(&work);
    found.into_inner().unwrap()
}

/// Runs a life; a panic counts as a violation.
fn live(seed: u64, mutation: Option<Mutation>) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| sim::run(seed, mutation, false))).unwrap_or_else(|_| {
        let what = format!("seed {seed} panicked");
        let violations = match mutation {
            None => vec![Violation { kind: Kind::Record, what }],
            // Noticed, but not by the checker.
            Some(_) => Vec::new(),
        };
        Outcome { violations, fires: 0, faults: 0, trace: Vec::new() }
    })
}

fn in_parallel(work: &(impl Fn() + Sync)) {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
}
