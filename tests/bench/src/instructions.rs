//! Instructions per fire, counted by callgrind, which is independent of the machine's speed and
//! load. Only the functions are counted: the services are other processes.

use serde_json::json;
use tokio::process::Command;

use crate::machine::now;
use crate::report::Report;
use crate::system::{System, only, text};

/// Two sizes: the difference of their counts is due to the fires, the rest to the start.
const SIZES: (usize, usize) = (50, 250);

/// Counts the tick and the launcher.
pub async fn measure(report: &mut Report) {
    let found = Command::new("valgrind").arg("--version").output().await;
    if !found.is_ok_and(|said| said.status.success()) {
        report.note("instructions not counted: valgrind is not installed");
        return;
    }
    for (function, order) in [("tick", "tick"), ("launcher", "deliver")] {
        let few = count(function, order, SIZES.0).await;
        let many = count(function, order, SIZES.1).await;
        let (Some(few), Some(many)) = (few, many) else {
            report.note(&format!("instructions of the {function} not counted: callgrind failed"));
            continue;
        };
        let each = (many - few) / (SIZES.1 - SIZES.0) as f64;
        report.add(&format!("instructions, {function}"), "per fire", each / 1000.0, "thousand");
    }
}

async fn count(function: &str, order: &str, due: usize) -> Option<f64> {
    let mut system = System::start(&[], &[]).await;
    let at = now() - chrono::Duration::seconds(10);
    system.schedules("due", due, &text(at), &only(at)).await;
    if order != "tick" {
        system.tick().await;
    }
    let mut valgrind = Command::new("valgrind");
    // Kept for `callgrind_annotate --inclusive=yes`.
    let out = format!("--callgrind-out-file=target/bench/callgrind.{function}");
    valgrind.arg("--tool=callgrind").arg(out);
    let mut functions = system.functions_under(valgrind).await;
    functions.ask(json!({"do": order})).await;
    let said = functions.end().await;
    let line = said.iter().find_map(|line| line.split("Collected :").nth(1))?;
    line.trim().parse().ok()
}
