//! `belfry token`: a token for the API of this machine.

use std::path::PathBuf;
use std::process::ExitCode;

use belfry_core::guard::access::Scope;
use belfry_local::data::{has_token_key, issuer_of_folder};
use belfry_local::tokens::{LOCAL_USER, TTL, all_scopes};
use belfry_time::{SystemTime, Time};
use chrono::Duration;
use clap::Args;

use super::{fail, print_line, printed};

/// Prints a token that the gateway of `belfry dev` accepts, signed with the key in its data folder.
#[derive(Args)]
pub(crate) struct Token {
    /// Data folder of the system the token is for
    #[arg(long, value_name = "DIR", default_value = ".belfry")]
    data: PathBuf,
    /// User the token names, who owns what is created with it
    #[arg(long, value_name = "USER", default_value = LOCAL_USER)]
    sub: String,
    /// Scope of the token, may be repeated: schedules:read, schedules:write, runs:write, admin; all
    /// if not given
    #[arg(long, value_name = "SCOPE", value_parser = scope, value_delimiter = ' ')]
    scope: Vec<&'static str>,
    /// How long the token is valid, such as 90s, 15m, 12h or 30d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ttl: Option<Duration>,
    /// Make the key if the folder has none, for a system that starts later
    #[arg(long)]
    new_key: bool,
}

impl Token {
    pub(crate) fn run(self) -> ExitCode {
        let scope = if self.scope.is_empty() { all_scopes() } else { self.scope.join(" ") };
        // A key made here by mistake signs tokens that no running system takes.
        if !self.new_key && !has_token_key(&self.data) {
            return fail(&format!(
                "{} has no token key: name the data folder of a system with --data, or make a key \
                 with --new-key",
                self.data.display()
            ));
        }
        let token = issuer_of_folder(&self.data).and_then(|issuer| {
            issuer.issue(&self.sub, &scope, self.ttl.unwrap_or(TTL), SystemTime.now())
        });
        match token {
            Ok(token) => printed(print_line(&token).map(|()| ExitCode::SUCCESS)),
            Err(problem) => fail(&problem.to_string()),
        }
    }
}

fn scope(text: &str) -> Result<&'static str, String> {
    let known = Scope::ALL.map(Scope::as_str);
    let found = known.into_iter().find(|scope| *scope == text);
    found.ok_or_else(|| format!("must be one of {}", known.join(", ")))
}

/// Parses a number with a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let problem = || "must be a number and a unit, such as 90s, 15m, 12h or 30d".to_owned();
    let unit = text.chars().next_back().ok_or_else(problem)?;
    let number: u32 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| problem())?;
    let number = i64::from(number);
    match unit {
        's' => Ok(Duration::seconds(number)),
        'm' => Ok(Duration::minutes(number)),
        'h' => Ok(Duration::hours(number)),
        'd' if number <= 36_500 => Ok(Duration::days(number)),
        _ => Err(problem()),
    }
}
