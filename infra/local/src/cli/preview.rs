//! `belfry preview`: when an expression fires.

use std::io::{self, BufRead, BufWriter, Write};
use std::process::ExitCode;

use belfry_core::cron::{Cron, DstFold, DstGap, Timetable, Zone};
use belfry_core::instant::{self, Instant};
use belfry_time::{SystemTime, Time};
use chrono::DateTime;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{fail, printed};

/// A limit on the fires shown for one expression.
const MAX_COUNT: usize = 10_000;
/// A limit on the length of a line, so that a wrong input file does not fill the memory.
const MAX_LINE: usize = 64 * 1024;

/// Shows the next fires of an expression, its meaning in English, and warnings.
#[derive(Args)]
pub(crate) struct Preview {
    /// The expression, such as '0 9 * * MON-FRI'
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin")]
    expr: Option<String>,
    /// IANA time zone
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,
    /// Show fires strictly after this time (RFC 3339); default now
    #[arg(long, value_name = "TIME")]
    after: Option<String>,
    /// Number of fires to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    count: usize,
    /// Time rate() counts from (RFC 3339); default the time given by --after
    #[arg(long, value_name = "TIME")]
    start: Option<String>,
    /// Decides the value of H, as a schedule's id does
    #[arg(long, value_name = "ID", default_value = "")]
    seed: String,
    /// Print {"next": [...]}
    #[arg(long)]
    json: bool,
    /// Read JSON lines {"expr", "tz", "after", "count"} and answer each with one line
    #[arg(long)]
    stdin: bool,
}

/// One question about an expression. Unknown fields are ignored: test cases carry their answers.
#[derive(Deserialize)]
struct Question {
    expr: String,
    #[serde(default)]
    tz: Option<String>,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    count: Option<usize>,
    #[serde(default)]
    start: Option<String>,
    #[serde(default)]
    seed: Option<String>,
    #[serde(default)]
    dst_gap: Option<DstGap>,
    #[serde(default)]
    dst_fold: Option<DstFold>,
}

struct Answer {
    timetable: Timetable,
    fires: Vec<Instant>,
}

impl Preview {
    pub(crate) fn run(self) -> ExitCode {
        let now = SystemTime.now();
        let answered = if self.stdin { answer_lines(now) } else { self.answer_one(now) };
        printed(answered)
    }

    fn answer_one(self, now: Instant) -> io::Result<ExitCode> {
        let question = Question {
            expr: self.expr.unwrap_or_default(),
            tz: Some(self.tz),
            after: self.after,
            count: Some(self.count),
            start: self.start,
            seed: Some(self.seed),
            dst_gap: None,
            dst_fold: None,
        };
        let mut out = io::stdout().lock();
        match (answer(&question, now), self.json) {
            (answer, true) => {
                let code = if answer.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
                writeln!(out, "{}", line(answer))?;
                Ok(code)
            }
            (Err(problem), false) => Ok(fail(&problem)),
            (Ok(answer), false) => {
                answer.print(&mut out, now)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl Answer {
    fn print(&self, out: &mut impl Write, now: Instant) -> io::Result<()> {
        let zone = self.timetable.zone();
        writeln!(out, "{}", self.timetable.cron().describe(&zone))?;
        if self.fires.is_empty() {
            writeln!(out, "  no more fires")?;
        }
        for fire in &self.fires {
            let local = zone.to_local(*fire).format("%a %Y-%m-%d %H:%M:%S");
            writeln!(out, "  {local}  {}", instant::text(*fire))?;
        }
        for warning in self.timetable.warnings(now) {
            writeln!(out, "warning: {}", warning.message)?;
        }
        Ok(())
    }
}

fn answer_lines(now: Instant) -> io::Result<ExitCode> {
    let mut out = BufWriter::new(io::stdout().lock());
    for text in io::stdin().lock().split(b'\n') {
        let text = text?;
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = if text.len() > MAX_LINE {
            Err(format!("a line has more than {MAX_LINE} bytes"))
        } else {
            serde_json::from_slice::<Question>(&text)
                .map_err(|problem| format!("the line is not a question in JSON: {problem}"))
                .and_then(|question| answer(&question, now))
        };
        writeln!(out, "{}", line(answer))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn line(answer: Result<Answer, String>) -> Value {
    match answer {
        Ok(answer) => {
            let next = answer.fires.into_iter().map(instant::text);
            json!({"next": next.collect::<Vec<_>>()})
        }
        Err(problem) => json!({"error": problem}),
    }
}

fn answer(question: &Question, now: Instant) -> Result<Answer, String> {
    let seed = question.seed.as_deref().unwrap_or_default();
    let cron = Cron::parse(&question.expr, seed).map_err(|problem| problem.to_string())?;
    let zone = question.tz.as_deref().unwrap_or("UTC");
    let zone = Zone::parse(zone).map_err(|problem| problem.to_string())?;
    let time = |name: &str, text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => DateTime::parse_from_rfc3339(text)
            .map(|at| Some(at.to_utc()))
            .map_err(|_| format!("{name} must be an RFC 3339 time, such as 2026-11-16T09:00:00Z")),
    };
    let after = time("after", &question.after)?.unwrap_or(now);
    let start = time("start", &question.start)?;
    let count = question.count.unwrap_or(5);
    if count > MAX_COUNT {
        return Err(format!("count is more than {MAX_COUNT}"));
    }
    let timetable = Timetable::new(cron, zone)
        .with_dst(question.dst_gap, question.dst_fold)
        .with_anchor(start.unwrap_or_else(|| instant::whole_second(after)));
    let fires = timetable.fires_after(after).take(count).collect();
    Ok(Answer { timetable, fires })
}
