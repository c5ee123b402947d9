//! Presets: the expressions most people want, to begin with.

use belfry_core::cron::{Cron, Zone};
use schemars::JsonSchema;
use serde::Serialize;

/// Id, name and expression.
const PRESETS: [(&str, &str, &str); 8] = [
    ("every-minute", "Every minute", "* * * * *"),
    ("every-5-minutes", "Every 5 minutes", "*/5 * * * *"),
    ("hourly", "Hourly", "0 * * * *"),
    ("daily-midnight", "Daily at midnight", "0 0 * * *"),
    ("daily-9", "Daily at 9:00", "0 9 * * *"),
    ("mondays-9", "Mondays at 9:00", "0 9 * * MON"),
    ("first-of-month", "First of the month", "0 0 1 * *"),
    ("weekdays-8", "Weekdays at 8:00", "0 8 * * MON-FRI"),
];

/// Expressions to choose from.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Presets {
    /// The expressions, the most frequent first.
    items: Vec<Preset>,
}

/// An expression to choose.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Preset {
    /// Name for programs.
    id: &'static str,
    /// Name for people.
    name: &'static str,
    /// The expression.
    cron_expr: &'static str,
    /// The expression in English.
    description: String,
}

pub(super) fn presets() -> Presets {
    let preset = |(id, name, cron_expr)| {
        let description = Cron::parse(cron_expr, "").map(|cron| cron.describe(&Zone::UTC));
        Preset { id, name, cron_expr, description: description.unwrap_or_default() }
    };
    Presets { items: PRESETS.map(preset).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_an_expression_that_can_be_described() {
        let presets = presets();
        assert_eq!(presets.items.len(), 8);
        for preset in presets.items {
            assert!(!preset.description.is_empty(), "{}", preset.id);
        }
    }
}
