//! Presets: the expressions most people want, to begin with.

use belfry_core::cron::{Cron, Zone};
use serde_json::{Value, json};

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

pub(super) fn presets() -> Value {
    let item = |(id, name, cron_expr): (&str, &str, &str)| {
        let description = Cron::parse(cron_expr, "").ok().map(|cron| cron.describe(&Zone::UTC));
        json!({"id": id, "name": name, "cron_expr": cron_expr, "description": description})
    };
    json!({"items": PRESETS.map(item)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_an_expression_that_can_be_described() {
        let presets = presets();
        let items = presets["items"].as_array().unwrap();
        assert_eq!(items.len(), 8);
        for item in items {
            assert!(item["description"].is_string(), "{item}");
        }
    }
}
