//! Idle growth: the cost of a tick beside schedules that are not due.

use serde_json::{Value, json};

use crate::machine::now;
use crate::report::Report;
use crate::system::{System, only, text};

/// Ticks with nothing due, of which the median counts.
const QUIET: usize = 41;
/// Ticks with something due, of which the median counts.
const BUSY: usize = 9;
/// Fires due in each of those.
const DUE: usize = 100;
/// The largest allowed ratio between the cost with a million idle schedules and with none.
const LIMITS: (f64, f64) = (1.05, 1.5);

/// A system with this many idle schedules, and its ticks.
struct Beside {
    idle: u64,
    system: System,
    quiet: Vec<Value>,
    busy: Vec<Value>,
}

/// Measures ticks beside growing numbers of idle schedules.
pub async fn measure(report: &mut Report, is_quick: bool) {
    let sizes: &[u64] = if is_quick { &[0, 100_000] } else { &[0, 100_000, 1_000_000] };
    let mut all = Vec::new();
    for size in sizes {
        all.push(Beside::start(*size).await);
    }
    // Alternates between the systems, so that a slow phase of the machine affects all of them.
    for _ in 0..QUIET {
        for beside in &mut all {
            beside.quiet.push(beside.system.tick().await);
        }
    }
    for round in 0..BUSY {
        for beside in &mut all {
            beside.work(round).await;
        }
    }
    let figures = |beside: &Beside| {
        [&beside.quiet, &beside.busy].map(|ticks| (middle(ticks, "ms"), middle(ticks, "requests")))
    };
    let [none_quiet, none_busy] = figures(&all[0]);
    for beside in &all {
        let group = format!("tick beside {} idle", beside.idle);
        let [quiet, busy] = figures(beside);
        report.add(&group, "nothing due, time", quiet.0, "ms");
        report.add(&group, "nothing due, requests", quiet.1, "");
        report.add(&group, &format!("{DUE} due, time"), busy.0, "ms");
        report.add(&group, &format!("{DUE} due, requests"), busy.1, "");
        if beside.idle > 0 {
            let name = "time, of that beside none";
            report.ratio(&group, name, busy.0 / none_busy.0, LIMITS.1);
            let name = "time with nothing due, of that beside none";
            report.ratio(&group, name, quiet.0 / none_quiet.0, LIMITS.1);
            let name = "requests, of those beside none";
            report.ratio(&group, name, busy.1 / none_busy.1, LIMITS.0);
            let name = "requests with nothing due, of those beside none";
            report.ratio(&group, name, quiet.1 / none_quiet.1, LIMITS.0);
        }
    }
}

impl Beside {
    async fn start(idle: u64) -> Beside {
        let mut system = System::start(&[], &["--meter"]).await;
        let in_a_year = now() + chrono::Duration::days(300);
        system.schedules("idle", 1, &text(in_a_year), &only(in_a_year)).await;
        if idle > 1 {
            let order = json!({
                "do": "schedules", "idle": true, "from": "idle", "first": 1, "count": idle - 1,
                "next": text(in_a_year), "cron": only(in_a_year),
            });
            system.services.ask(order).await;
        }
        system.tick().await;
        Beside { idle, system, quiet: Vec::new(), busy: Vec::new() }
    }

    async fn work(&mut self, round: usize) {
        let at = now() - chrono::Duration::seconds(5);
        let name = format!("due-{round}");
        self.system.schedules(&name, DUE, &text(at), &only(at)).await;
        let tick = self.system.tick().await;
        assert_eq!(tick["emitted"], DUE, "{tick}");
        self.busy.push(tick);
    }
}

fn middle(ticks: &[Value], what: &str) -> f64 {
    let mut values: Vec<f64> = ticks.iter().filter_map(|tick| tick[what].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
