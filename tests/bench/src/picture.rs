//! The picture: bar charts as hand-written SVG.

use std::fmt::Write;

use crate::report::{Figure, Report, number};

const WIDTH: usize = 950;
const BAR: usize = 18;
const NAMES: usize = 420;
const BARS: usize = 400;
/// Readable on a light and on a dark page.
const INK: &str = "#7d8590";
const OURS: &str = "#2f81f7";
const THEIRS: &str = "#8b949e";

/// Draws the figures of a report that are worth a picture: those of one unit and name, side by
/// side.
pub fn draw(report: &Report) -> String {
    let charts = [
        ("cron, next fires per second", "next", "/s"),
        ("fires per second", "fires", "/s"),
        ("launches per second", "launches", "/s"),
        ("CPU per fire, scheduler and its database", "CPU per fire", "µs"),
        ("CPU per fire, without the database", "CPU per fire without the database", "µs"),
        ("drift, 99th of 100", "p99", "ms"),
        ("time of a tick with 100 due", "100 due, time", "ms"),
    ];
    let mut y = 10;
    let mut body = String::new();
    for (title, name, unit) in charts {
        let figures: Vec<&Figure> = report
            .figures
            .iter()
            .filter(|figure| figure.name == name && figure.unit == unit)
            .collect();
        if figures.is_empty() {
            continue;
        }
        y += 22;
        let _ = writeln!(body, r#"<text x="10" y="{y}" font-weight="bold">{title}, {unit}</text>"#);
        y += 8;
        let most = figures.iter().map(|figure| figure.value).fold(f64::MIN_POSITIVE, f64::max);
        for figure in figures {
            let length = (figure.value / most * BARS as f64).max(1.0);
            let colour = if is_a_peer(&figure.group) { THEIRS } else { OURS };
            let _ = writeln!(
                body,
                r#"<text x="{}" y="{}" text-anchor="end">{}</text><rect x="{NAMES}" y="{y}" width="{length:.0}" height="{}" rx="2" fill="{colour}"/><text x="{:.0}" y="{}">{}</text>"#,
                NAMES - 8,
                y + 13,
                figure.group,
                BAR - 3,
                NAMES as f64 + length + 6.0,
                y + 13,
                number(figure.value),
            );
            y += BAR;
        }
        y += 6;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{INK}\">\n{body}</svg>\n",
        y + 10
    )
}

fn is_a_peer(group: &str) -> bool {
    ["cron ", "croner ", "cronexpr ", "BullMQ ", "APScheduler ", "tokio-cron-scheduler "]
        .iter()
        .any(|peer| group.starts_with(peer))
}
