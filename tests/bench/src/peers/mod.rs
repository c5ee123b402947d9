//! The peers: self-hosted schedulers, each with N schedules due in the same second. Each fire is a
//! recorded request to the same target, beside ours on the same machine in the same run. The fast
//! ones are measured once more with fires that make no request.
//!
//! A fire counts from the second it is due until it is recorded, and is late until its request
//! arrives. CPU counts from the moment all schedules exist, so that it includes everything a fire
//! costs, also the work done ahead of it.

mod apscheduler;
mod bullmq;
mod ours;
pub mod tokio_cron;

use std::net::TcpListener;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::executor::{Executor, lateness};
use crate::machine::{self, now};
use crate::report::{Goal, Report};

/// A scheduler's results.
pub struct Result {
    /// Its name and version.
    pub name: String,
    /// Fires that never came.
    pub lost: usize,
    /// From the second they were due until the last was recorded.
    pub seconds: f64,
    /// How late they began, in milliseconds: median, 99th percentile, maximum. A fire that never
    /// came counts as infinitely late.
    pub late: (f64, f64, f64),
    /// CPU time of the scheduler, and of its database.
    pub cpu: (Duration, Duration),
    /// Peak memory of both, in MiB.
    pub memory: (f64, f64),
    /// How much its database slowed it down, where that is known.
    pub limit: Option<Limit>,
}

/// Our embedded database, which works in one thread.
pub struct Limit {
    /// The share of the time that thread was busy, from the due second to the last record.
    pub busy: f64,
    /// Fires per second if that thread's work took no time: the rest of the work, on all cores.
    pub without: f64,
    /// How late the last of them would be then, in milliseconds.
    pub late: f64,
}

/// The results of a scheduler, or why it was not measured.
type Measured = std::result::Result<Result, String>;

/// Rounds of ours and of the fast ones, of which the median counts.
const ROUNDS: usize = 3;

/// Measures all schedulers, at two sizes.
pub async fn all(is_quick: bool, named: &[&str]) {
    let mut report = Report::begin("make bench-peers");
    let wants = |name: &str| named.is_empty() || named.contains(&name);
    for count in if is_quick { vec![1_000] } else { vec![1_000, 10_000] } {
        let [mut own, mut calling, mut idle, mut small, mut large, mut nobody] =
            [const { Vec::new() }; 6];
        // Alternates between the schedulers, so that a slow phase of the machine affects all of
        // them.
        for _ in 0..if is_quick { 1 } else { ROUNDS } {
            if wants("ours") {
                own.push(Ok(ours::measure(count).await));
            }
            if wants("bullmq") {
                calling.push(bullmq::measure(count, Some(&Executor::start().await)).await);
                idle.push(bullmq::measure(count, None).await);
            }
            if wants("tokio-cron") {
                let target = Executor::start().await;
                large.push(tokio_cron::with_larger_channels(count, Some(&target)).await);
                nobody.push(tokio_cron::with_larger_channels(count, None).await);
            }
        }
        let mut results: Vec<_> = [own, calling, idle].into_iter().filter_map(middle).collect();
        if wants("apscheduler") {
            results.push(apscheduler::measure(count, &Executor::start().await).await);
        }
        if wants("tokio-cron") {
            small.push(tokio_cron::as_it_comes(count, &Executor::start().await).await);
        }
        results.extend([small, large, nobody].into_iter().filter_map(middle));
        let mut known = Vec::new();
        for result in results {
            match result {
                Ok(result) => known.push(result),
                Err(why) => report.note(&format!("skipped: {why}")),
            }
        }
        tell(&mut report, count, &known);
    }
    report.end(crate::is_kept(is_quick, named).then_some("bench-peers"));
}

/// The round of median speed, or why there is none.
fn middle(rounds: Vec<Measured>) -> Option<Measured> {
    let (mut done, mut failed): (Vec<_>, Vec<_>) = rounds.into_iter().partition(|r| r.is_ok());
    let seconds = |round: &Measured| round.as_ref().map_or(f64::MAX, |result| result.seconds);
    done.sort_by(|one, other| seconds(one).total_cmp(&seconds(other)));
    if done.is_empty() { failed.pop() } else { Some(done.swap_remove(done.len() / 2)) }
}

fn tell(report: &mut Report, count: usize, results: &[Result]) {
    let each = |total: Duration| total.as_secs_f64() * 1e6 / count as f64;
    for result in results {
        let group = format!("{}, {count} due", result.name);
        if result.lost > 0 {
            report.add(&group, "fires that never came", result.lost as f64, "");
            continue;
        }
        report.add(&group, "fires", count as f64 / result.seconds, "/s");
        report.add(&group, "p50", result.late.0, "ms");
        report.add(&group, "p99", result.late.1, "ms");
        report.add(&group, "CPU per fire", each(result.cpu.0 + result.cpu.1), "µs");
        report.add(&group, "CPU per fire without the database", each(result.cpu.0), "µs");
        if let Some(limit) = &result.limit {
            let name = "the database's thread was busy";
            report.add(&group, name, limit.busy * 100.0, "%");
            report.add(&group, "fires, if that took no time", limit.without, "/s");
            report.add(&group, "p99, if that took no time", limit.late, "ms");
        }
        report.add(&group, "peak memory", result.memory.0, "MiB");
        report.add(&group, "peak memory of the database", result.memory.1, "MiB");
    }
    let Some((ours, theirs)) = results.split_first().filter(|(first, _)| first.name == "Belfry")
    else {
        return;
    };
    let group = format!("Belfry, {count} due");
    for bullmq in theirs.iter().filter(|result| result.name.starts_with("BullMQ")) {
        let of = |what: &str| format!("{what}, of {}'s", bullmq.name);
        let ratio = bullmq.seconds / ours.seconds;
        report.goal(&group, &of("fires/s"), ratio, "x", Goal::AtLeast(1.5));
        if let Some(limit) = &ours.limit {
            let ratio = limit.without * bullmq.seconds / count as f64;
            report.add(&group, &of("fires/s, if that took no time"), ratio, "x");
        }
        let both = |result: &Result| each(result.cpu.0 + result.cpu.1).max(1.0);
        let third = Goal::AtMost(1.0 / 3.0);
        report.goal(&group, &of("CPU per fire"), both(ours) / both(bullmq), "x", third);
        let ratio = each(ours.cpu.0) / each(bullmq.cpu.0).max(1.0);
        report.goal(&group, &of("CPU without either database"), ratio, "x", third);
        let ratio = each(ours.cpu.0) / both(bullmq);
        report.add(&group, &of("CPU without our database"), ratio, "x");
    }
    for peer in theirs {
        let name = format!("drift p99, of {}'s", peer.name);
        let theirs = peer.late.1.max(0.001);
        report.goal(&group, &name, ours.late.1 / theirs, "x", Goal::AtMost(1.0));
        if let Some(limit) = &ours.limit {
            let name = format!("drift p99, if that took no time, of {}'s", peer.name);
            report.add(&group, &name, limit.late / theirs, "x");
        }
    }
}

/// A second far enough ahead to create `count` schedules before it, at this many per second.
fn due(count: usize, rate: usize) -> DateTime<Utc> {
    let ahead = now().timestamp() + 6 + (count / rate) as i64;
    DateTime::from_timestamp(ahead, 0).expect("a time")
}

/// A free port.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

/// The CPU time of a process and the processes it started.
fn cpu_of_all(pid: u32) -> Duration {
    let children = machine::children(pid);
    machine::cpu(pid) + children.iter().map(|(child, _)| machine::cpu(*child)).sum::<Duration>()
}

/// The peak memory of a process and the processes it started, together.
fn memory_of_all(pid: u32) -> f64 {
    let children = machine::children(pid);
    let children = children.iter().map(|(child, _)| machine::peak_memory(*child));
    machine::peak_memory(pid) + children.sum::<f64>()
}

/// Waits for a peer that has created its schedules, and for its fires, whose lateness is measured
/// at `target` if they go there. The answer names the peer, its version and how it was run.
async fn watch(
    mut peer: crate::child::Child,
    (name, how): (&str, &str),
    database: Option<u32>,
    count: usize,
    target: Option<&Executor>,
) -> Measured {
    let spare = peer.hello["spare_ms"].as_f64().unwrap_or(0.0);
    if spare < 0.0 {
        return Err(format!("{name} was {:.0} ms late with creating its schedules", -spare));
    }
    let of_database = || database.map_or(Duration::ZERO, cpu_of_all);
    let before = (peer.cpu(), of_database());
    let answer = peer.answer().await;
    let cpu = (peer.cpu() - before.0, of_database().saturating_sub(before.1));
    let fires = answer["fires"].as_u64().map_or(count, |fires| fires as usize);
    let number = |name: &str| answer[name].as_f64().unwrap_or(0.0);
    let version = peer.hello["version"].as_str().unwrap_or_default();
    let (late, whom) = match target {
        Some(target) => {
            let arrivals = target.arrivals(fires, Duration::ZERO).await;
            assert_eq!(arrivals.len(), fires, "every request of {name} arrives once");
            (lateness(&arrivals, count), "")
        }
        None if fires < count => {
            return Err(format!("{name}{how} fired {fires} of {count} and then stopped"));
        }
        None => ((number("p50"), number("p99"), number("max")), ", calling nobody"),
    };
    Ok(Result {
        name: format!("{name} {version}{how}{whom}"),
        lost: count - fires,
        seconds: number("seconds"),
        late,
        cpu,
        memory: (peer.peak_memory(), database.map_or(0.0, memory_of_all)),
        limit: None,
    })
}
