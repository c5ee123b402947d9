//! How long one `next` takes: `cargo run --release -p belfry-cron --example speed`.

use belfry_cron::{Cron, Timetable, Zone};
use chrono::{DateTime, Utc};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 200_000;

fn main() {
    let start: DateTime<Utc> = DateTime::from_timestamp(1_794_800_000, 0).unwrap_or_default();
    println!("{:<24} {:>10} {:>10} {:>10}", "ns per", "next UTC", "next NY", "parse");
    for text in [
        "* * * * *",
        "*/5 * * * *",
        "0 * * * *",
        "30 9 * * *",
        "*/15 9-17 * * MON-FRI",
        "0 0 * * 0",
        "0 0 1 * *",
        "0 0 29 2 *",
        "0 0 29 2 +MON",
        "0 0 13 * FRI",
        "0 0 * * FRI#2",
        "0 0 * * FRIL",
        "0 0 L * *",
        "0 0 15W * *",
        "0 0 LW * *",
        "rate(5 minutes)",
    ] {
        let next = |zone: &str| {
            let (Ok(cron), Ok(zone)) = (Cron::parse(text, ""), Zone::parse(zone)) else { return 0 };
            let table = Timetable::new(cron, zone);
            let mut at = start;
            per_round(ROUNDS, || at = table.next_after(black_box(at)).unwrap_or(start))
        };
        let parse = per_round(ROUNDS / 20, || drop(black_box(Cron::parse(black_box(text), ""))));
        println!("{text:<24} {:>10} {:>10} {parse:>10}", next("UTC"), next("America/New_York"));
    }
    let zones: Vec<&str> = Zone::all().collect();
    let first = Instant::now();
    let known = zones.iter().filter_map(|name| Zone::parse(name).ok()).count();
    println!("first use of a zone: {} ns", first.elapsed().as_nanos() / zones.len() as u128);
    let again = Instant::now();
    let known = known.min(zones.iter().filter_map(|name| Zone::parse(name).ok()).count());
    println!("later uses: {} ns ({known} zones)", again.elapsed().as_nanos() / zones.len() as u128);
}

fn per_round(rounds: u32, mut act: impl FnMut()) -> u128 {
    let start = Instant::now();
    (0..rounds).for_each(|_| act());
    start.elapsed().as_nanos() / u128::from(rounds)
}
