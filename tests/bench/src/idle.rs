//! Idle growth: what a tick costs beside schedules that are not due.

use serde_json::{Value, json};

use crate::machine::now;
use crate::report::Report;
use crate::system::{System, only, text};

/// Ticks of which the middle one counts.
const TICKS: usize = 41;
/// Due in each tick that has something to do.
const DUE: usize = 100;
/// What a million idle schedules may cost of what none cost.
const LIMITS: (f64, f64) = (1.05, 1.5);

/// Measures ticks with growing numbers of idle schedules.
pub async fn measure(report: &mut Report, is_quick: bool) {
    let mut system = System::start(&[], &["--meter"]).await;
    let sizes: &[u64] = if is_quick { &[0, 100_000] } else { &[0, 100_000, 1_000_000] };
    let in_a_year = now() + chrono::Duration::days(300);
    system.schedules("idle", 1, &text(in_a_year), &only(in_a_year)).await;
    system.tick().await;
    let mut first = None;
    let mut have = 1;
    for size in sizes {
        if *size > have {
            let order = json!({
                "do": "schedules", "idle": true, "from": "idle", "first": have, "count": size - have,
                "next": text(in_a_year), "cron": only(in_a_year),
            });
            system.services.ask(order).await;
            have = *size;
        }
        let (quiet_ms, quiet_requests) = quiet(&mut system).await;
        let (busy_ms, busy_requests) = busy(&mut system, *size).await;
        let group = format!("tick beside {size} idle");
        report.add(&group, "nothing due, time", quiet_ms, "ms");
        report.add(&group, "nothing due, requests", quiet_requests, "");
        report.add(&group, &format!("{DUE} due, time"), busy_ms, "ms");
        report.add(&group, &format!("{DUE} due, requests"), busy_requests, "");
        let base = *first.get_or_insert((quiet_ms, quiet_requests, busy_ms, busy_requests));
        if *size > 0 {
            report.ratio(&group, "time, of that beside none", busy_ms / base.2, LIMITS.1);
            report.ratio(
                &group,
                "time with nothing due, of that beside none",
                quiet_ms / base.0,
                LIMITS.1,
            );
            report.ratio(
                &group,
                "requests, of those beside none",
                busy_requests / base.3,
                LIMITS.0,
            );
            report.ratio(
                &group,
                "requests with nothing due, of those beside none",
                quiet_requests / base.1,
                LIMITS.0,
            );
        }
    }
}

async fn quiet(system: &mut System) -> (f64, f64) {
    let mut ticks = Vec::new();
    for _ in 0..TICKS {
        ticks.push(system.tick().await);
    }
    (middle(&ticks, "ms"), middle(&ticks, "requests"))
}

async fn busy(system: &mut System, size: u64) -> (f64, f64) {
    let mut ticks = Vec::new();
    for round in 0..7 {
        let at = now() - chrono::Duration::seconds(5);
        let name = format!("due-{size}-{round}");
        system.schedules(&name, DUE, &text(at), &only(at)).await;
        let tick = system.tick().await;
        assert_eq!(tick["emitted"], DUE, "{tick}");
        ticks.push(tick);
    }
    (middle(&ticks, "ms"), middle(&ticks, "requests"))
}

fn middle(ticks: &[Value], what: &str) -> f64 {
    let mut values: Vec<f64> = ticks.iter().filter_map(|tick| tick[what].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
