//! The bench: how fast Belfry is on this machine, alone and compared with its peers. `make bench`,
//! `make bench-peers`.

mod api;
mod child;
mod cron;
mod drift;
mod executor;
mod fires;
mod functions;
mod idle;
mod instructions;
mod load;
mod machine;
mod packages;
mod peers;
mod picture;
mod report;
mod services;
mod system;

use std::process::ExitCode;

use report::Report;

const USAGE: &str = "belfry-bench all|peers [--quick] [--keep] [NAME...]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<&str> =
        arguments.iter().skip(1).map(String::as_str).filter(|a| !a.starts_with("--")).collect();
    let mut threads = match arguments.first().map(String::as_str) {
        // One thread, as in the functions' binaries: an instance of Lambda has a core or less.
        Some("functions") => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = threads.enable_all().build().expect("a runtime");
    match arguments.first().map(String::as_str) {
        Some("services") => runtime.block_on(services::serve(&arguments[1..])),
        Some("functions") => runtime.block_on(functions::serve(&arguments[1..])),
        Some("processes") => runtime.block_on(packages::serve()),
        Some("tokio-cron") => runtime.block_on(peers::tokio_cron::serve(&arguments[1..])),
        Some("all") => runtime.block_on(all(is_quick, &named)),
        Some("peers") => runtime.block_on(peers::all(is_quick, &named)),
        _ => {
            println!("{USAGE}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Whether the figures are written to docs: those of a whole run are, and others with `--keep`.
fn is_kept(is_quick: bool, named: &[&str]) -> bool {
    (named.is_empty() && !is_quick) || std::env::args().any(|argument| argument == "--keep")
}

async fn all(is_quick: bool, named: &[&str]) {
    let wants = |name: &str| named.is_empty() || named.contains(&name);
    let mut report = Report::begin("make bench");
    if wants("cron") {
        cron::measure(&mut report, is_quick);
    }
    if wants("packages") {
        packages::measure(&mut report).await;
    }
    if wants("fires") {
        fires::measure(&mut report, is_quick).await;
    }
    if wants("instructions") {
        instructions::measure(&mut report).await;
    }
    if wants("drift") {
        drift::measure(&mut report, is_quick).await;
    }
    if wants("idle") {
        idle::measure(&mut report, is_quick).await;
    }
    if wants("api") {
        api::measure(&mut report, is_quick).await;
    }
    report.end(is_kept(is_quick, named).then_some("bench"));
}
